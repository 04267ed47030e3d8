# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Reconfiguration under traffic: igb with two queues. limit: 900, queues: 2, nic: igb
. vmtest/nic.sh
. vmtest/changes.sh

guest() {
	steps changes replaced
}

peer() {
	steps_peer changes replaced
}
