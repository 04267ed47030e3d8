/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * On the peer's ingress: drops acknowledgements of the engine. They have no data and identification 0, unlike those of
 * the kernel's socket.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

static __always_inline int drop_acks(struct __sk_buff *skb, __u32 to)
{
	struct {
		struct ethhdr eth;
		struct iphdr ip;
		struct tcphdr tcp;
	} __attribute__((packed)) h;

	if (bpf_skb_load_bytes(skb, 0, &h, sizeof(h)) || h.eth.h_proto != bpf_htons(ETH_P_IP) ||
	    h.ip.protocol != IPPROTO_TCP || h.ip.ihl != 5 || h.ip.id || h.tcp.syn ||
	    (to && h.ip.daddr != to))
		return TC_ACT_UNSPEC;
	return bpf_ntohs(h.ip.tot_len) == sizeof(h.ip) + h.tcp.doff * 4 ? TC_ACT_SHOT
									: TC_ACT_UNSPEC;
}

SEC("tc")
int deaf(struct __sk_buff *skb)
{
	return drop_acks(skb, 0);
}

/* The same for one of the peer's addresses, 10.77.0.9. */
SEC("tc")
int deaf_one(struct __sk_buff *skb)
{
	return drop_acks(skb, bpf_htonl(0x0a4d0009));
}

/* In front of xiw_egress: lets segments leave without any further filter. */
SEC("tc")
int ahead(struct __sk_buff *skb)
{
	(void)skb;
	return TC_ACT_OK;
}

/* Beside xiw_egress: sees segments, and leaves them to those behind it. */
SEC("tc")
int beside(struct __sk_buff *skb)
{
	(void)skb;
	return TC_ACT_UNSPEC;
}

/*
 * On the peer's ingress: a gateway of which two share an address on the link (VRRP, RFC 9568). It takes what goes to
 * that address, and nothing that goes to the one it sends from. Another gateway may take the address over.
 */
static __always_inline int gateway(struct __sk_buff *skb, __u8 group)
{
	__u8 dst[6];

	/* It asks for its neighbours from the one that it sends from. */
	if (skb->protocol != bpf_htons(ETH_P_IP) || bpf_skb_load_bytes(skb, 0, dst, sizeof(dst)))
		return TC_ACT_UNSPEC;
	if (dst[0] || dst[1] || dst[2] != 0x5e || dst[3] || dst[4] != 1 || dst[5] != group)
		return TC_ACT_SHOT;
	bpf_skb_change_type(skb, PACKET_HOST);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int gateway_1(struct __sk_buff *skb)
{
	return gateway(skb, 1);
}

SEC("tc")
int gateway_2(struct __sk_buff *skb)
{
	return gateway(skb, 2);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
