// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xiw_socket - the filter on a connection's socket, for segments that reach it without having passed xiw_ingress.
 *
 * A peer's segments may come by another interface than the one that has the address: two interfaces in one subnet,
 * asymmetric routes, a route that changed. Or they come by that interface, and XDP does not see them: a driver joins
 * packets (LRO), or a tc filter redirects packets to the interface.
 *
 * As long as kernel numbers equal wire numbers (skew 0), the socket accepts
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

/* A segment that TCP is about to look at; `end` is behind its last octet or FIN. */
struct xiw_arrival {
	struct xiw_flow *flow;
	__u64 owner, kernel_nxt;
	__u32 seq, end;
	bool ours; /* came by the flow's interface */
};

static __always_inline void xiw_count_around(const struct xiw_arrival *a)
{
	if (a->ours)
		__sync_fetch_and_add(&a->flow->bypass_segs, 1);
	else
		__sync_fetch_and_add(&a->flow->elsewhere_segs, 1);
}

/*
 * Has xiw_ingress passed the segment, which came by the flow's interface? It raises kernel_high before it passes data.
 * In a long stretch kernel_high lags, but what was passed before the stretch ends at K.
 */
static __always_inline bool xiw_was_passed(const struct xiw_arrival *a)
{
	__u32 skew = xiw_owner_skew(a->owner, a->kernel_nxt);

	return xiw_seq_leq(a->end + skew, XIW_READ_ONCE(a->flow->kernel_high)) ||
	       (xiw_owner_path(a->owner) == XIW_PATH_DIRECT &&
		xiw_seq_leq(a->end, a->kernel_nxt >> 32));
}

/*
 * Drop a segment whose kernel and wire numbers differ. It counts as the peer's only if it begins exactly where the
 * peer would go on. An attacker who can guess that number could also end the connection with an RST (RFC 5961
 * section 3.2).
 *
 * xiw_ingress passes what is beyond the window without a note. The socket does not take that, and acknowledges.
 */
static __always_inline int xiw_astray(const struct xiw_arrival *a)
{
	bool direct = xiw_owner_path(a->owner) == XIW_PATH_DIRECT;
	__u32 next = direct ? xiw_owner_value(a->owner) : XIW_READ_ONCE(a->flow->acked);

	if (a->seq == next || a->seq == XIW_READ_ONCE(a->flow->kernel_high))
		xiw_count_around(a);
	return a->ours && !direct && !xiw_seq_leq(a->seq, XIW_READ_ONCE(a->flow->socket_edge))
		       ? XIW_KEEP
		       : XIW_DROP;
}

/*
 * Would xiw_ingress have noted the segment, had it seen all of it? It notes what is within the windows that xiw_egress
 * has seen, and packets may be joined since (GRO). Segments that passed it before the flow was published are no
 * evidence of anything: the first that it sees is behind them.
 */
static __always_inline bool xiw_is_evidence(const struct xiw_arrival *a)
{
	const struct xiw_flow *flow = a->flow;

	return xiw_within_window(flow, a->end) &&
	       (XIW_READ_ONCE(flow->control_segs) | XIW_READ_ONCE(flow->kernel_segs) |
		XIW_READ_ONCE(flow->direct_segs));
}

/* A segment that has not passed xiw_ingress. */
static __always_inline int xiw_around(const struct xiw_arrival *a)
{
	struct xiw_flow *flow = a->flow;

	if (xiw_owner_path(a->owner) == XIW_PATH_DIRECT || xiw_owner_skew(a->owner, a->kernel_nxt))
		return xiw_astray(a);
	if (a->end != a->seq && xiw_within_window(flow, a->seq) &&
	    !xiw_raise_high(flow, a->owner, a->end))
		return XIW_DROP;
	/* DIRECT may have begun meanwhile. */
	if (XIW_READ_ONCE(flow->owner) != a->owner)
		return XIW_DROP;
	if (xiw_acceptable(flow, a->seq, a->end) && (!a->ours || xiw_is_evidence(a)))
		xiw_count_around(a);
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
	struct xiw_arrival a = {};
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
	if (!flow || xiw_owner_path(XIW_READ_ONCE(flow->owner)) == XIW_PATH_NONE)
		return XIW_KEEP;
	a.flow = flow;
	a.ours = flow->ifindex == skb->ifindex;
	/* TCP has checked that all of the header is there. */
	a.seq = bpf_ntohl(th.seq);
	a.end = a.seq + skb->len - th.doff * 4 + th.fin;
	if (a.ours && (a.end == a.seq || th.syn))
		return XIW_KEEP;
	if (!xiw_read_owner(flow, &a.owner, &a.kernel_nxt))
		return XIW_DROP;
	if (a.ours && xiw_was_passed(&a))
		return XIW_KEEP;
	return xiw_around(&a);
}
