// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xiw_ingress - per segment: to AF_XDP, or to the kernel's TCP with its sequence number translated.
 *
 * Each segment becomes one enum xiw_stat, counted once at the exit, which also says the XDP action.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "maps.h"
#include "parse.h"
#include "classify.h"
#include "handoff.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Settings; the loader may change them before the load. */
const volatile __u64 xiw_watchdog_ns = XIW_WATCHDOG_NS;
const volatile __u64 xiw_stuck_ns = XIW_STUCK_NS;

/* Since Linux 6.18. */
extern int bpf_xdp_pull_data(struct xdp_md *ctx, __u32 len) __ksym __weak;

struct xiw_seg {
	struct xdp_md *ctx;
	struct xiw_flow *flow;
	__u64 owner;
	__u64 kernel_nxt;
	__u32 skew;
	__u32 index; /* of the flow */
	__u32 seq;
	__u32 len; /* of the payload */
	__u32 l3_off;
	__u32 l4_off;
	__u32 hdr_len; /* of the TCP header */
	__u32 syn, rst, fin, urg, cwr;
};

/* The TCP header, bounds checked once more: helpers and calls make the verifier forget. */
static __always_inline struct tcphdr *xiw_tcp_header(struct xdp_md *ctx, __u32 l4_off)
{
	void *data = (void *)(long)ctx->data;
	struct tcphdr *th;

	xiw_opaque(l4_off);
	if (l4_off > XIW_MAX_L4_OFF)
		return NULL;
	th = data + l4_off;
	if ((void *)(th + 1) > (void *)(long)ctx->data_end)
		return NULL;
	return th;
}

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

/* Give the segment to the kernel under the sequence number `seq`. */
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

/* The ECN field is in the second octet, of IPv6 in its upper half; CE has both bits (RFC 3168 section 5). */
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

/* RFC 3168 section 6.1.3. CWR first: the CE of the same packet is newer. */
static __always_inline void xiw_note_ecn(const struct xiw_seg *s)
{
	if (xiw_congestion_experienced(s))
		XIW_WRITE_ONCE(s->flow->ece, XIW_ECE_ON);
	else if (s->cwr)
		XIW_WRITE_ONCE(s->flow->ece, XIW_ECE_OFF);
}

/*
 * Where a segment without data from rcv_nxt on stands for the kernel: just beyond K. But at a fall-back the
 * engine injects what lies from there on before it lets go, and says so by kernel_high: then at its own place, or
 * just beyond the end of that.
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
 * Has one stood just beyond this one's place, here or by the engine's injection? Until the stream goes on, this one
 * would stand below SND.WL1, and an opening of the peer's window that it tells of would count for nothing (RFC 9293
 * section 3.10.7.4, fifth check): nobody would ever send again.
 */
static __always_inline bool xiw_stood_beyond(const struct xiw_seg *s, __u32 place)
{
	return place == (__u32)(s->kernel_nxt >> 32) || place + 1 == XIW_READ_ONCE(s->flow->beyond);
}

/* No data, SYN or RST: always the kernel's to answer. */
static __always_inline __u32 xiw_control(const struct xiw_seg *s)
{
	__u32 seq = s->seq - s->skew;

	/*
	 * The kernel does not know the window that the engine offers: an acknowledgement from beyond
	 * rcv_nxt would look out of the window to it. It carries no octets, so it may stand at K + 1: beyond
	 * rcv_nxt, as it came, so that its TSval does not become the socket's TS.Recent (RFC 7323 section 4.3). It
	 * has overtaken data, which the socket would take for old duplicates when that is injected.
	 * So does one from rcv_nxt itself: behind the others it would stand below SND.WL1, and the opening of the
	 * peer's window that it may tell of would count for nothing (RFC 9293 section 3.10.7.4, fifth check).
	 * But only from within what was offered: a blind guess must fail as it does without us (RFC 9293
	 * section 3.10.7.4).
	 */
	if (xiw_owner_path(s->owner) == XIW_PATH_DIRECT && !s->syn && !s->rst &&
	    xiw_seq_leq(xiw_owner_value(s->owner), s->seq) && xiw_within_window(s->flow, s->seq))
		seq = xiw_kernel_place(s);
	else if (xiw_owner_path(s->owner) != XIW_PATH_DIRECT && !s->syn && !s->rst &&
		 xiw_stood_beyond(s, seq))
		seq++;
	xiw_pass(s, seq);
	s->flow->control_segs++;
	return XIW_STAT_PASS_CONTROL;
}

