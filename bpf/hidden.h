/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Segments that hide: xiw_parse() stops after a few headers, and the kernel does not. What it took for a segment of a
 * known flow would not be translated. So where xiw_parse() stops in front of headers that the kernel may pass over, the
 * packet is read again here:
 *
 *  - three VLAN tags or more. The kernel removes them as long as they only say a priority;
 *  - IPv6 extension headers, seven or more, or Authentication Headers, which may be in front of IPv4's TCP, too;
 *  - headers beyond the first buffer, where the kernel cannot bring them there;
 *  - a Routing header with segments left: the flow is that of the last destination (RFC 8754 section 2);
 *  - fragments of IPv6: the first one need not have the TCP header.
 *
 * As long as kernel numbers equal wire numbers, a segment found so is passed, and kernel_high is raised. Afterwards it
 * is dropped: no network adds such headers, and nothing but a segment that can be read begins a stretch.
 *
 * Each header takes some 32 ns, here and in the kernel again, so the search has an end. No real packet has a third as
 * many headers, and one whose end was not reached is dropped, whosever it is, as RFC 8883 expects of nodes.
 *
 * PPPoE, MPLS and tunnels bring a packet to another interface, where xiw_socket judges it. What ESP has encrypted
 * cannot be seen here at all.
 */
#ifndef XIW_BPF_HIDDEN_H
#define XIW_BPF_HIDDEN_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <xiwarp/abi.h>
#include "base.h"
#include "handoff.h"
#include "maps.h"
#include "parse.h"
#include "window.h"

#define XIW_SEARCH_STEPS 32 /* VLAN tags, the IP header, extension headers, TCP's */

enum xiw_search_result {
	XIW_SEARCH_NONE,     /* not TCP, or not a packet that the kernel takes */
	XIW_SEARCH_SEGMENT,  /* the TCP header, or its first 8 bytes, begins at `off` */
	XIW_SEARCH_HEADLESS, /* a first fragment that ends in front of it */
	XIW_SEARCH_LONG,     /* more headers than are followed */
};

struct xiw_search {
	struct xiw_flow_key key;
	__u32 off; /* of the next header; before the IP header, of the EtherType in front of it */
	__u32 ip_end; /* of the IP packet; 0: its header is still to come */
	__u32 next;   /* protocol of the next header */
	__u32 vlan;
	__u32 fragment; /* the first one of an IPv6 packet */
	__u32 result;
};

struct xiw_search_arg {
	struct xdp_md *ctx;
	struct xiw_search *search;
};

struct xiw_tag {
	__be16 proto;
	__be16 tci; /* if `proto` is that of a tag */
};

static __always_inline long xiw_search_ip4(struct xdp_md *ctx, struct xiw_search *s)
{
	struct iphdr ip;

	if (bpf_xdp_load_bytes(ctx, s->off, &ip, sizeof(ip)) || ip.version != 4 || ip.ihl < 5 ||
	    ip.frag_off & bpf_htons(XIW_IP4_OFFSET))
		return 1;
	s->key.remote_addr[2] = s->key.local_addr[2] = bpf_htonl(0xffff);
	s->key.remote_addr[3] = ip.saddr;
	s->key.local_addr[3] = ip.daddr;
	s->ip_end = s->off + bpf_ntohs(ip.tot_len);
	s->off += ip.ihl * 4;
	s->next = ip.protocol;
	return 0;
}

static __always_inline long xiw_search_ip6(struct xdp_md *ctx, struct xiw_search *s)
{
	struct ipv6hdr ip;

	if (bpf_xdp_load_bytes(ctx, s->off, &ip, sizeof(ip)) || ip.version != 6 ||
	    xiw_is_mapped(&ip.saddr))
		return 1;
	__builtin_memcpy(s->key.remote_addr, &ip.saddr, 16);
	__builtin_memcpy(s->key.local_addr, &ip.daddr, 16);
	s->off += sizeof(ip);
	s->ip_end = s->off + bpf_ntohs(ip.payload_len);
	s->next = ip.nexthdr;
	return 0;
}

static __always_inline long xiw_search_link(struct xdp_md *ctx, struct xiw_search *s)
{
	struct xiw_tag tag;

	if (bpf_xdp_load_bytes(ctx, s->off, &tag, sizeof(tag)))
		return 1;
	s->off += sizeof(tag.proto);
	switch (tag.proto) {
	case bpf_htons(ETH_P_IP):
		return xiw_search_ip4(ctx, s);
	case bpf_htons(ETH_P_IPV6):
		return xiw_search_ip6(ctx, s);
	case bpf_htons(ETH_P_8021Q):
	case bpf_htons(ETH_P_8021AD):
		s->vlan |= bpf_ntohs(tag.tci) & XIW_VLAN_ID;
		s->off += sizeof(tag.tci);
		return 0;
	default:
		return 1;
	}
}

