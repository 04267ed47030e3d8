# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# VMware's vmxnet3: native XDP since 6.6, generic before. limit: 600, queues: 1, nic: vmxnet3
. vmtest/nic.sh

guest() {
	steps transfer beside stripping tags anew
}

peer() {
	steps_peer transfer beside stripping tags anew
}