/* Data that the kernel owns, under s->owner. `end` is behind its last octet or FIN. */
static __always_inline __u32 xiw_kernel_data(const struct xiw_seg *s, __u32 end)
{
	struct xiw_flow *flow = s->flow;

	if (xiw_within_window(flow, s->seq) && !xiw_raise_high(flow, s->owner, end))
		return XIW_STAT_DROP_EPOCH;
	if (flow->flags & XIW_FLOW_ECN && xiw_acceptable(flow, s->seq, end))
		xiw_note_ecn(s);
	xiw_pass(s, s->seq - s->skew);
	flow->kernel_segs++;
	flow->kernel_octets += s->len;
	return XIW_STAT_PASS_DATA;
}

/*
 * The first fragment of a segment, which has all of the TCP header. Reassembly comes behind XDP, so that the
 * kernel must have it: translated like any other, since an incremental update of the checksum asks for no more
 * than the field. How long the segment is nobody knows yet: the most that it can be is counted. So no stretch
 * begins before the stream has gone beyond, and whenever reassembly ends, the skew is that of these octets, or
 * they are old.
 *
 * A peer whose segments are fragmented would send them for ever to the direct path, which cannot take them: it
 * ends, but not for what is far from the window.
 */
static __always_inline __u32 xiw_fragment(struct xiw_seg *s)
{
	if (xiw_owner_path(s->owner) == XIW_PATH_DIRECT) {
		if (!xiw_within_window(s->flow, s->seq) ||
		    !xiw_seq_leq(xiw_owner_value(s->owner), s->seq + 0xffff))
			return XIW_STAT_DROP_FRAGMENT;
		s->owner = xiw_to_kernel(s->flow, s->owner, s->skew, XIW_WHY_FRAGMENT);
		if (!s->owner)
			return XIW_STAT_DROP_EPOCH;
	}
	return xiw_kernel_data(s, s->seq + 0xffff);
}

/* May a frame go to the queue's ring? XIW_WHY_NONE, or what is in the way. */
static __always_inline __u32 xiw_ring_check(struct xdp_md *ctx)
{
	__u32 q = ctx->rx_queue_index;
	struct xiw_queue *queue;

	/* Sets the target as well; it counts only once XDP_REDIRECT is returned. */
	if (bpf_redirect_map(&xiw_xsks, q, XDP_DROP) != XDP_REDIRECT)
		return XIW_WHY_NO_XSK;
	queue = bpf_map_lookup_elem(&xiw_queues, &q);
	if (!queue)
		return XIW_WHY_NO_XSK;
	return xiw_watchdog_feed(queue, xiw_watchdog_ns) ? XIW_WHY_NONE : XIW_WHY_WATCHDOG;
}

/*
 * Put the metadata in front of the packet, as octets of the frame: not every driver has room for what XDP calls
 * metadata, and a frame that is redirected is nobody else's. `found` is what the classifier returned. Packet
 * pointers are void afterwards.
 */
static __always_inline bool xiw_put_meta(const struct xiw_seg *s, __u32 found, __u32 epoch)
{
	struct xiw_meta *meta;

	if (bpf_xdp_adjust_head(s->ctx, -(int)sizeof(*meta)))
		return false;
	meta = (void *)(long)s->ctx->data;
	if ((void *)(meta + 1) > (void *)(long)s->ctx->data_end)
		return false;
	meta->flow = s->index;
	meta->epoch = epoch & XIW_EPOCH_MASK;
	meta->l3_off = s->l3_off;
	meta->l4_off = s->l4_off;
	meta->payload_off = s->l4_off + s->hdr_len;
	meta->payload_len = s->len;
	meta->fpdus = found >> 8;
	meta->verdict = found & 0xff;
	meta->version = XIW_ABI_VERSION;
	return true;
}

static __always_inline __u32 xiw_redirected(const struct xiw_seg *s)
{
	s->flow->direct_segs++;
	s->flow->direct_octets += s->len;
	return XIW_STAT_DIRECT;
}

static __always_inline __u32 xiw_classify_seg(const struct xiw_seg *s)
{
	return xiw_classify(s->ctx, s->flow, s->seq, s->l4_off + s->hdr_len, s->len);
}

/*
 * Only what a peer that waits sends can show that the stream does not go on: octets that it waits for, or such as came
 * before, if the acknowledgement was lost or the kernel dropped them after they were passed.
 */
static __always_inline bool xiw_dead_end(const struct xiw_seg *s)
{
	__u32 rcv_nxt = xiw_owner_value(s->owner);

	return xiw_seq_leq(s->seq, rcv_nxt) && xiw_stuck(s->flow, rcv_nxt, xiw_stuck_ns);
}

