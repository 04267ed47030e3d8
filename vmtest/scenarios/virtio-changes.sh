# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Reconfiguration under traffic: virtio-net with two queue pairs. limit: 900, queues: 2
. vmtest/nic.sh
. vmtest/changes.sh

guest() {
	steps changes replaced
}

peer() {
	steps_peer changes replaced
}
