# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The tests between namespaces: loading and its errors, the sink, hand-offs back and forth, order, teardown.
# limit: 2400 memory: 3072
guest() {
	ONLY='net/test_load net/test_sink net/test_order net/test_teardown net/test_alt net/test_startup' tests/run
}
