/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Another XDP program, which replaces ours and passes everything. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp.frags")
int trouble_pass(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
