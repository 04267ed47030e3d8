// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xiw_socket - the filter on a connection's socket: what reached it without passing xiw_ingress.
 *
 * A peer's segments may come by another interface than the one that has the address: two interfaces in one subnet,
 * asymmetric routes, a route that changed. While the kernel's sequence numbers are the wire's they are as good there
 * as anywhere, and plain TCP takes them: so does the socket, and what it is given counts as in xiw_ingress, so that no
 * stretch of the direct path begins elsewhere than at the end of it. Once the numbers differ they must not be taken
 * for data: they are dropped and counted, and the library finds out whether the connection can go on.
 */
#include <linux/bpf.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "maps.h"
#include "parse.h"
#include "handoff.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define XIW_AF_INET 2
#define XIW_LOOPBACK 1 /* the ifindex of lo, in every network namespace */
#define XIW_DROP 0
#define XIW_KEEP (-1) /* all octets */

/* Loads one field after the other: of a socket's address the verifier takes no arithmetic. */
#define XIW_SK(field)                                                                              \
	({                                                                                         \
		__u32 _v = sk->field;                                                              \
		xiw_opaque(_v);                                                                    \
		_v;                                                                                \
	})

/* The socket knows its addresses, IPv4's in the form ::ffff:a.b.c.d where it is one of IPv6. */
static __always_inline bool xiw_socket_key(struct __sk_buff *skb, struct xiw_flow_key *key)
{
	struct bpf_sock *sk = skb->sk;

	if (!sk)
		return false;
	if (sk->family == XIW_AF_INET) {
		key->remote_addr[2] = key->local_addr[2] = bpf_htonl(0xffff);
		key->remote_addr[3] = XIW_SK(dst_ip4);
		key->local_addr[3] = XIW_SK(src_ip4);
	} else {
		key->remote_addr[0] = XIW_SK(dst_ip6[0]);
		key->remote_addr[1] = XIW_SK(dst_ip6[1]);
		key->remote_addr[2] = XIW_SK(dst_ip6[2]);
		key->remote_addr[3] = XIW_SK(dst_ip6[3]);
		key->local_addr[0] = XIW_SK(src_ip6[0]);
		key->local_addr[1] = XIW_SK(src_ip6[1]);
		key->local_addr[2] = XIW_SK(src_ip6[2]);
		key->local_addr[3] = XIW_SK(src_ip6[3]);
	}
	key->remote_port = XIW_SK(dst_port);
	key->local_port = bpf_htons(XIW_SK(src_port));
	return true;
}

/*
 * Numbers differ. Only what begins exactly where the peer would go on says that its segments come this way: one who
 * can guess that could end the connection by a reset as well (RFC 5961 section 3.2).
 */
static __always_inline int xiw_astray(struct xiw_flow *flow, __u64 owner, __u32 seq)
{
	__u32 next = xiw_owner_path(owner) == XIW_PATH_DIRECT ? xiw_owner_value(owner)
							      : XIW_READ_ONCE(flow->acked);

	if (seq == next || seq == XIW_READ_ONCE(flow->kernel_high))
		__sync_fetch_and_add(&flow->elsewhere_segs, 1);
	return XIW_DROP;
}

/* Not by the flow's interface. `len`: octets of the segment, its header included. */
static __always_inline int xiw_elsewhere(struct xiw_flow *flow, const struct tcphdr *th, __u32 len)
{
	__u32 seq = bpf_ntohl(th->seq), hdr_len = th->doff * 4, end;
	__u64 owner, kernel_nxt;

	if (!xiw_read_owner(flow, &owner, &kernel_nxt))
		return XIW_DROP;
	if (xiw_owner_path(owner) == XIW_PATH_DIRECT || xiw_owner_skew(owner, kernel_nxt))
		return xiw_astray(flow, owner, seq);
	end = seq + (len > hdr_len ? len - hdr_len : 0) + th->fin;
	if (end != seq && xiw_within_window(flow, seq) && !xiw_raise_high(flow, owner, end))
		return XIW_DROP;
	/* A stretch may have begun meanwhile. */
	if (XIW_READ_ONCE(flow->owner) != owner)
		return XIW_DROP;
	if (xiw_acceptable(flow, seq, end))
		__sync_fetch_and_add(&flow->elsewhere_segs, 1);
	return XIW_KEEP;
}

/*
 * No SYN is taken from lo: it is the one segment that any local user can send in the peer's name (IPV6_FREEBIND takes
 * no privilege), since the answers, which go to the peer, never let his socket get beyond it.
 */
SEC("socket")
int xiw_socket(struct __sk_buff *skb)
{
	struct xiw_flow_key key = {};
	struct xiw_flow *flow;
	struct tcphdr th;
	__u32 index;

	if (bpf_skb_load_bytes(skb, 0, &th, sizeof(th)))
		return XIW_DROP;
	if (skb->ifindex == XIW_LOOPBACK && th.syn)
		return XIW_DROP;
	if (!xiw_socket_key(skb, &key))
		return XIW_DROP;
	flow = xiw_flow_find(&key, &index);
	if (skb->ifindex == XIW_LOOPBACK) {
		if (flow) /* the engine wants to know that what it injects arrives */
			__sync_fetch_and_add(&flow->lo_segs, 1);
		return XIW_KEEP;
	}
	/* Not published, or forgotten by now: nobody translates for it, and nothing is direct. */
	if (!flow || xiw_owner_path(XIW_READ_ONCE(flow->owner)) == XIW_PATH_NONE ||
	    flow->ifindex == skb->ifindex)
		return XIW_KEEP;
	return xiw_elsewhere(flow, &th, skb->len);
}
