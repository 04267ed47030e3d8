# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Intel's e1000e, which has no XDP: generic mode. limit: 900, queues: 1, nic: e1000e
. vmtest/nic.sh

guest() {
	steps transfer beside stripping tags mtu anew
}

peer() {
	steps_peer transfer beside stripping tags mtu anew
}
