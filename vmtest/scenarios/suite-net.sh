# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Tests between namespaces that the kernel has a part in: loading and its errors, AF_XDP's rings and queues, the sink on
# both paths, teardown. Those whose peers are scripted to the millisecond want a machine of its own speed.
# limit: 2400 memory: 3072
guest() {
	ONLY='net/test_load net/test_rings net/test_sink net/test_teardown' tests/run
}
