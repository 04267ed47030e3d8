// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xiw_egress - translates what the kernel socket sends: acknowledgement, window and SACK blocks are in kernel numbers
 * and become wire numbers. Our own sequence numbers are the same on both sides. It also records how far the kernel
 * has sent, and the window that it advertised.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <stddef.h>
#include "base.h"
#include "maps.h"
#include "parse.h"
#include "options.h"
#include "handoff.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define XIW_OWNER_TRIES 4
#define XIW_MAX_WINDOW 0xffffu
#define XIW_MAX_WSCALE 14	   /* RFC 7323 section 2.3 */
#define XIW_MAX_OFFERED (1u << 30) /* the largest window (RFC 7323 section 2.3) */
#define XIW_MAX_SACK_EDGES 8
/*
 * In skb->tc_index: the segment has been here. An ifb to which its interface redirects it gives it to the interface
 * again. The kernel's own values are minor numbers of classes, and its clones for retransmission have none.
 */
#define XIW_SENT_MARK 0x8000u

struct xiw_out {
	struct xiw_opts old; /* the header as the kernel built it */
	__u8 hdr[XIW_TCP_MAX_HDR + 4] __attribute__((aligned(8))); /* the header as it goes out */
};

static __always_inline void xiw_out_put32(struct xiw_out *o, __u32 at, __u32 v)
{
	v = bpf_htonl(v);
	__builtin_memcpy(&o->hdr[at], &v, sizeof(v));
}

static __always_inline bool xiw_load_owner(struct xiw_flow *flow, __u64 *owner, __u64 *kernel_nxt)
{
	int i;

#pragma unroll
	for (i = 0; i < XIW_OWNER_TRIES; i++)
		if (xiw_read_owner(flow, owner, kernel_nxt))
			return true;
	return false;
}

/* Translate all SACK blocks (RFC 2018 section 3), D-SACK (RFC 2883) included: they name received octets. */
static __always_inline void xiw_shift_sack(struct xiw_out *o, __u32 skew)
{
	__u32 i, at = o->old.sack + 2, edges = (o->old.sack_len - 2) / 4;

#pragma unroll
	for (i = 0; i < XIW_MAX_SACK_EDGES; i++) {
		__u32 edge;

		xiw_opaque(at);
		if (i >= edges || at > XIW_TCP_MAX_HDR - sizeof(edge))
			break;
		__builtin_memcpy(&edge, &o->old.hdr[at], sizeof(edge));
		xiw_out_put32(o, at, bpf_ntohl(edge) + skew);
		at += sizeof(edge);
	}
}

/*
 * Echo the newer of two TSvals. That of the stretch is newer than the socket's, except where the stretch has just
 * begun, or is over and the socket has got newer segments. Then the socket's is enough, from now on.
 */
static __always_inline void xiw_newer_tsecr(struct xiw_out *o, struct xiw_flow *flow, __u32 recent,
					    bool direct)
{
	__u32 at = o->old.ts + 6, tsecr;

	xiw_opaque(at);
	if (at > XIW_TCP_MAX_HDR - sizeof(tsecr))
		return;
	__builtin_memcpy(&tsecr, &o->old.hdr[at], sizeof(tsecr));
	if (!xiw_seq_leq(recent, bpf_ntohl(tsecr)))
		xiw_out_put32(o, at, recent);
	else if (!direct)
		XIW_WRITE_ONCE(flow->ts_recent, 0);
}

#define XIW_TS_ALIGNED 0x0101080a /* NOP, NOP, timestamp: the first options of each segment that Linux sends */
#define XIW_NS_PER_S 1000000000ull

/*
 * Notes the TS.Recent of the kernel socket (RFC 7323 section 4.3), which begins the engine's in a stretch. It changes
 * when the peer's data come on the kernel path, at most once in a tick of the peer's clock.
 */
static __always_inline void xiw_note_echo(struct xiw_flow *flow, const struct xiw_opts *o)
{
	const __be32 *opt = (const void *)(o->hdr + sizeof(struct tcphdr));
	__u64 echoed = flow->echoed, now;

	if (!(flow->flags & XIW_FLOW_TIMESTAMPS) || opt[0] != bpf_htonl(XIW_TS_ALIGNED) ||
	    o->len < sizeof(struct tcphdr) + 3 * sizeof(*opt))
		return;
	if (echoed && (__u32)echoed == bpf_ntohl(opt[2]))
		return;
	now = bpf_ktime_get_coarse_ns() / XIW_NS_PER_S + 1;
	XIW_WRITE_ONCE(flow->echoed, now << 32 | bpf_ntohl(opt[2]));
}

