/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * On the sender's egress, for the data segments of a connection: holds one of them back, with all its retransmissions,
 * until it is released, so that the receiver sees segments out of order; damages one, once, and holds back its
 * retransmission; doubles each; or loses some at random. On the sender's ingress, acknowledgements wait until enough
 * segments behind the held one are out, because TCP would send no more of them once it knows of the gap.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <stddef.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct hold {
	__u32 nth;     /* which data segment with at least 100 octets to hold; 0: let all go */
	__u32 damage;  /* which one to damage; 0: none */
	__u32 doubled; /* not 0: send each twice */
	__u32 loss;    /* how many of 2^32 to lose */
	__u32 seen;    /* data segments, each once, however often it was sent */
	__u32 acted;   /* how many were held, damaged, doubled or lost */
	__u32 seq;     /* of the one held */
	__u32 bad_seq; /* of the one damaged */
	__u32 top;     /* the end of all that were seen */
	__u32 until; /* segments, before which there are no acknowledgements of any behind the one held */
};

/* The copies pass this program, too. */
#define COPY_MARK 0xd0b1

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hold);
} hold SEC(".maps");

static int lose(struct hold *ctl)
{
	ctl->acted++;
	return TC_ACT_STOLEN; /* SHOT would tell the sender's TCP */
}

/* The TCP checksum is computed behind this hook, or corrected here: TCP does not notice the damage. */
static int damage(struct __sk_buff *skb, __u32 at)
{
	__u16 was, is;
	__u32 check = sizeof(struct ethhdr) + sizeof(struct iphdr) + offsetof(struct tcphdr, check);

	at &= ~1u;
	if (bpf_skb_load_bytes(skb, at, &was, sizeof(was)))
		return TC_ACT_SHOT;
	is = was ^ bpf_htons(0x0100);
	if (bpf_skb_store_bytes(skb, at, &is, sizeof(is), 0) ||
	    bpf_l4_csum_replace(skb, check, was, is, 2))
		return TC_ACT_SHOT;
	return TC_ACT_UNSPEC;
}

SEC("tc")
int hold_back(struct __sk_buff *skb)
{
	struct {
		struct ethhdr eth;
		struct iphdr ip;
		struct tcphdr tcp;
	} __attribute__((packed)) h;
	__u32 zero = 0, len, seq, first;
	struct hold *ctl = bpf_map_lookup_elem(&hold, &zero);

	if (!ctl || skb->mark == COPY_MARK || bpf_skb_load_bytes(skb, 0, &h, sizeof(h)) ||
	    h.eth.h_proto != bpf_htons(ETH_P_IP) || h.ip.protocol != IPPROTO_TCP || h.ip.ihl != 5)
		return TC_ACT_UNSPEC;
	len = bpf_ntohs(h.ip.tot_len) - sizeof(h.ip) - h.tcp.doff * 4;
	if (len < 100)
		return TC_ACT_UNSPEC;
	seq = bpf_ntohl(h.tcp.seq);
	/* Retransmissions after a late acknowledgement are not counted. */
	first = !ctl->seen || (__s32)(seq + len - ctl->top) > 0;
	if (first) {
		ctl->seen++;
		ctl->top = seq + len;
	}
	if (first && ctl->seen == ctl->nth)
		ctl->seq = seq;
	if (ctl->nth && ctl->seen >= ctl->nth && seq == ctl->seq)
		return lose(ctl);
	if (first && ctl->seen == ctl->damage) {
		ctl->bad_seq = seq;
		ctl->acted++;
		return damage(skb, sizeof(h.eth) + bpf_ntohs(h.ip.tot_len) - 100);
	}
	if (ctl->nth && ctl->damage && ctl->seen >= ctl->damage && seq == ctl->bad_seq)
		return lose(ctl);
	if (ctl->loss && bpf_get_prandom_u32() < ctl->loss)
		return lose(ctl);
	if (ctl->doubled) {
		ctl->acted++;
		skb->mark = COPY_MARK;
		bpf_clone_redirect(skb, skb->ifindex, 0);
	}
	return TC_ACT_UNSPEC;
}

SEC("tc")
int hold_acks(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct hold *ctl = bpf_map_lookup_elem(&hold, &zero);

	if (ctl && skb->protocol == bpf_htons(ETH_P_IP) && ctl->nth && ctl->seen >= ctl->nth &&
	    ctl->seen < ctl->until)
		return TC_ACT_SHOT;
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
