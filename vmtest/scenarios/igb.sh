# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Intel's igb: native XDP, and zero-copy on newer kernels (6.14). limit: 900, queues: 1, nic: igb
ZERO_COPY=newest
. vmtest/nic.sh

guest() {
	steps transfer beside stripping tags mtu anew
}

peer() {
	steps_peer transfer beside stripping tags mtu anew
}