/* The further of two right edges. If `other` is further ahead of `ack` than any window, it is stale. */
static __always_inline __u32 xiw_further(__u32 ack, __u32 edge, __u32 other)
{
	return other - ack <= XIW_MAX_OFFERED && !xiw_seq_leq(other, edge) ? other : edge;
}

/*
 * The window field. The right edge must not move back (RFC 9293 section 3.8.6), so an edge that the engine advertised
 * holds while the kernel owns the stream, and the other way round. Not even a socket that takes its window back, as it
 * has no memory, moves the edge: xiw_control() sees to it that the socket still hears the peer. The field is rounded
 * up: an edge that is not a multiple of its unit would otherwise move back.
 *
 * This also records the edges. kernel_edge is what the kernel itself allows while it owns the stream. direct_edge is
 * what goes out, in DIRECT or if it exceeds what the kernel allows. The engine reads direct_edge before it accepts
 * segments and before it advertises a window itself. This program raises it, because an engine that the watchdog found
 * dead cannot.
 */
static __always_inline __u32 xiw_window(struct xiw_flow *flow, __u64 owner, __u32 ack, __u32 window,
					__u32 wscale)
{
	__u32 edge = ack + (window << wscale), own = edge;

	xiw_refresh(&flow->direct_edge, ack);
	if (xiw_owner_path(owner) == XIW_PATH_DIRECT) {
		edge = xiw_owner_value(owner) + flow->window;
		edge = xiw_further(ack, edge, XIW_READ_ONCE(flow->kernel_edge));
	} else if (!flow->egress_segs) {
		XIW_WRITE_ONCE(flow->kernel_edge, edge);
	} else {
		xiw_raise(&flow->kernel_edge, edge);
	}
	edge = xiw_further(ack, edge, XIW_READ_ONCE(flow->direct_edge));
	if (edge != own)
		window = (edge - ack + (1u << wscale) - 1) >> wscale;
	if (window > XIW_MAX_WINDOW)
		window = XIW_MAX_WINDOW;
	if (xiw_owner_path(owner) == XIW_PATH_DIRECT || edge != own)
		xiw_raise(&flow->direct_edge, ack + (window << wscale));
	return window;
}

/* Build o->hdr. Returns false if the segment can leave as it is. */
static __always_inline bool xiw_translate(struct xiw_out *o, struct xiw_flow *flow, __u64 owner,
					  __u64 kernel_nxt)
{
	struct tcphdr *old = (void *)o->old.hdr, *th = (void *)o->hdr;
	bool direct = xiw_owner_path(owner) == XIW_PATH_DIRECT;
	__u32 skew = xiw_owner_skew(owner, kernel_nxt);
	__u32 wscale = flow->rcv_wscale & 31, window = bpf_ntohs(old->window), ack;
	__u32 recent = XIW_READ_ONCE(flow->ts_recent);
	bool ece = old->ece;

	if (!old->ack)
		return false;
	if (wscale > XIW_MAX_WSCALE)
		wscale = XIW_MAX_WSCALE;
	/*
	 * In DIRECT the socket stands at K, which gives rcv_nxt, or it is still behind K. Then no more than it has
	 * may be acknowledged.
	 */
	ack = bpf_ntohl(old->ack_seq) + skew;
	XIW_WRITE_ONCE(flow->acked, ack);
	/* The window of a SYN is not scaled (RFC 7323 section 2.2), and that of an RST has no meaning. */
	if (!old->syn && !old->rst && !(flow->flags & XIW_FLOW_ANOTHER)) {
		XIW_WRITE_ONCE(flow->socket_edge, bpf_ntohl(old->ack_seq) + (window << wscale));
		window = xiw_window(flow, owner, ack, window, wscale);
		xiw_note_echo(flow, &o->old);
	}
	if ((flow->flags & (XIW_FLOW_ECN | XIW_FLOW_ANOTHER)) == XIW_FLOW_ECN && flow->ece &&
	    !old->syn && !old->rst)
		ece = xiw_ece_of(flow->ece) == XIW_ECE_ON;
	if (!direct && !skew && !recent && window == bpf_ntohs(old->window) && ece == old->ece)
		return false;

	__builtin_memcpy(o->hdr, o->old.hdr, sizeof(o->hdr));
	th->ece = ece;
	th->ack_seq = bpf_htonl(ack);
	th->window = bpf_htons(window);
	if (old->doff > 5) {
		xiw_opts_walk(&o->old);
		if (o->old.sack && skew)
			xiw_shift_sack(o, skew);
		if (recent && o->old.ts && o->old.ts <= XIW_TCP_MAX_HDR - XIW_TCPOLEN_TIMESTAMP &&
		    (flow->flags & (XIW_FLOW_TIMESTAMPS | XIW_FLOW_ANOTHER)) == XIW_FLOW_TIMESTAMPS)
			xiw_newer_tsecr(o, flow, recent, direct);
	}
	return true;
}

