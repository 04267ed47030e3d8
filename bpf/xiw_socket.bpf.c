// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xiw_socket - the filter on a connection's socket, for segments that reach it without having passed xiw_ingress.
 *
 * A peer's segments may come by another interface than the one that has the address: two interfaces in one subnet,
 * asymmetric routes, a route that changed. As long as kernel numbers equal wire numbers (skew 0), the socket accepts
 * such segments like plain TCP, and they raise kernel_high as in xiw_ingress, so that a stretch begins behind them.
 * Once the numbers differ, the segments must not be taken for data: they are dropped and counted, and the library
 * finds out whether the connection can go on.
 */
#include <linux/bpf.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "base.h"
#include "maps.h"
#include "handoff.h"
#include "window.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define XIW_AF_INET 2
#define XIW_LOOPBACK 1 /* ifindex of lo in every network namespace */
#define XIW_DROP 0
#define XIW_KEEP (-1) /* all octets */

/* Load one field at a time: the verifier allows no arithmetic on a pointer to a socket. */
#define XIW_SK(field)                                                                              \
	({                                                                                         \
		__u32 _v = sk->field;                                                              \
		xiw_opaque(_v);                                                                    \
		_v;                                                                                \
	})

/* The flow's key, from the socket. An IPv6 socket holds IPv4 addresses as ::ffff:a.b.c.d already. */
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
 * Drop a segment whose kernel and wire numbers differ. It counts as the peer's only if it begins exactly where the
 * peer would go on. An attacker who can guess that number could also end the connection with an RST (RFC 5961
 * section 3.2).
 */
static __always_inline int xiw_astray(struct xiw_flow *flow, __u64 owner, __u32 seq)
{
	__u32 next = xiw_owner_path(owner) == XIW_PATH_DIRECT ? xiw_owner_value(owner)
							      : XIW_READ_ONCE(flow->acked);

	if (seq == next || seq == XIW_READ_ONCE(flow->kernel_high))
		__sync_fetch_and_add(&flow->elsewhere_segs, 1);
	return XIW_DROP;
}

/*
 * A segment that came by another interface than the flow's. `len` is its length, with the TCP header; TCP has checked
 * that all of the header is there.
 */
static __always_inline int xiw_elsewhere(struct xiw_flow *flow, const struct tcphdr *th, __u32 len)
{
	__u32 seq = bpf_ntohl(th->seq), hdr_len = th->doff * 4, end;
	__u64 owner, kernel_nxt;

	if (!xiw_read_owner(flow, &owner, &kernel_nxt))
		return XIW_DROP;
	if (xiw_owner_path(owner) == XIW_PATH_DIRECT || xiw_owner_skew(owner, kernel_nxt))
		return xiw_astray(flow, owner, seq);
	end = seq + len - hdr_len + th->fin;
	if (end != seq && xiw_within_window(flow, seq) && !xiw_raise_high(flow, owner, end))
		return XIW_DROP;
	/* DIRECT may have begun meanwhile. */
	if (XIW_READ_ONCE(flow->owner) != owner)
		return XIW_DROP;
	if (xiw_acceptable(flow, seq, end))
		__sync_fetch_and_add(&flow->elsewhere_segs, 1);
	return XIW_KEEP;
}

/*
 * A SYN from lo is dropped. Any local user can send one in the peer's name, because IPV6_FREEBIND needs no privilege.
 * Other segments they cannot send: the answer to the SYN goes to the peer, so their socket never gets beyond it.
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
		if (flow) /* tells the engine that its injections arrive */
			__sync_fetch_and_add(&flow->lo_segs, 1);
		return XIW_KEEP;
	}
	/* The flow is not published, or not any more: its numbers are not translated, and it is not in DIRECT. */
	if (!flow || xiw_owner_path(XIW_READ_ONCE(flow->owner)) == XIW_PATH_NONE ||
	    flow->ifindex == skb->ifindex)
		return XIW_KEEP;
	return xiw_elsewhere(flow, &th, skb->len);
}
