/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The direct path: which data segments go to AF_XDP.
 *
 *   xiw_armed_data()   ARMED: does DIRECT begin with this segment?
 *   xiw_direct_data()  DIRECT: can the engine take this segment, or does DIRECT end here?
 *
 * Each returns the segment's enum xiw_stat; XIW_STAT_DIRECT sends it to AF_XDP, with a struct xiw_meta in front.
 */
#ifndef XIW_BPF_DIRECT_H
#define XIW_BPF_DIRECT_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <xiwarp/abi.h>
#include "base.h"
#include "classify.h"
#include "handoff.h"
#include "maps.h"
#include "pass.h"
#include "segment.h"
#include "watchdog.h"
#include "window.h"

#define XIW_TCP_PLAIN_HDR 32 /* a TCP header without options or with a timestamp */

/* Notes that a segment came on a queue of another engine, or of none. */
static __always_inline __u32 xiw_other_queue(struct xiw_flow *flow, __u32 q, __u32 reason)
{
	flow->other_segs++;
	flow->other_queue = q;
	return reason;
}

/*
 * May a frame of the flow go to the ring of its queue? Returns XIW_REASON_NONE, or the reason why not. Sets the time,
 * for what is asked next. The queue's engine is read after the socket was looked up: an engine that claims a queue puts
 * its socket there first.
 */
static __always_inline __u32 xiw_ring_check(struct xiw_seg *s)
{
	__u32 q = s->ctx->rx_queue_index;
	struct xiw_queue *queue = s->queue;
	struct xiw_flow *flow = s->flow;

	/* This also sets the target of the redirect, which takes effect only if XDP_REDIRECT is returned. */
	if (bpf_redirect_map(&xiw_xsks, q, XDP_DROP) != XDP_REDIRECT || !queue)
		return xiw_other_queue(flow, q, XIW_REASON_NO_XSK);
	if (XIW_READ_ONCE(queue->engine) != flow->served_by)
		return xiw_other_queue(flow, q, XIW_REASON_STEERED);
	if (s->frame > XIW_READ_ONCE(queue->takes))
		return XIW_REASON_LONG;
	s->now = xiw_now(queue);
	return xiw_watchdog_feed(queue, s->now, xiw_watchdog_ns) ? XIW_REASON_NONE
								 : XIW_REASON_WATCHDOG;
}

/*
 * Put the metadata in front of the packet. It becomes part of the frame, because not every driver has room for what
 * XDP calls metadata, and nobody but the engine gets the frame. Packet pointers are invalid afterwards.
 */
static __always_inline bool xiw_put_meta(const struct xiw_seg *s, __u32 epoch)
{
	struct xiw_meta *meta;

	if (bpf_xdp_adjust_head(s->ctx, -(int)sizeof(*meta)))
		return false;
	meta = (void *)(long)s->ctx->data;
	if ((void *)(meta + 1) > (void *)(long)s->ctx->data_end)
		return false;
	meta->epoch = epoch & XIW_EPOCH_MASK;
	meta->flow = s->index;
	meta->version = XIW_ABI_VERSION;
	meta->l3_off = s->l3_off;
	meta->l4_off = s->l4_off;
	meta->payload_off = s->l4_off + s->hdr_len;
	meta->payload_len = s->len;
	return true;
}

static __always_inline __u32 xiw_redirected(const struct xiw_seg *s)
{
	s->flow->direct_segs++;
	s->flow->direct_octets += s->len;
	return XIW_STAT_DIRECT;
}

/*
 * Can a connection go direct on this interface? Only if xiw_egress has seen its packets since it was registered, as
 * it must translate our acknowledgements and notes where the engine's go, and if none of the peer's segments came by
 * another interface, as the socket would miss them. Otherwise the connection stays with the kernel.
 */
static __always_inline bool xiw_passes_here(const struct xiw_flow *flow)
{
	const __u8 *dst = flow->out_mac;

	return XIW_READ_ONCE(flow->egress_segs) >= flow->egress_floor &&
	       !XIW_READ_ONCE(flow->elsewhere_segs) && !XIW_READ_ONCE(flow->bypass_segs) &&
	       (*(const __u32 *)(const void *)dst | *(const __u16 *)(const void *)(dst + 4));
}

/*
 * Does the socket miss octets in front of S? It answers what comes behind them by duplicate ACKs, from which the peer
 * learns of a loss, while segments of a stretch would wait unanswered until the octets have come again. A number that
 * the socket has not offered is an old one.
 */
static __always_inline bool xiw_gap(const struct xiw_flow *flow)
{
	__u32 acked = XIW_READ_ONCE(flow->acked);

	return XIW_READ_ONCE(flow->gap) - acked - 1 < XIW_READ_ONCE(flow->kernel_edge) - acked;
}

/*
 * How many aligned segments came in a row, with this one? Each of them began where all that the kernel was given
 * ended.
 *
 * A segment with more options than a timestamp does not count: the engine could neither check the authentication of
 * RFC 2385 or RFC 5925 nor sign its answers. Neither does one without a timestamp where timestamps were negotiated,
 * which the engine would drop (RFC 7323 section 3.2).
 */