/*
 * Store the new header. bpf_l4_csum_replace() does not touch a CHECKSUM_PARTIAL sum, which covers the pseudo header
 * only; that does not change. Returns 0 or a negative number.
 */
static __always_inline int xiw_store(struct __sk_buff *skb, struct xiw_out *o, __u32 l4_off)
{
	__u32 options = o->old.len - sizeof(struct tcphdr);
	__s64 diff = bpf_csum_diff((__be32 *)o->old.hdr, XIW_TCP_MAX_HDR, (__be32 *)o->hdr,
				   XIW_TCP_MAX_HDR, 0);

	/* One comparison, of what the compiler does not know, bounds the length in the register that is used. */
	xiw_opaque(options);
	if (diff < 0 || options > XIW_TCP_MAX_HDR - sizeof(struct tcphdr))
		return -1;
	if (bpf_skb_store_bytes(skb, l4_off, o->hdr, sizeof(struct tcphdr) + options, 0))
		return -1;
	return bpf_l4_csum_replace(skb, l4_off + offsetof(struct tcphdr, check), 0, diff, 0);
}

static __always_inline bool xiw_changed(const struct xiw_out *o)
{
	const __u64 *a = (const void *)o->old.hdr, *b = (const void *)o->hdr;
	__u64 diff = 0;
	int i;

#pragma unroll
	for (i = 0; i < sizeof(o->hdr) / sizeof(*a); i++)
		diff |= a[i] ^ b[i];
	return diff;
}

static __always_inline void xiw_note_sent(struct xiw_flow *flow, const struct tcphdr *th, __u32 len)
{
	__u32 end = bpf_ntohl(th->seq) + len + th->syn + th->fin;

	if (th->rst)
		return;
	if (!xiw_seq_leq(end, flow->snd_nxt))
		XIW_WRITE_ONCE(flow->snd_nxt, end);
	else if (len)
		XIW_WRITE_ONCE(flow->resent, flow->resent + 1);
}

/*
 * Record where the kernel sends the connection's frames, for the packets that the engine builds. A frame with two tags,
 * or one that is not of IEEE 802.1Q, is not recorded; the engine then acknowledges nothing.
 */
static __always_inline void xiw_note_link(const struct __sk_buff *skb, struct xiw_flow *flow,
					  __u32 l3_off)
{
	const __u8 *eth = (void *)(long)skb->data;
	__u32 *known = (__u32 *)(void *)flow->out_mac, mac[3];
	__u16 tag = skb->vlan_present ? skb->vlan_tci : 0;
	int i;

	if ((void *)(eth + sizeof(struct ethhdr) + sizeof(struct xiw_vlan_hdr)) >
		    (void *)(long)skb->data_end ||
	    l3_off > sizeof(struct ethhdr) + sizeof(struct xiw_vlan_hdr))
		return;
	if (l3_off > sizeof(struct ethhdr)) {
		if (skb->vlan_present || *(const __be16 *)(eth + 12) != bpf_htons(ETH_P_8021Q))
			return;
		tag = bpf_ntohs(*(const __be16 *)(eth + sizeof(struct ethhdr)));
	} else if (skb->vlan_present && skb->vlan_proto != bpf_htons(ETH_P_8021Q)) {
		return;
	}
	__builtin_memcpy(mac, eth, sizeof(mac));
	for (i = 0; i < 3; i++)
		if (known[i] != mac[i])
			XIW_WRITE_ONCE(known[i], mac[i]);
	if (flow->out_tag != tag)
		XIW_WRITE_ONCE(flow->out_tag, tag);
}

/* Record traffic class, flow label and hop limit of the connection, for the packets that the engine builds. */
static __always_inline void xiw_note_class(const struct __sk_buff *skb, struct xiw_flow *flow,
					   __u32 l3_off)
{
	__u32 class, hops;
	const __u8 *ip;

	/* The verifier of Linux 6.1 forgets the bound of a value that is not in a register. */
	xiw_opaque(l3_off);
	if (l3_off > XIW_MAX_L4_OFF)
		return;
	ip = (void *)(long)skb->data + l3_off;
	if ((void *)(ip + 12) > (void *)(long)skb->data_end)
		return;
	class = ip[0] >> 4 == 6 ? bpf_ntohl(*(const __be32 *)ip) & 0x0fcfffff
				: (ip[1] & 0xfc) << 20;
	hops = ip[0] >> 4 == 6 ? ip[7] : ip[8];
	if (flow->out_class != class || flow->out_hops != hops) {
		XIW_WRITE_ONCE(flow->out_class, class);
		XIW_WRITE_ONCE(flow->out_hops, hops);
	}
}

