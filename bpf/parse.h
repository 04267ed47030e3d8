/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the first octet of a packet to its TCP header: Ethernet, VLAN tags, IPv4, IPv6 with extension headers.
 *
 * Every step checks its bounds before it reads. Offsets count from the packet's first octet and are in host byte
 * order; addresses and ports stay in network byte order. Few headers are followed; hidden.h follows all.
 */
#ifndef XIW_BPF_PARSE_H
#define XIW_BPF_PARSE_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <xiwarp/abi.h>
#include "base.h"

#define XIW_MAX_VLANS 2
#define XIW_VLAN_ID 0xfff
#define XIW_MAX_EXT_HEADERS 6
/* No chain of headers that xiw_parse() follows is longer: 22 + 40 + 6 * 2048. */
#define XIW_MAX_L4_OFF 0x3fff

#define XIW_IP4_MF 0x2000
#define XIW_IP4_OFFSET 0x1fff
#define XIW_IP6_OFFSET 0xfff8

struct xiw_vlan_hdr {
	__be16 tci;
	__be16 proto;
};

struct xiw_ext_hdr { /* hop-by-hop, routing, destination options (RFC 8200 section 4) */
	__u8 next;
	__u8 len; /* in units of 8 octets, without the first 8 octets */
	__u8 data[6];
};

#define XIW_SEGMENTS_LEFT 1 /* in `data` of a Routing header (RFC 8200 section 4.4) */

struct xiw_frag_hdr {
	__u8 next;
	__u8 reserved;
	__be16 offset;
	__be32 id;
};

struct xiw_pkt {
	struct xiw_flow_key key; /* without the ports */
	__u32 l3_off;
	__u32 l4_off;
	__u32 ip_end;	/* end of the IP packet, by its own header; Ethernet padding may follow */
	__u32 vlan;	/* its VLAN; 0: none, or only a priority */
	__u32 fragment; /* 1: the first fragment of an IP packet; later ones are not recognised */
	__u32 extended; /* 1: IPv4 options or IPv6 extension headers, by which the kernel may refuse the packet */
	__u32 hides; /* 1: if no known flow was found, the packet may still be one's (hidden.h) */
};

/* Stops in front of a header that is not followed, though the kernel may pass over it. */
static __always_inline bool xiw_parse_stops(struct xiw_pkt *pkt)
{
	pkt->hides = 1;
	return false;
}

static __always_inline bool xiw_parse_ip4(void *data, void *data_end, __u32 off,
					  struct xiw_pkt *pkt, bool egress)
{
	struct iphdr *ip = data + off;
	__u16 frag;

	if ((void *)(ip + 1) > data_end)
		return xiw_parse_stops(pkt);
	if (ip->version != 4 || ip->ihl < 5)
		return false;
	if (ip->protocol != IPPROTO_TCP)
		return ip->protocol == IPPROTO_AH && xiw_parse_stops(pkt);
	frag = bpf_ntohs(ip->frag_off);
	if (frag & XIW_IP4_OFFSET)
		return false;
	pkt->fragment = !!(frag & XIW_IP4_MF);
	pkt->extended = ip->ihl > 5;
	pkt->l3_off = off;
	pkt->l4_off = off + ip->ihl * 4;
	pkt->ip_end = off + bpf_ntohs(ip->tot_len);
	pkt->key.remote_addr[2] = bpf_htonl(0xffff);
	pkt->key.remote_addr[3] = egress ? ip->daddr : ip->saddr;
	pkt->key.local_addr[2] = bpf_htonl(0xffff);
	pkt->key.local_addr[3] = egress ? ip->saddr : ip->daddr;
	return true;
}

/* ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2). */
static __always_inline bool xiw_is_mapped(const struct in6_addr *a)
{
	return !a->s6_addr32[0] && !a->s6_addr32[1] && a->s6_addr32[2] == bpf_htonl(0xffff);
}

static __always_inline bool xiw_parse_ip6(void *data, void *data_end, __u32 off,
					  struct xiw_pkt *pkt, bool egress)
{
	struct ipv6hdr *ip = data + off;
	void *nh = ip + 1;
	__u8 next;
	int i;