static __always_inline __u32 xiw_run(const struct xiw_seg *s, const struct xiw_flow *flow)
{
	__u32 tsval;

	if (s->hdr_len > XIW_TCP_PLAIN_HDR ||
	    (flow->flags & XIW_FLOW_TIMESTAMPS && !xiw_read_tsval(s, &tsval)) ||
	    !xiw_aligned(s->ctx, flow, s->seq, s->l4_off + s->hdr_len, s->len))
		return 0;
	return flow->run_end == s->seq ? flow->run_len + 1 : 1;
}

/*
 * A cause that lasts: the driver leaves no room, or packets are joined below the interface. The library reads this and
 * arms no more. False: ownership moved.
 */
static __always_inline bool xiw_bar(struct xiw_seg *s, __u32 why)
{
	XIW_WRITE_ONCE(s->flow->barred, why);
	s->owner = xiw_disarm(s->flow, s->owner, why);
	return s->owner;
}

/* AF_XDP drops what is longer than its frames, and nobody would see that. */
static __always_inline bool xiw_too_long(const struct xiw_seg *s)
{
	const struct xiw_queue *queue = s->queue;

	return queue && XIW_READ_ONCE(queue->engine) == s->flow->served_by &&
	       s->frame > XIW_READ_ONCE(queue->takes);
}

/*
 * Data in ARMED: this decides whether a segment goes direct. It does if it begins at S, the end of all that the
 * kernel was given, if enough aligned segments came in a row, if the socket misses nothing in front of them, and if
 * nothing is wrong with interface, queue or engine.
 *
 * "Aligned" is what a segment looks like. Whether it really begins with an FPDU depends on the stream before it, which
 * is in the kernel's socket. The engine finds out when it has read that, and gives the stream back if not.
 */
static __always_inline __u32 xiw_armed_data(struct xiw_seg *s, __u32 end)
{
	struct xiw_flow *flow = s->flow;
	__u32 run, why;

	if (s->seq != XIW_READ_ONCE(flow->kernel_high) || s->fin || s->urg)
		return xiw_kernel_data(s, end);
	if (xiw_too_long(s))
		return xiw_bar(s, XIW_REASON_LONG) ? xiw_kernel_data(s, end) : XIW_STAT_DROP_EPOCH;
	run = xiw_run(s, flow);
	if (run && run >= flow->run_needed && xiw_passes_here(flow) && !xiw_gap(flow)) {
		why = xiw_ring_check(s);
		if (!why && xiw_put_meta(s, xiw_owner_epoch(s->owner) + 1)) {
			xiw_try_begin(flow, s->seq, s->now);
			flow->began_ts = (__u32)XIW_READ_ONCE(flow->echoed);
			flow->gap = s->seq; /* an old one must not come into the window as numbers wrap */
			if (!xiw_go_direct(flow, s->owner, s->kernel_nxt, s->seq))
				return XIW_STAT_DROP_EPOCH;
			flow->went_direct++;
			/* After a fall-back at S, the segment from S on is not the next of this run. */
			flow->run_len = 0;
			return xiw_redirected(s);
		}
		if (!why && !xiw_bar(s, XIW_REASON_HEADROOM))
			return XIW_STAT_DROP_EPOCH;
		run = 0; /* counted anew, so that few segments ask for their queue in vain */
	}
	flow->run_end = end;
	flow->run_len = run;
	return xiw_kernel_data(s, end);
}

/*
 * Does this segment show that the stream does not go on? Only octets that the peer must send again can show it: those
 * at rcv_nxt, or earlier ones, if the acknowledgement was lost or the kernel dropped them after they were passed.
 */
static __always_inline bool xiw_dead_end(const struct xiw_seg *s)
{
	__u32 rcv_nxt = xiw_owner_value(s->owner);

	return xiw_seq_leq(s->seq, rcv_nxt) && xiw_stuck(s->flow, rcv_nxt, s->now, xiw_stuck_ns);
}

/*
 * Data or FIN in DIRECT: to AF_XDP, aligned or not, as the engine owns the stream and falls back itself. XDP ends
 * DIRECT only if frames cannot reach the engine or the engine does not act on them.
 */
static __always_inline __u32 xiw_direct_data(struct xiw_seg *s, __u32 end)
{
	__u32 why, stat;

	xiw_refresh_kernel(s->flow, xiw_owner_value(s->owner));
	why = xiw_ring_check(s);
	if (!why && xiw_dead_end(s))
		why = XIW_REASON_UNSEEN;
	if (!why) {
		if (xiw_put_meta(s, xiw_owner_epoch(s->owner)))
			return xiw_redirected(s);
		why = XIW_REASON_HEADROOM;
	}
	/* Anybody can send a long packet. */
	if (why == XIW_REASON_LONG && !xiw_of_peer(s))
		return XIW_STAT_DROP_FRAGMENT;
	if (why == XIW_REASON_HEADROOM || why == XIW_REASON_LONG)
		XIW_WRITE_ONCE(s->flow->barred, why);
	/* The skew of DIRECT, rcv_nxt - K, is the one that KERNEL starts with. */
	s->skew = xiw_owner_skew(s->owner, s->kernel_nxt);
	s->owner = xiw_to_kernel(s->flow, s->owner, s->skew, why);
	if (!s->owner)
		return XIW_STAT_DROP_EPOCH;
	stat = xiw_kernel_data(s, end);
	if (stat == XIW_STAT_PASS_DATA && (why == XIW_REASON_WATCHDOG || why == XIW_REASON_UNSEEN))
		return XIW_STAT_WATCHDOG;
	return stat;
}

#endif /* XIW_BPF_DIRECT_H */