/* Data or FIN while the engine owns the stream. */
static __always_inline __u32 xiw_direct_data(struct xiw_seg *s, __u32 end)
{
	__u32 found = XIW_V_CONTROL, why, stat;

	xiw_refresh_kernel(s->flow, xiw_owner_value(s->owner));
	why = xiw_ring_check(s->ctx);
	if (!why && xiw_dead_end(s))
		why = XIW_WHY_UNSEEN;
	if (!why) {
		if (!s->fin && !s->urg)
			found = xiw_classify_seg(s);
		if (xiw_put_meta(s, found, xiw_owner_epoch(s->owner)))
			return xiw_redirected(s);
		why = XIW_WHY_HEADROOM;
	}
	if (why == XIW_WHY_HEADROOM)
		XIW_WRITE_ONCE(s->flow->barred, why);
	/* The skew of DIRECT, rcv_nxt - K, is the one that KERNEL starts with. */
	s->owner = xiw_to_kernel(s->flow, s->owner, s->skew, why);
	if (!s->owner)
		return XIW_STAT_DROP_EPOCH;
	stat = xiw_kernel_data(s, end);
	if (stat == XIW_STAT_PASS_DATA && (why == XIW_WHY_WATCHDOG || why == XIW_WHY_UNSEEN))
		return XIW_STAT_WATCHDOG;
	return stat;
}

/*
 * Were packets of ours seen by xiw_egress since the flow was registered, and did all of the peer's come here? If not,
 * our acknowledgements could not be translated, or the socket would miss what it needs: the connection is the
 * kernel's, by whatever interfaces it goes.
 */
static __always_inline bool xiw_passes_here(const struct xiw_flow *flow)
{
	return XIW_READ_ONCE(flow->egress_segs) >= flow->egress_floor &&
	       !XIW_READ_ONCE(flow->elsewhere_segs);
}

/*
 * Data while the library allows to go direct: where enough segments in a row, this one included, were
 * aligned, and each began where all that the kernel was given ended.
 *
 * Aligned is what a segment looks like. Whether it begins with an FPDU only the stream before it can tell,
 * and that is with the kernel's socket: the engine finds out when it has read that.
 *
 * A segment with more options than a timestamp begins no stretch: the engine could not check the authentication of
 * RFC 2385 or RFC 5925, nor sign its answers.
 */
static __always_inline __u32 xiw_armed_data(struct xiw_seg *s, __u32 end)
{
	struct xiw_flow *flow = s->flow;
	__u32 found, run;

	if (s->seq != XIW_READ_ONCE(flow->kernel_high) || s->fin || s->urg)
		return xiw_kernel_data(s, end);
	found = xiw_classify_seg(s);
	run = flow->run_end == s->seq ? flow->run_len + 1 : 1;
	if ((found & 0xff) != XIW_V_ALIGNED || s->hdr_len > XIW_TCP_PLAIN_HDR)
		run = 0;
	if (run && run >= flow->run_needed && xiw_passes_here(flow) && !xiw_ring_check(s->ctx)) {
		if (xiw_put_meta(s, found, xiw_owner_epoch(s->owner) + 1)) {
			xiw_try_begin(flow, s->seq, bpf_ktime_get_coarse_ns());
			if (!xiw_go_direct(flow, s->owner, s->kernel_nxt, s->seq))
				return XIW_STAT_DROP_EPOCH;
			flow->went_direct++;
			return xiw_redirected(s);
		}
		/* It never will: the library is told, and arms no more. */
		XIW_WRITE_ONCE(flow->barred, XIW_WHY_HEADROOM);
		s->owner = xiw_disarm(flow, s->owner, XIW_WHY_HEADROOM);
		if (!s->owner)
			return XIW_STAT_DROP_EPOCH;
	}
	flow->run_end = end;
	flow->run_len = run;
	return xiw_kernel_data(s, end);
}

/* The segment's fields. False: the headers disagree with each other or with the packet's length. */
static __always_inline bool xiw_read_segment(struct xiw_seg *s, const struct xiw_pkt *pkt)
{
	struct xdp_md *ctx = s->ctx;
	struct tcphdr *th = xiw_tcp_header(ctx, pkt->l4_off);
	__u32 linear = ctx->data_end - ctx->data;

	/* The linear part holds the headers, by drivers' custom or because xiw_reach_headers() saw to it. */
	if (!th || th->doff < 5 || pkt->l4_off + th->doff * 4 > linear)
		return false;
	if (pkt->l4_off + th->doff * 4 > pkt->ip_end)
		return false;
	s->hdr_len = th->doff * 4;
	s->len = pkt->ip_end - pkt->l4_off - s->hdr_len;
	s->l3_off = pkt->l3_off;
	s->l4_off = pkt->l4_off;
	s->seq = bpf_ntohl(th->seq);
	s->syn = th->syn;
	s->rst = th->rst;
	s->fin = th->fin;
	s->urg = th->urg;
	s->cwr = th->cwr;
	return pkt->ip_end <= linear || pkt->ip_end <= bpf_xdp_get_buff_len(ctx);
}