/* In a Routing header, the last destination is the first address, as it is the only one in that of RFC 6275. */
static __always_inline long xiw_search_route(struct xdp_md *ctx, struct xiw_search *s)
{
	return bpf_xdp_load_bytes(ctx, s->off + sizeof(struct xiw_ext_hdr), s->key.local_addr, 16);
}

static __always_inline long xiw_search_header(struct xdp_md *ctx, struct xiw_search *s)
{
	struct xiw_ext_hdr ext;

	if (s->off + sizeof(ext) > s->ip_end ||
	    bpf_xdp_load_bytes(ctx, s->off, &ext, sizeof(ext))) {
		s->result = s->fragment ? XIW_SEARCH_HEADLESS : XIW_SEARCH_NONE;
		return 1;
	}
	switch (s->next) {
	case IPPROTO_TCP:
		s->result = XIW_SEARCH_SEGMENT;
		return 1;
	case IPPROTO_FRAGMENT:
		if (*(const __be16 *)ext.data & bpf_htons(XIW_IP6_OFFSET))
			return 1;
		s->fragment = 1;
		s->off += sizeof(struct xiw_frag_hdr);
		break;
	case IPPROTO_ROUTING:
		if (ext.data[XIW_SEGMENTS_LEFT] && xiw_search_route(ctx, s))
			return 1;
		s->off += (ext.len + 1) * 8;
		break;
	case IPPROTO_HOPOPTS:
	case IPPROTO_DSTOPTS:
		s->off += (ext.len + 1) * 8;
		break;
	case IPPROTO_AH: /* RFC 4302 section 2.2 */
		s->off += (ext.len + 2) * 4;
		break;
	default:
		return 1;
	}
	s->next = ext.next;
	return 0;
}

static long xiw_search_step(__u32 i, void *p)
{
	struct xiw_search_arg *arg = p;
	struct xiw_search *s = arg->search;
	long ends = s->ip_end ? xiw_search_header(arg->ctx, s) : xiw_search_link(arg->ctx, s);

	if (!ends && i == XIW_SEARCH_STEPS - 1)
		s->result = XIW_SEARCH_LONG;
	return ends;
}

/* Global functions, so that the verifier knows nothing of the values in *s: see xiw_walk_payload(). */
__noinline int xiw_search(struct xdp_md *ctx, struct xiw_search *s)
{
	struct xiw_search_arg arg = { .ctx = ctx, .search = s };

	if (!s)
		return -1;
	bpf_loop(XIW_SEARCH_STEPS, xiw_search_step, &arg, 0);
	return 0;
}

/* What becomes of a hidden segment of a flow. The longest that it can be counts, as for fragments. */
static __always_inline __u32 xiw_hidden_segment(struct xiw_flow *flow, __u32 seq)
{
	__u64 owner, kernel_nxt;

	if (!xiw_read_owner(flow, &owner, &kernel_nxt))
		return XIW_STAT_DROP_EPOCH;
	if (xiw_owner_path(owner) == XIW_PATH_DIRECT || xiw_owner_value(owner))
		return XIW_STAT_DROP_HIDDEN;
	if (xiw_within_window(flow, seq) && !xiw_raise_high(flow, owner, seq + 0xffff))
		return XIW_STAT_DROP_EPOCH;
	return XIW_STAT_OTHER;
}

/*
 * A packet in which xiw_parse() has found no known flow, though there may be one. Returns its enum xiw_stat.
 *
 * A first fragment without the TCP header is dropped, whosever it is (RFC 8200 section 4.5, RFC 7112 section 5): the
 * header in the next one would escape.
 */
__noinline int xiw_hidden(struct xdp_md *ctx)
{
	struct xiw_search s = { .off = 2 * ETH_ALEN };
	struct xiw_flow *flow;
	__be16 tcp[4]; /* ports, sequence number */
	__u32 index, stat;

	xiw_search(ctx, &s);
	if (s.result == XIW_SEARCH_HEADLESS || s.result == XIW_SEARCH_LONG)
		return XIW_STAT_DROP_HIDDEN;
	if (s.result != XIW_SEARCH_SEGMENT || s.vlan ||
	    bpf_xdp_load_bytes(ctx, s.off, tcp, sizeof(tcp)))
		return XIW_STAT_OTHER;
	xiw_set_ports(&s.key, tcp, false);
	flow = xiw_flow_find(&s.key, &index);
	if (!flow || xiw_owner_path(XIW_READ_ONCE(flow->owner)) == XIW_PATH_NONE)
		return XIW_STAT_OTHER;
	stat = xiw_hidden_segment(flow, (__u32)bpf_ntohs(tcp[2]) << 16 | bpf_ntohs(tcp[3]));
	if (stat != XIW_STAT_OTHER)
		flow->dropped++;
	return stat;
}

#endif /* XIW_BPF_HIDDEN_H */
