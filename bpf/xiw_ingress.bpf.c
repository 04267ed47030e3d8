// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xiw_ingress - sends each incoming TCP segment of a known flow to AF_XDP, or to the kernel's TCP with its sequence
 * number translated. All other packets pass untouched.
 *
 *                       KERNEL             ARMED             DIRECT
 *   IP fragment         xiw_for_ip()       xiw_for_ip()      xiw_for_ip()
 *   SYN, RST, no data   xiw_control()      xiw_control()     xiw_control()
 *   data, FIN           xiw_kernel_data()  xiw_armed_data()  xiw_direct_data()
 *   ... with IP options xiw_for_ip()       xiw_for_ip()      xiw_for_ip()
 *
 * A segment that continues a stretch takes the straight line to xiw_direct_data() (straight.h).
 * direct.h decides what goes to AF_XDP, pass.h translates. Each packet ends as one enum xiw_stat, which is counted
 * once, at the exit, and determines the XDP action.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "maps.h"
#include "parse.h"
#include "segment.h"
#include "handoff.h"
#include "pass.h"
#include "cut.h"
#include "hidden.h"
#include "direct.h"
#include "straight.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline __u32 xiw_segment(struct xiw_seg *s, const struct xiw_pkt *pkt)
{
	bool foreign;
	__u32 end;

	/* A VLAN is another link. The socket gets its frames by another interface, and xiw_socket judges them. */
	if (xiw_owner_path(XIW_READ_ONCE(s->flow->owner)) == XIW_PATH_NONE || pkt->vlan)
		return XIW_STAT_OTHER;
	if (!xiw_read_owner(s->flow, &s->owner, &s->kernel_nxt))
		return XIW_STAT_DROP_EPOCH;
	s->skew = xiw_owner_skew(s->owner, s->kernel_nxt);
	foreign = xiw_foreign(s->ctx, s->flow);
	if (foreign && (s->skew || xiw_owner_path(s->owner) == XIW_PATH_DIRECT))
		return XIW_STAT_DROP_FOREIGN;
	if (!xiw_read_segment(s, pkt))
		return XIW_STAT_DROP_MALFORMED;
	if (pkt->fragment)
		return xiw_for_ip(s, s->seq + 0xffff);
	if (s->syn || s->rst || !(s->len || s->fin))
		return xiw_control(s);
	end = s->seq + s->len + s->fin;
	if (pkt->extended)
		return xiw_for_ip(s, end);
	switch (xiw_owner_path(s->owner)) {
	case XIW_PATH_DIRECT:
		xiw_remember(s);
		return xiw_direct_data(s, end);
	case XIW_PATH_ARMED:
		return foreign ? xiw_kernel_data(s, end) : xiw_armed_data(s, end);
	default:
		return xiw_kernel_data(s, end);
	}
}

/* Notes on which queue a SYN or SYN-ACK has come, if the queue is a group's: see XIW_ARRIVALS. */
static __always_inline void xiw_note_arrival(struct xdp_md *ctx, const struct xiw_queue *q,
					     const struct xiw_pkt *pkt)
{
	__u32 l4_off = pkt->l4_off, queue = ctx->rx_queue_index;
	__u8 flags;

	xiw_opaque(l4_off);
	if (l4_off > XIW_MAX_L4_OFF ||
	    (void *)(long)ctx->data + l4_off + XIW_TCP_FLAGS_OFF + 1 > (void *)(long)ctx->data_end)
		return;
	flags = *(const __u8 *)((void *)(long)ctx->data + l4_off + XIW_TCP_FLAGS_OFF);
	if (!(flags & XIW_TCP_SYN))
		return;
	if (q && XIW_READ_ONCE(q->grouped))
		bpf_map_update_elem(&xiw_arrivals, &pkt->key, &queue, BPF_ANY);
}

/* A packet of any kind. */
static __always_inline __u32 xiw_packet(struct xiw_seg *seg)
{
	struct xdp_md *ctx = seg->ctx;
	struct xiw_pkt pkt = {};
	__be16 ports[2];
	__u32 index;

	seg->flow = NULL; /* xiw_straight() may have looked at another one */
	if (xiw_cut(ctx, seg->queue))
		return XIW_STAT_DROP_CUT;
	if (xiw_parse((void *)(long)ctx->data, (void *)(long)ctx->data_end, &pkt, false) &&
	    xiw_read_ports(ctx, pkt.l4_off, ports)) {
		xiw_set_ports(&pkt.key, ports, false);
		xiw_note_arrival(ctx, seg->queue, &pkt);
		seg->flow = xiw_flow_find(&pkt.key, &index);
	}
	if (!seg->flow)
		return pkt.hides ? xiw_hidden(ctx) : XIW_STAT_OTHER;
	seg->index = index;
	return xiw_segment(seg, &pkt);
}

SEC("xdp.frags")
int xiw_ingress(struct xdp_md *ctx)
{
	struct xiw_seg seg = { .ctx = ctx };
	__u32 stat;

	xiw_reach_headers(ctx);
	seg.queue = xiw_queue_of(ctx);
	stat = xiw_straight(&seg) ? xiw_direct_data(&seg, seg.seq + seg.len) : xiw_packet(&seg);
	xiw_count(stat);
	switch (stat) {
	case XIW_STAT_DIRECT:
		return XDP_REDIRECT;
	case XIW_STAT_DROP_CUT:
		return xiw_tell_cut(ctx);
	case XIW_STAT_DROP_EPOCH:
	case XIW_STAT_DROP_FRAGMENT:
	case XIW_STAT_DROP_MALFORMED:
	case XIW_STAT_DROP_FOREIGN:
	case XIW_STAT_DROP_PAWS:
	case XIW_STAT_DROP_HIDDEN:
		if (seg.flow)
			seg.flow->dropped++;
		return XDP_DROP;
	default:
		return XDP_PASS;
	}
}
