# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Reconfiguration under traffic: e1000e, in generic mode. limit: 900, queues: 1, nic: e1000e
. vmtest/nic.sh
. vmtest/changes.sh

guest() {
	steps changes replaced
}

peer() {
	steps_peer changes replaced
}
