/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loses segments on the wire (impair_cross), or sends them late on the sender's egress (impair_egress). Which ones
 * follows from a seed alone: two runs with one seed lose the same ones, by number, whoever receives. Segments with less
 * than IMPAIR_LEAST octets, which open or end a connection, always pass.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define IMPAIR_LEAST 1000
#define FRAME_MAX 2047

struct impair {
	__u32 seed;
	__u32 lose, delay; /* how many of 2^32 */
	__u32 depth;	   /* how many segments overtake one that is late */
	__u32 seen, lost, delayed;
	__u32 left; /* how many are still to overtake it; 0: none is late */
	__u32 len;
	__u8 frame[FRAME_MAX + 1];
};

/* The segment that overtakes passes this program twice. */
#define PASS_MARK 0xd0b1

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct impair);
} impair SEC(".maps");

struct headers {
	struct ethhdr eth;
	struct iphdr ip;
	struct tcphdr tcp;
} __attribute__((packed));

static int counts(const struct headers *h)
{
	return h->eth.h_proto == bpf_htons(ETH_P_IP) && h->ip.protocol == IPPROTO_TCP &&
	       h->ip.ihl == 5 &&
	       bpf_ntohs(h->ip.tot_len) >= sizeof(h->ip) + h->tcp.doff * 4 + IMPAIR_LEAST;
}

/* The finalizer of SplitMix32: every bit of the result depends on every bit of the argument. */
static __u32 mix(__u32 x)
{
	x = (x ^ x >> 16) * 0x21f0aaad;
	x = (x ^ x >> 15) * 0x735a2d97;
	return x ^ x >> 15;
}

static int hold_back(struct __sk_buff *skb, struct impair *s)
{
	__u32 len = skb->len & FRAME_MAX;

	if (!len || bpf_skb_load_bytes(skb, 0, s->frame, len))
		return TC_ACT_UNSPEC;
	s->len = len;
	s->left = s->depth;
	s->delayed++;
	return TC_ACT_STOLEN; /* SHOT would tell the sender's TCP */
}

/* A copy of this segment goes ahead, and it becomes the one that is late. */
static int let_go(struct __sk_buff *skb, struct impair *s)
{
	__u32 len = s->len & FRAME_MAX;

	skb->mark = PASS_MARK;
	if (!len || bpf_clone_redirect(skb, skb->ifindex, 0) || bpf_skb_change_tail(skb, len, 0) ||
	    bpf_skb_store_bytes(skb, 0, s->frame, len, 0))
		return TC_ACT_SHOT;
	return TC_ACT_UNSPEC;
}

static __u32 draw(struct impair *s)
{
	return mix(s->seed + s->seen++ * 0x9e3779b9);
}

/* Each segment must be a packet of its own here. */
SEC("tc")
int impair_egress(struct __sk_buff *skb)
{
	__u32 zero = 0, lot;
	struct impair *s = bpf_map_lookup_elem(&impair, &zero);
	struct headers h;

	if (!s || !s->delay || skb->mark == PASS_MARK || skb->len > FRAME_MAX ||
	    bpf_skb_load_bytes(skb, 0, &h, sizeof(h)) || !counts(&h))
		return TC_ACT_UNSPEC;
	lot = draw(s);
	if (s->left)
		return --s->left ? TC_ACT_UNSPEC : let_go(skb, s);
	return lot < s->delay ? hold_back(skb, s) : TC_ACT_UNSPEC;
}

/* In place of wire_cross on the port at the sender. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_devmap_val);
} impair_ports SEC(".maps");

SEC("xdp.frags")
int impair_cross(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct impair *s = bpf_map_lookup_elem(&impair, &zero);
	struct headers h;

	if (s && s->lose && !bpf_xdp_load_bytes(ctx, 0, &h, sizeof(h)) && counts(&h) &&
	    draw(s) < s->lose) {
		s->lost++;
		return XDP_DROP;
	}
	return bpf_redirect_map(&impair_ports, ctx->ingress_ifindex, XDP_DROP);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
