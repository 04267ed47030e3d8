# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The BPF programs under this kernel's verifier and by BPF_PROG_TEST_RUN, and the units: what runs here without
# traffic. limit: 900
guest() {
	ONLY='tests/unit/ tests/bpf/' tests/run
}
