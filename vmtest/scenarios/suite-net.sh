# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Tests between namespaces that the kernel has a part in and the clock has not: loading and its errors, AF_XDP's rings,
# teardown. Those that want most octets on the direct path, or peers scripted to the millisecond, want a machine of its
# own speed; the other scenarios move the data. limit: 2400 memory: 3072
guest() {
	ONLY='net/admin/test_load net/conn/test_rings net/conn/test_teardown' tests/run
}
