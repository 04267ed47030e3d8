/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The receive windows that were advertised to the peer, as right edges in wire numbers: kernel_edge by the kernel
 * socket, direct_edge by the engine. Both count whichever path owns the stream, since the peer uses both.
 */
#ifndef XIW_BPF_WINDOW_H
#define XIW_BPF_WINDOW_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <xiwarp/abi.h>
#include "base.h"

/*
 * May the kernel socket keep octets that begin at `seq`? Only if they are within a window that was advertised. At
 * least one of the two edges is recent. An edge that is stale by 2^31 or more makes the answer "yes", which is the
 * safe error.
 */
static __always_inline bool xiw_within_window(const struct xiw_flow *flow, __u32 seq)
{
	return xiw_seq_leq(seq, XIW_READ_ONCE(flow->kernel_edge)) ||
	       xiw_seq_leq(seq, XIW_READ_ONCE(flow->direct_edge));
}

/*
 * Would the kernel socket, which owns the stream, accept [seq, end) (RFC 9293 section 3.10.7.4)? A segment that it
 * would not accept proves nothing about the peer, because anybody can send one.
 */
static __always_inline bool xiw_acceptable(const struct xiw_flow *flow, __u32 seq, __u32 end)
{
	return xiw_within_window(flow, seq) && xiw_seq_leq(XIW_READ_ONCE(flow->acked), end);
}

/*
 * In a long stretch, raise kernel_high and kernel_edge before they lag too far. rcv_nxt is a safe value for both: in
 * DIRECT nothing beyond it is passed to the kernel, and all below it was within an advertised window. kernel_edge is
 * on another cache line, so it is looked at only if kernel_high lagged.
 */
static __always_inline void xiw_refresh_kernel(struct xiw_flow *flow, __u32 rcv_nxt)
{
	__u32 edge;

	if (!xiw_refresh(&flow->kernel_high, rcv_nxt))
		return;
	edge = XIW_READ_ONCE(flow->kernel_edge);
	if (!xiw_seq_leq(rcv_nxt, edge))
		__sync_val_compare_and_swap(&flow->kernel_edge, edge, rcv_nxt);
}

#endif /* XIW_BPF_WINDOW_H */
