# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# VMware's vmxnet3: native XDP since 6.6, generic before. limit: 900, queues: 1, nic: vmxnet3
. vmtest/nic.sh

guest() {
	steps transfer beside stripping joins tags anew
}

peer() {
	steps_peer transfer beside stripping joins tags anew
}
