/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One incoming TCP segment of a known flow: making its headers reachable, checking them, reading their fields.
 */
#ifndef XIW_BPF_SEGMENT_H
#define XIW_BPF_SEGMENT_H

#include <linux/bpf.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <xiwarp/abi.h>
#include "base.h"
#include "parse.h"

/* Ethernet, two VLAN tags, IPv4 with all options (or IPv6 with some extension headers), TCP with all options. */
#define XIW_HEADERS_MAX (14 + 8 + 60 + 60)

/* In Linux 6.18 and later. */
extern int bpf_xdp_pull_data(struct xdp_md *ctx, __u32 len) __ksym __weak;

struct xiw_seg {
	struct xdp_md *ctx;
	struct xiw_queue *queue; /* on which it came, or NULL */
	struct xiw_flow *flow;
	__u64 owner;
	__u64 kernel_nxt;
	__u64 now; /* for the clocks of watchdog.h */
	__u32 skew;
	__u32 index; /* of the flow */
	__u32 seq;
	__u32 len; /* of the payload */
	__u32 frame; /* bytes of the packet, as far as it is looked at: all of them, or those in the linear part */
	__u32 l3_off;
	__u32 l4_off;
	__u32 hdr_len; /* of the TCP header */
	__u32 syn, rst, fin, urg, cwr;
};

/*
 * Some drivers leave the linear part of a packet in several buffers empty. Bring the headers there. Where the kernel
 * cannot do that, such a packet belongs to no known flow, and its connection never goes direct.
 *
 * A pure ACK is shorter than XIW_HEADERS_MAX, so the helper is called for each one. That costs 1 ns of 38; comparing
 * the linear part with the IP header's length instead saved nothing that could be measured.
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

#define XIW_TCP_FLAGS_OFF 13
#define XIW_TCP_SYN 0x02

/* Read the ports, even if a driver cut the packet in front of them. */
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

/* Is the frame that begins at `dst` addressed to the flow's interface, if the flow has its address? */
static __always_inline bool xiw_same_mac(const __u8 *dst, const __u8 *mac)
{
	const __u16 *a = (const void *)dst, *b = (const void *)mac;

	return !((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]));
}

/*
 * Is the frame addressed to another host, or to another interface on the same link, such as a macvlan? A NIC in
 * promiscuous mode or behind a switch that floods receives the former, and the kernel's IP ignores them.
 *
 * As long as kernel numbers equal wire numbers, such frames are passed. Afterwards they are dropped: if the interface's
 * address changed and flow->mac is out of date, the kernel would take them for data, but with wire numbers.
 */
static __always_inline bool xiw_foreign(const struct xdp_md *ctx, const struct xiw_flow *flow)
{
	const __u8 *dst = (void *)(long)ctx->data, *mac = flow->mac;

	if (!*(const __u32 *)mac && !*(const __u16 *)(mac + 4))
		return false;
	if ((void *)(dst + 6) > (void *)(long)ctx->data_end)
		return true;
	return !xiw_same_mac(dst, mac);
}

/* The TCP header, or NULL. Checks the bounds again, because the verifier forgets them at every helper and call. */
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

/* Is the packet as long as its headers say? Most packets are in the linear part, and need no call of the kernel. */
static __always_inline bool xiw_whole(struct xiw_seg *s, __u32 linear, __u32 ip_end)
{
	s->frame = ip_end <= linear ? linear : bpf_xdp_get_buff_len(s->ctx);
	return ip_end <= s->frame;
}

/* The timestamp option in the 12 octets that it takes with its padding, as one of the TCPs in use puts it there. */
#define XIW_TS_OPTIONS 12

/*
 * Reads the TSval of a segment whose options are a timestamp and padding, which may be on either side of it (RFC 7323
 * appendix A). Returns false for other options.
 */
static __always_inline bool xiw_read_tsval(const struct xiw_seg *s, __u32 *tsval)
{
	__u32 first, second;
	__be32 opt[2];

	/* A helper, because with more uses the compiler keeps &ctx->data_end, which the verifier refuses. */
	if (s->hdr_len < sizeof(struct tcphdr) + XIW_TS_OPTIONS ||
	    bpf_xdp_load_bytes(s->ctx, s->l4_off + sizeof(struct tcphdr), opt, sizeof(opt)))
		return false;
	first = bpf_ntohl(opt[0]);
	second = bpf_ntohl(opt[1]);
	if (first == 0x0101080a)
		*tsval = second;
	else if (first >> 8 == 0x01080a)
		*tsval = first << 24 | second >> 8;
	else if (first >> 16 == 0x080a)
		*tsval = first << 16 | second >> 16;
	else
		return false;
	return true;
}

/* Read the segment's fields. Returns false if the headers disagree with each other or with the packet's length. */
static __always_inline bool xiw_read_segment(struct xiw_seg *s, const struct xiw_pkt *pkt)
{
	struct xdp_md *ctx = s->ctx;
	struct tcphdr *th = xiw_tcp_header(ctx, pkt->l4_off);
	__u32 linear = ctx->data_end - ctx->data;

	/* The headers are in the linear part: most drivers put them there, xiw_reach_headers() did for the others. */
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
	return xiw_whole(s, linear, pkt->ip_end);
}

#endif /* XIW_BPF_SEGMENT_H */
