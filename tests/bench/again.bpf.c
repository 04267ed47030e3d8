/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lets BPF_PROG_TEST_RUN repeat a program that puts metadata in front of a packet. A test run gives the packet back as
 * the program left it, so each repetition first takes off what stands in front, and then calls the program.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <xiwarp/abi.h>

#define AGAIN_META ((int)sizeof(struct xiw_meta))

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} again_program SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, XIW_MAX_QUEUES);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} again_xsks SEC(".maps");

SEC("xdp.frags")
int again(struct xdp_md *ctx)
{
	if (!bpf_xdp_adjust_head(ctx, AGAIN_META))
		bpf_tail_call(ctx, &again_program, 0);
	return XDP_ABORTED;
}

/* What the repetition costs: puts back what again() took off. */
SEC("xdp.frags")
int again_nothing(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_head(ctx, -AGAIN_META) ? XDP_ABORTED : XDP_REDIRECT;
}

/* The least that sends a packet to AF_XDP with room for metadata. */
SEC("xdp.frags")
int again_least(struct xdp_md *ctx)
{
	if (bpf_xdp_adjust_head(ctx, -AGAIN_META))
		return XDP_ABORTED;
	return bpf_redirect_map(&again_xsks, ctx->rx_queue_index, XDP_DROP);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
