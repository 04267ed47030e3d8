# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Everything that runs without traffic: the BPF programs under this kernel's verifier and by BPF_PROG_TEST_RUN, and the
# unit tests. limit: 900
guest() {
	ONLY='tests/unit/ tests/bpf/' tests/run
}
