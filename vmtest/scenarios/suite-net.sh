# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Tests between namespaces that depend on the kernel but not on the clock: loading and its errors, AF_XDP's rings,
# teardown. Tests that expect most octets on the direct path, or script a peer to the millisecond, need a machine that
# is not emulated. The other scenarios move data. limit: 2400 memory: 3072
guest() {
	ONLY='net/admin/test_load net/conn/test_rings net/conn/test_teardown' tests/run
}