	/*
	 * A key holds IPv4 addresses as mapped addresses, but an IPv6 packet never belongs to an IPv4 flow. The kernel
	 * drops packets from a mapped address.
	 */
	if (nh > data_end)
		return xiw_parse_stops(pkt);
	if (ip->version != 6 || xiw_is_mapped(&ip->saddr))
		return false;
	next = ip->nexthdr;
#pragma unroll
	for (i = 0; i < XIW_MAX_EXT_HEADERS; i++) {
		struct xiw_ext_hdr *ext = nh;
		struct xiw_frag_hdr *frag = nh;
		__u32 len;

		if (next == IPPROTO_TCP)
			break;
		if ((void *)(ext + 1) > data_end)
			return xiw_parse_stops(pkt);
		if (next == IPPROTO_FRAGMENT) {
			if (frag->offset & bpf_htons(XIW_IP6_OFFSET))
				return false;
			pkt->fragment = 1;
			pkt->hides = 1;
			len = sizeof(*frag);
		} else if (next == IPPROTO_HOPOPTS || next == IPPROTO_DSTOPTS ||
			   (next == IPPROTO_ROUTING && !ext->data[XIW_SEGMENTS_LEFT])) {
			len = ((__u32)ext->len + 1) * 8;
		} else {
			return (next == IPPROTO_ROUTING || next == IPPROTO_AH) &&
			       xiw_parse_stops(pkt);
		}
		next = ext->next;
		nh += len;
	}
	if (next != IPPROTO_TCP)
		return xiw_parse_stops(pkt);
	pkt->extended = ip->nexthdr != IPPROTO_TCP;
	pkt->l3_off = off;
	/*
	 * The verifier knows nothing about a difference of pointers, so all paths through the chain look the same to
	 * it from here on.
	 */
	pkt->l4_off = nh - data;
	pkt->ip_end = off + sizeof(*ip) + bpf_ntohs(ip->payload_len);
	__builtin_memcpy(pkt->key.remote_addr, egress ? &ip->daddr : &ip->saddr, 16);
	__builtin_memcpy(pkt->key.local_addr, egress ? &ip->saddr : &ip->daddr, 16);
	return true;
}

/*
 * Find the TCP header of an Ethernet frame. Returns false if there is none (not TCP, or a later fragment), or if it is
 * not found: pkt->hides says so. `pkt` must be zeroed. The caller reads the ports, which may lie beyond the linear
 * part.
 */
static __always_inline bool xiw_parse(void *data, void *data_end, struct xiw_pkt *pkt, bool egress)
{
	struct ethhdr *eth = data;
	struct xiw_vlan_hdr *vlan;
	__u32 off = sizeof(*eth);
	__be16 proto;
	int i;

	if ((void *)(eth + 1) > data_end)
		return xiw_parse_stops(pkt);
	proto = eth->h_proto;
#pragma unroll
	for (i = 0; i < XIW_MAX_VLANS; i++) {
		if (proto != bpf_htons(ETH_P_8021Q) && proto != bpf_htons(ETH_P_8021AD))
			break;
		vlan = data + off;
		if ((void *)(vlan + 1) > data_end)
			return xiw_parse_stops(pkt);
		proto = vlan->proto;
		pkt->vlan |= bpf_ntohs(vlan->tci) & XIW_VLAN_ID;
		off += sizeof(*vlan);
	}
	if (proto == bpf_htons(ETH_P_IP))
		return xiw_parse_ip4(data, data_end, off, pkt, egress);
	if (proto == bpf_htons(ETH_P_IPV6))
		return xiw_parse_ip6(data, data_end, off, pkt, egress);
	return (proto == bpf_htons(ETH_P_8021Q) || proto == bpf_htons(ETH_P_8021AD)) &&
	       xiw_parse_stops(pkt);
}

/* `ports` are as in the TCP header: source, then destination. */
static __always_inline void xiw_set_ports(struct xiw_flow_key *key, const __be16 ports[2],
					  bool egress)
{
	key->remote_port = ports[egress];
	key->local_port = ports[!egress];
}

#endif /* XIW_BPF_PARSE_H */