/*
 * The kernel sends a SYN: a new connection has the addresses of a registered one, which has ended, whatever its engine
 * knows. The peer's SYN got its number by the skew of this moment, and so must all that follows. Therefore the stretch
 * ends, and no other begins until the new connection is registered. If the engine has committed since the peer's SYN
 * came, that finds the acknowledgement wrong, and sends another one. Returns false if ownership moves all the time.
 */
static __always_inline bool xiw_begin_another(struct xiw_flow *flow)
{
	__u64 owner, kernel_nxt;
	int i;

	flow->flags |= XIW_FLOW_ANOTHER;
#pragma unroll
	for (i = 0; i < XIW_OWNER_TRIES; i++) {
		if (!xiw_read_owner(flow, &owner, &kernel_nxt))
			continue;
		switch (xiw_owner_path(owner)) {
		case XIW_PATH_DIRECT:
			owner = xiw_to_kernel(flow, owner, xiw_owner_skew(owner, kernel_nxt),
					      XIW_REASON_CLOSE);
			break;
		case XIW_PATH_ARMED:
			owner = xiw_disarm(flow, owner, XIW_REASON_CLOSE);
			break;
		}
		if (owner)
			return true;
	}
	return false;
}

static __always_inline int xiw_out_segment(struct __sk_buff *skb, struct xiw_flow *flow,
					   __u32 l3_off, __u32 l4_off)
{
	struct xiw_out out = {};
	struct tcphdr *th = (void *)out.old.hdr;
	__u64 owner, kernel_nxt;
	__u32 len;
	bool changed;

	if (skb->tc_index & XIW_SENT_MARK ||
	    bpf_skb_load_bytes(skb, l4_off, out.old.hdr, sizeof(*th)))
		return TC_ACT_UNSPEC;
	len = th->doff * 4;
	/* Our own kernel built this header: the check only bounds the copy for the verifier. */
	if (len < sizeof(*th) || l4_off + len > skb->len)
		return TC_ACT_UNSPEC;
	out.old.len = len;
	if (len > sizeof(*th)) {
		xiw_opaque(len);
		if (len > XIW_TCP_MAX_HDR || bpf_skb_load_bytes(skb, l4_off, out.old.hdr, len))
			return TC_ACT_UNSPEC;
	}

	if (th->syn && !xiw_begin_another(flow))
		goto moved;
	if (!xiw_load_owner(flow, &owner, &kernel_nxt))
		goto moved;
	/* Take the length from the skb: the length field of an IP header may be too small for a GSO packet. */
	xiw_note_sent(flow, th, skb->len - l4_off - out.old.len);
	changed = xiw_translate(&out, flow, owner, kernel_nxt) && xiw_changed(&out);
	xiw_note_link(skb, flow, l3_off);
	xiw_note_class(skb, flow, l3_off);
	XIW_WRITE_ONCE(flow->egress_segs, flow->egress_segs + 1); /* the engine reads it */
	xiw_count(XIW_STAT_EGRESS);
	skb->tc_index |= XIW_SENT_MARK;
	if (!changed)
		return TC_ACT_UNSPEC;
	if (xiw_store(skb, &out, l4_off))
		goto moved; /* it must not leave untranslated */
	flow->egress_rewritten++;
	xiw_count(XIW_STAT_EGRESS_REWRITTEN);
	return TC_ACT_UNSPEC;
moved:
	xiw_count(XIW_STAT_DROP_EPOCH);
	return TC_ACT_SHOT;
}

SEC("tc")
int xiw_egress(struct __sk_buff *skb)
{
	struct xiw_pkt pkt = {};
	struct xiw_flow *flow;
	__be16 ports[2];
	__u32 index;

	/* A first IP fragment has the whole TCP header, and is translated like any other packet. */
	if (!xiw_parse((void *)(long)skb->data, (void *)(long)skb->data_end, &pkt, true) ||
	    bpf_skb_load_bytes(skb, pkt.l4_off, ports, sizeof(ports)))
		return TC_ACT_UNSPEC;
	xiw_set_ports(&pkt.key, ports, true);
	flow = xiw_flow_find(&pkt.key, &index);
	if (!flow || xiw_owner_path(XIW_READ_ONCE(flow->owner)) == XIW_PATH_NONE)
		return TC_ACT_UNSPEC;
	return xiw_out_segment(skb, flow, pkt.l3_off, pkt.l4_off);
}