/*
 * Is the frame for another host? The kernel's IP does not look at such a one, which comes to a NIC that is promiscuous
 * or behind a switch that floods; so it must not count for anything here. Dropped, not passed: what is noted of the
 * interface's address may be older than the kernel's, and passed it would be data without translation.
 */
static __always_inline bool xiw_foreign(const struct xdp_md *ctx, const struct xiw_flow *flow)
{
	const __u8 *dst = (void *)(long)ctx->data, *mac = flow->mac;

	if (!*(const __u32 *)mac && !*(const __u16 *)(mac + 4))
		return false;
	if ((void *)(dst + 6) > (void *)(long)ctx->data_end)
		return true;
	return *(const __u32 *)dst != *(const __u32 *)mac ||
	       *(const __u16 *)(dst + 4) != *(const __u16 *)(mac + 4);
}

static __always_inline __u32 xiw_segment(struct xiw_seg *s, const struct xiw_pkt *pkt)
{
	__u32 end;

	if (xiw_owner_path(XIW_READ_ONCE(s->flow->owner)) == XIW_PATH_NONE)
		return XIW_STAT_OTHER;
	if (xiw_foreign(s->ctx, s->flow))
		return XIW_STAT_DROP_FOREIGN;
	if (!xiw_read_owner(s->flow, &s->owner, &s->kernel_nxt))
		return XIW_STAT_DROP_EPOCH;
	if (!xiw_read_segment(s, pkt))
		return XIW_STAT_DROP_MALFORMED;
	s->skew = xiw_owner_skew(s->owner, s->kernel_nxt);
	if (pkt->fragment)
		return xiw_fragment(s);
	if (s->syn || s->rst || !(s->len || s->fin))
		return xiw_control(s);
	end = s->seq + s->len + s->fin;
	switch (xiw_owner_path(s->owner)) {
	case XIW_PATH_DIRECT:
		return xiw_direct_data(s, end);
	case XIW_PATH_ARMED:
		return xiw_armed_data(s, end);
	default:
		return xiw_kernel_data(s, end);
	}
}

/* The ports, even where a driver cut the packet in front of them. */
static __always_inline bool xiw_read_ports(struct xdp_md *ctx, __u32 l4_off, __be16 ports[2])
{
	void *data = (void *)(long)ctx->data;

	xiw_opaque(l4_off);
	if (l4_off > XIW_MAX_L4_OFF)
		return false;
	if (data + l4_off + 4 <= (void *)(long)ctx->data_end) {
		__builtin_memcpy(ports, data + l4_off, 4);
		return true;
	}
	return !bpf_xdp_load_bytes(ctx, l4_off, ports, 4);
}

static __always_inline __u32 xiw_packet(struct xdp_md *ctx)
{
	struct xiw_pkt pkt = {};
	struct xiw_seg seg = { .ctx = ctx };
	__be16 ports[2];
	__u32 stat;

	if (!xiw_parse((void *)(long)ctx->data, (void *)(long)ctx->data_end, &pkt, false) ||
	    !xiw_read_ports(ctx, pkt.l4_off, ports))
		return XIW_STAT_OTHER;
	xiw_set_ports(&pkt.key, ports, false);
	seg.flow = xiw_flow_find(&pkt.key, &seg.index);
	if (!seg.flow)
		return XIW_STAT_OTHER;
	stat = xiw_segment(&seg, &pkt);
	if (stat == XIW_STAT_DROP_EPOCH || stat == XIW_STAT_DROP_FRAGMENT ||
	    stat == XIW_STAT_DROP_MALFORMED || stat == XIW_STAT_DROP_FOREIGN)
		seg.flow->dropped++;
	return stat;
}

/*
 * Some drivers leave the linear part of a packet of several buffers empty. Where the kernel cannot bring the headers
 * there, the packet is of no flow that is known, and no connection ever is direct.
 */
static __always_inline void xiw_reach_headers(struct xdp_md *ctx)
{
	__u32 linear = ctx->data_end - ctx->data, len;

	if (linear >= XIW_HEADERS_MAX || !bpf_xdp_pull_data)
		return;
	len = bpf_xdp_get_buff_len(ctx);
	if (len > linear)
		bpf_xdp_pull_data(ctx, len < XIW_HEADERS_MAX ? len : XIW_HEADERS_MAX);
}

SEC("xdp.frags")
int xiw_ingress(struct xdp_md *ctx)
{
	__u32 stat;

	xiw_reach_headers(ctx);
	stat = xiw_packet(ctx);
	xiw_count(stat);
	switch (stat) {
	case XIW_STAT_DIRECT:
		return XDP_REDIRECT;
	case XIW_STAT_DROP_EPOCH:
	case XIW_STAT_DROP_FRAGMENT:
	case XIW_STAT_DROP_MALFORMED:
	case XIW_STAT_DROP_FOREIGN:
		return XDP_DROP;
	default:
		return XDP_PASS;
	}
}
