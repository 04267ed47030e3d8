/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The straight line for the segment that most packets are: it continues a stretch of a flow that its queue has had
 * before.
 *
 * The queue remembers some stretches, each as one word with slot, epoch and path. A word is right if the slot is still
 * in that epoch, which is new with each transition and with each connection, and if the slot has the packet's addresses
 * and ports. So no look-up in xiw_flow_index is needed, and no word is ever too old: one that does not fit is passed
 * over.
 *
 * Here only segments go on that xiw_segment() would give to xiw_direct_data(), with the same values. All other packets
 * are left to it, and nothing has been changed.
 */
#ifndef XIW_BPF_STRAIGHT_H
#define XIW_BPF_STRAIGHT_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <xiwarp/abi.h>
#include "base.h"
#include "handoff.h"
#include "maps.h"
#include "parse.h"
#include "segment.h"

/* Ethernet, IPv6, and TCP with all options. */
#define XIW_STRAIGHT_HEADERS (14 + 40 + 60)

/* CWR, URG, RST, SYN, FIN (RFC 9293 section 3.1). */
#define XIW_NOT_PLAIN 0xa7

/* Which of a queue's words is for a flow. Its ports decide, without the lowest bit, which Linux prefers to be 0. */
static __always_inline __u64 *xiw_remembered(struct xiw_queue *queue, __be16 remote, __be16 local)
{
	return &queue->direct[(bpf_ntohs(remote) + bpf_ntohs(local)) / 2 % XIW_QUEUE_FLOWS];
}

/* Remembers the stretch, which was found by the index. */
static __always_inline void xiw_remember(const struct xiw_seg *s)
{
	if (s->queue)
		XIW_WRITE_ONCE(*xiw_remembered(s->queue, s->flow->key.remote_port,
					       s->flow->key.local_port),
			       (__u64)s->index << 32 | (__u32)s->owner);
}

static __always_inline bool xiw_same_addr(const __be32 a[4], const __be32 b[4])
{
	return !((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]));
}

/* Source and destination, which lie side by side, are the remote and the local port of the key. */
static __always_inline bool xiw_same_ports(const struct tcphdr *th, const struct xiw_flow_key *key)
{
	const __u8 *ports =
		(const __u8 *)key + __builtin_offsetof(struct xiw_flow_key, remote_port);

	return *(const __u32 *)(const void *)th == *(const __u32 *)(const void *)ports;
}

/* What differs between the address and one of a key, which is ::ffff:a.b.c.d. */
static __always_inline __u64 xiw_ip4_differs(__be32 a, const __be32 key[4])
{
	return *(const __u64 *)(const void *)key | (bpf_htonl(0xffff) ^ key[2]) | (a ^ key[3]);
}

/* Finds the flow that the word is of, and reads its owner word and K. False: the stretch is over. */
static __always_inline bool xiw_recall(struct xiw_seg *s, __u64 word)
{
	__u32 index = word >> 32;

	if ((__u8)word != XIW_PATH_DIRECT)
		return false;
	s->index = index;
	s->flow = bpf_map_lookup_elem(&xiw_flows, &index);
	return s->flow && xiw_read_owner(s->flow, &s->owner, &s->kernel_nxt) &&
	       (__u32)s->owner == (__u32)word;
}

/* An IPv4 header without options, in front of a whole segment of the flow. Returns where the packet ends, or 0. */
static __always_inline __u32 xiw_straight_ip4(const struct iphdr *ip,
					      const struct xiw_flow_key *key)
{
	if (*(const __u8 *)ip != 0x45 || ip->protocol != IPPROTO_TCP ||
	    ip->frag_off & bpf_htons(XIW_IP4_MF | XIW_IP4_OFFSET) ||
	    xiw_ip4_differs(ip->saddr, key->remote_addr) |
		    xiw_ip4_differs(ip->daddr, key->local_addr))
		return 0;
	return sizeof(struct ethhdr) + bpf_ntohs(ip->tot_len);
}

/* The same for an IPv6 header without extensions. */
static __always_inline __u32 xiw_straight_ip6(const struct ipv6hdr *ip,
					      const struct xiw_flow_key *key)
{
	if (ip->version != 6 || ip->nexthdr != IPPROTO_TCP || xiw_is_mapped(&ip->saddr) ||
	    !xiw_same_addr(ip->saddr.s6_addr32, key->remote_addr) ||
	    !xiw_same_addr(ip->daddr.s6_addr32, key->local_addr))
		return 0;
	return sizeof(struct ethhdr) + sizeof(*ip) + bpf_ntohs(ip->payload_len);
}

/* Reads a segment whose packet ends at `ip_end`. False: it is more than data, or the lengths are wrong. */
static __always_inline bool xiw_straight_tcp(struct xiw_seg *s, const struct tcphdr *th,
					     __u32 ip_end)
{
	__u32 linear = s->ctx->data_end - s->ctx->data, hdr_len = th->doff * 4;

	if (hdr_len < sizeof(*th) || ((const __u8 *)th)[XIW_TCP_FLAGS_OFF] & XIW_NOT_PLAIN ||
	    s->l4_off + hdr_len >= ip_end)
		return false;
	s->hdr_len = hdr_len;
	s->len = ip_end - s->l4_off - hdr_len;
	s->seq = bpf_ntohl(th->seq);
	return xiw_whole(s, linear, ip_end);
}

/* Does the packet continue a stretch that its queue remembers? Then *s is as xiw_direct_data() needs it. */
static __always_inline bool xiw_straight(struct xiw_seg *s)
{
	void *data = (void *)(long)s->ctx->data, *ip = data + sizeof(struct ethhdr);
	struct tcphdr *th;
	__u32 ip_end;
	__be16 proto;

	if (data + XIW_STRAIGHT_HEADERS > (void *)(long)s->ctx->data_end || !s->queue)
		return false;
	proto = *(__be16 *)(ip - sizeof(proto));
	s->l3_off = sizeof(struct ethhdr);
	s->l4_off = s->l3_off +
		    (proto == bpf_htons(ETH_P_IP) ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
	th = data + s->l4_off;
	if (!xiw_recall(s, XIW_READ_ONCE(*xiw_remembered(s->queue, th->source, th->dest))) ||
	    !xiw_same_ports(th, &s->flow->key))
		return false;
	ip_end = proto == bpf_htons(ETH_P_IP)	  ? xiw_straight_ip4(ip, &s->flow->key)
		 : proto == bpf_htons(ETH_P_IPV6) ? xiw_straight_ip6(ip, &s->flow->key)
						  : 0;
	return ip_end && (xiw_same_mac(data, s->flow->mac) || !xiw_foreign(s->ctx, s->flow)) &&
	       xiw_straight_tcp(s, th, ip_end);
}

#endif /* XIW_BPF_STRAIGHT_H */
