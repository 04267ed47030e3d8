/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Segments that go to the kernel's TCP: which sequence number each of them gets, and what is noted of it.
 *
 * Wire numbers minus skew are kernel numbers. Each function returns the segment's enum xiw_stat.
 */
#ifndef XIW_BPF_PASS_H
#define XIW_BPF_PASS_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <xiwarp/abi.h>
#include "base.h"
#include "handoff.h"
#include "segment.h"
#include "window.h"

/* RFC 1624, equation 3, for a 32-bit field. */
static __always_inline void xiw_csum_replace4(__u16 *check, __be32 from, __be32 to)
{
	__u32 sum = (__u16) ~*check;

	sum += (~from & 0xffff) + (~from >> 16);
	sum += (to & 0xffff) + (to >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	*check = ~sum;
}

/* Give the segment to the kernel with the sequence number `seq`. */
static __always_inline void xiw_pass(const struct xiw_seg *s, __u32 seq)
{
	struct tcphdr *th;

	if (seq == s->seq)
		return;
	th = xiw_tcp_header(s->ctx, s->l4_off);
	if (th) {
		xiw_csum_replace4(&th->check, th->seq, bpf_htonl(seq));
		th->seq = bpf_htonl(seq);
	}
}

/* Does the IP header say CE, both bits of the ECN field (RFC 3168 section 5)? */
static __always_inline bool xiw_congestion_experienced(const struct xiw_seg *s)
{
	__u32 l3_off = s->l3_off;
	__u8 *ip;

	xiw_opaque(l3_off);
	if (l3_off > XIW_MAX_L4_OFF)
		return false;
	ip = (void *)(long)s->ctx->data + l3_off;
	if ((void *)(ip + 2) > (void *)(long)s->ctx->data_end)
		return false;
	return ((ip[0] >> 4 == 6 ? ip[1] >> 4 : ip[1]) & 3) == 3;
}

/*
 * May the peer acknowledge what the segment does (RFC 5961 section 5.2)? Its window is in flight at most, and no ACK is
 * older than another window. Where packets of ours leave around xiw_egress, the answer may be a false "no".
 */
static __always_inline bool xiw_may_acknowledge(const struct xiw_seg *s)
{
	__u32 window = 0xffffu << (s->flow->snd_wscale & 15);
	__be32 th[4];

	/* A helper, as in xiw_read_tsval(). */
	return !bpf_xdp_load_bytes(s->ctx, s->l4_off, th, sizeof(th)) && th[3] & TCP_FLAG_ACK &&
	       XIW_READ_ONCE(s->flow->snd_nxt) - bpf_ntohl(th[2]) <= 2 * window;
}

/* RFC 3168 section 6.1.3. If a packet has both CE and CWR, CE wins: it is newer than what CWR answers. */
static __always_inline void xiw_note_ecn(const struct xiw_seg *s)
{
	bool ce = xiw_congestion_experienced(s);

	if ((ce || s->cwr) && xiw_may_acknowledge(s))
		XIW_WRITE_ONCE(s->flow->ece, xiw_ece_pack(xiw_owner_epoch(s->owner),
							  ce ? XIW_ECE_ON : XIW_ECE_OFF));
}

/*
 * PAWS behind a stretch (RFC 7323 section 5.3). The socket has not seen the stretch's timestamps, so its TS.Recent is
 * too old. That of the stretch stays in the flow until xiw_egress sees that the socket's is as new. It says nothing of
 * another connection with these addresses. Returns false for an old duplicate: drop the packet.
 */
static __always_inline bool xiw_new_enough(const struct xiw_seg *s)
{
	const struct xiw_flow *flow = s->flow;
	__u32 tsval, recent = XIW_READ_ONCE(flow->ts_recent);

	return !recent ||
	       (flow->flags & (XIW_FLOW_TIMESTAMPS | XIW_FLOW_ANOTHER)) != XIW_FLOW_TIMESTAMPS ||
	       !xiw_read_tsval(s, &tsval) || xiw_seq_leq(recent, tsval);
}

/*
 * Pass data that the kernel owns, under s->owner. `end` is the sequence number behind the last octet or FIN.
 */
static __always_inline __u32 xiw_kernel_data(const struct xiw_seg *s, __u32 end)
{
	struct xiw_flow *flow = s->flow;
	bool acceptable = xiw_acceptable(flow, s->seq, end);

	if (acceptable && !xiw_new_enough(s))
		return XIW_STAT_DROP_PAWS;
	if (xiw_within_window(flow, s->seq)) {
		bool behind = !xiw_seq_leq(s->seq, XIW_READ_ONCE(flow->kernel_high));

		if (!xiw_raise_high(flow, s->owner, end))
			return XIW_STAT_DROP_EPOCH;
		if (behind)
			XIW_WRITE_ONCE(flow->gap, s->seq);
	}
	if (acceptable && flow->flags & XIW_FLOW_ECN)
		xiw_note_ecn(s);
	xiw_pass(s, s->seq - s->skew);
	flow->kernel_segs++;
	flow->kernel_octets += s->len;
	return XIW_STAT_PASS_DATA;
}

/*
 * The kernel number, in DIRECT, for a segment without data from rcv_nxt or beyond: K + 1.
 *
 * At a fall-back the engine injects the data from rcv_nxt on before it changes the owner word, and raises
 * kernel_high to the end of it. From then on the number is the segment's own, or one beyond the injected data.
 */
static __always_inline __u32 xiw_kernel_place(const struct xiw_seg *s)
{
	__u32 high = XIW_READ_ONCE(s->flow->kernel_high);

	if (xiw_seq_leq(high, xiw_owner_value(s->owner)))
		return xiw_owner_value(s->owner) + 1 - s->skew;
	if (xiw_seq_leq(s->seq, high))
		return s->seq - s->skew;
	XIW_WRITE_ONCE(s->flow->beyond, high + 1 - s->skew);
	return high + 1 - s->skew;
}

/*
 * Did an earlier segment without data get the number `place` + 1, from xiw_kernel_place() or from the engine's
 * injection? Until the stream moves on, a segment at `place` would be below SND.WL1, and the kernel would ignore its
 * window update (RFC 9293 section 3.10.7.4, fifth check). If the peer's window was closed, nobody would send again.
 */
static __always_inline bool xiw_stood_beyond(const struct xiw_seg *s, __u32 place)
{
	return place == (__u32)(s->kernel_nxt >> 32) || place + 1 == XIW_READ_ONCE(s->flow->beyond);
}

/*
 * The kernel number for a segment without data that would get `seq`. If the socket has taken back the window that the
 * peer still counts on, the peer's SND.NXT is beyond it, and the socket would drop whatever the peer acknowledges: with
 * its memory full of what it sends, it would stay so. The segment has no octets, so it can stand at the edge, as that
 * of a peer who knows the window does.
 */
static __always_inline __u32 xiw_before_edge(const struct xiw_seg *s, __u32 seq)
{
	__u32 edge = XIW_READ_ONCE(s->flow->socket_edge);

	return xiw_seq_leq(seq, edge) || !xiw_within_window(s->flow, s->seq) ? seq : edge;
}

/*
 * Pass a segment without data, a SYN or an RST: these are always the kernel's to handle.
 *
 * In DIRECT a segment without data from rcv_nxt or beyond gets K + 1. Its own number would be outside the window that
 * the kernel knows, which is not the one that the engine offers.
 *  - K + 1 is possible because the segment carries no octets.
 *  - K + 1 is beyond the socket's rcv_nxt, as the segment was, so its TSval does not become TS.Recent (RFC 7323
 *    section 4.3). It may have overtaken data that will be injected later, and the socket would take that data for
 *    old duplicates.
 *  - A segment from rcv_nxt itself gets K + 1 too. At K it would be below SND.WL1 after another one at K + 1, and the
 *    kernel would ignore its window update (RFC 9293 section 3.10.7.4, fifth check).
 *  - Only segments within an advertised window are moved. A blind guess must fail as it does without this program
 *    (RFC 9293 section 3.10.7.4).
 *  - Those of another connection with these addresses, which the library does not know yet, keep their own numbers:
 *    the windows of the one before say nothing of it. In DIRECT the stretch of the one before is not over for its
 *    engine; until that learns of its end, the peer acknowledges each SYN-ACK that is repeated.
 */
static __always_inline __u32 xiw_control(const struct xiw_seg *s)
{
	__u32 seq = s->seq - s->skew;
	bool direct = xiw_owner_path(s->owner) == XIW_PATH_DIRECT;

	if (!s->syn && !s->rst && (direct || !(s->flow->flags & XIW_FLOW_ANOTHER))) {
		if (!direct)
			seq += xiw_stood_beyond(s, seq);
		else if (xiw_seq_leq(xiw_owner_value(s->owner), s->seq) &&
			 xiw_within_window(s->flow, s->seq))
			seq = xiw_kernel_place(s);
		seq = xiw_before_edge(s, seq);
	}
	xiw_pass(s, seq);
	s->flow->control_segs++;
	return XIW_STAT_PASS_CONTROL;
}

/* How far the peer's clock is at most ahead of TS.Recent. Most clocks tick each millisecond: 18 hours. */
#define XIW_TSVAL_AFTER (1u << 26)

/*
 * In DIRECT: is the segment the peer's, as far as its header shows? Nobody has verified it, and XDP ends the stretch
 * for it. It is if it is new or may come again, from no further back than a window, if it acknowledges what it may, and
 * if its timestamp follows those before. A third host guesses all three in one of some million tries. At rcv_nxt, which
 * is one of 2^32 numbers, the clock does not matter: it may have gone on for long.
 */
static __always_inline bool xiw_of_peer(const struct xiw_seg *s)
{
	__u32 rcv_nxt = xiw_owner_value(s->owner), recent = XIW_READ_ONCE(s->flow->ts_recent),
	      tsval;
	const struct xiw_flow *flow = s->flow;

	return xiw_within_window(flow, s->seq) &&
	       xiw_seq_leq(rcv_nxt, s->seq + (0xffffu << (flow->rcv_wscale & 15))) &&
	       xiw_may_acknowledge(s) &&
	       (s->seq == rcv_nxt || !recent || !(flow->flags & XIW_FLOW_TIMESTAMPS) ||
		(xiw_read_tsval(s, &tsval) && tsval - recent < XIW_TSVAL_AFTER));
}

/*
 * Pass a packet that the kernel's IP must see: it may refuse the options or extension headers, and it alone joins
 * fragments.
 *
 * Of a segment in fragments, the first one holds all of the TCP header. The sequence number is translated as usual,
 * because an incremental checksum update needs nothing but the field. The segment's length is not known yet, so `end`
 * is behind the longest that it can be. No stretch begins before the stream has passed that point; whenever reassembly
 * ends, either the skew is still that of the first fragment, or the octets are old.
 *
 * A peer that sends such packets would resend them to the direct path for ever, which does not take them. So they end
 * DIRECT, if they are the peer's.
 */
static __always_inline __u32 xiw_for_ip(struct xiw_seg *s, __u32 end)
{
	if (xiw_owner_path(s->owner) == XIW_PATH_DIRECT) {
		if (!xiw_of_peer(s))
			return XIW_STAT_DROP_FRAGMENT;
		s->owner = xiw_to_kernel(s->flow, s->owner, s->skew, XIW_REASON_FRAGMENT);
		if (!s->owner)
			return XIW_STAT_DROP_EPOCH;
	}
	return xiw_kernel_data(s, end);
}

#endif /* XIW_BPF_PASS_H */
