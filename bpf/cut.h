/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue that delivers other packets than came: hardware that was given too small a buffer, or counts its buffers in
 * another unit than the driver, cuts a packet in two, and the rest looks like a packet of its own. Whoever chooses the
 * bytes of a packet could then put any frame on the interface, behind every filter on its way.
 *
 * It can happen where an AF_XDP socket in zero-copy mode gives the hardware its buffers. The first cut packet shows it:
 * its IP header says that it goes on, and it is as long as a buffer can be. It and its rest are dropped, and the engine
 * leaves the queue (user/path/rebind.c).
 *
 * A peer on the link can send a packet whose IP header says too much. That takes a length which a buffer can have, and
 * no longer packet may have come since the socket was bound; and all that comes of it is copy mode, once.
 */
#ifndef XIW_BPF_CUT_H
#define XIW_BPF_CUT_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <xiwarp/abi.h>
#include "base.h"
#include "maps.h"
#include "parse.h"

#define XIW_CUT_UNIT 1024 /* hardware may count its buffers in this */
#define XIW_CUT_MOST 16384 /* no interface that an engine serves has longer packets */

/* Where the IP packet in a frame ends, by its own header; 0 if there is none. */
static __noinline __u32 xiw_ip_end(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end, *at;
	struct ethhdr *eth = data;
	struct iphdr *ip4;
	struct ipv6hdr *ip6;
	__be16 proto;
	int i;

	at = eth + 1;
	if (at > data_end)
		return 0;
	proto = eth->h_proto;
#pragma unroll
	for (i = 0; i < XIW_MAX_VLANS; i++) {
		struct xiw_vlan_hdr *vlan = at;

		if (proto != bpf_htons(ETH_P_8021Q) && proto != bpf_htons(ETH_P_8021AD))
			break;
		at = vlan + 1;
		if (at > data_end)
			return 0;
		proto = vlan->proto;
	}
	ip4 = at;
	ip6 = at;
	if (proto == bpf_htons(ETH_P_IP) && (void *)(ip4 + 1) <= data_end)
		return at - data + bpf_ntohs(ip4->tot_len);
	if (proto == bpf_htons(ETH_P_IPV6) && (void *)(ip6 + 1) <= data_end)
		return at - data + sizeof(*ip6) + bpf_ntohs(ip6->payload_len);
	return 0;
}

/* Can hardware that has `room` bytes have counted them as `len`? What it counts in is less than half of them. */
static __always_inline bool xiw_buffer_ends(__u32 len, __u32 room)
{
	return (len == room || len % XIW_CUT_UNIT == 0) && len > room / 2 && len <= room;
}

/*
 * Is the packet a piece of one that hardware has cut? Asked for every packet that does not take the straight line. The
 * stretches that the queue remembers are forgotten, so that its rest cannot take that either.
 */
static __always_inline bool xiw_cut(struct xdp_md *ctx, struct xiw_queue *queue)
{
	__u32 len = ctx->data_end - ctx->data, longest, end, i;

	if (!queue || !(XIW_READ_ONCE(queue->room) | queue->rest))
		return false;
	/* It may be under way still when the engine has bound the queue again. */
	if (queue->rest) {
		queue->rest = len < queue->rest ? queue->rest - len : 0;
		return true;
	}
	longest = queue->longest;
	if (len < longest)
		return false;
	if (len > longest)
		queue->longest = bpf_xdp_get_buff_len(ctx);
	if (!xiw_buffer_ends(len, queue->room) || bpf_xdp_get_buff_len(ctx) != len)
		return false;
	end = xiw_ip_end(ctx);
	if (end <= len || end > XIW_CUT_MOST)
		return false;
	queue->rest = end - len;
#pragma unroll
	for (i = 0; i < XIW_QUEUE_FLOWS; i++)
		XIW_WRITE_ONCE(queue->direct[i], 0);
	XIW_WRITE_ONCE(queue->cut, len);
	queue->cuts++;
	return true;
}

/*
 * What becomes of such a packet. It goes to the engine, which may sleep, and which finds no metadata in it and looks at
 * the queue; without a socket there it is dropped.
 */
static __always_inline int xiw_tell_cut(struct xdp_md *ctx)
{
	struct xiw_meta *meta;

	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(*meta)))
		return XDP_DROP;
	meta = (void *)(long)ctx->data;
	if ((void *)(meta + 1) > (void *)(long)ctx->data_end)
		return XDP_DROP;
	__builtin_memset(meta, 0, sizeof(*meta));
	return bpf_redirect_map(&xiw_xsks, ctx->rx_queue_index, XDP_DROP);
}

#endif /* XIW_BPF_CUT_H */
