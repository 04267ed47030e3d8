/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * On the peer's ingress: drops acknowledgements of the engine. They have no data and identification 0, unlike those of
 * the kernel's socket.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

SEC("tc")
int deaf(struct __sk_buff *skb)
{
	struct {
		struct ethhdr eth;
		struct iphdr ip;
		struct tcphdr tcp;
	} __attribute__((packed)) h;

	if (bpf_skb_load_bytes(skb, 0, &h, sizeof(h)) || h.eth.h_proto != bpf_htons(ETH_P_IP) ||
	    h.ip.protocol != IPPROTO_TCP || h.ip.ihl != 5 || h.ip.id || h.tcp.syn)
		return TC_ACT_UNSPEC;
	return bpf_ntohs(h.ip.tot_len) == sizeof(h.ip) + h.tcp.doff * 4 ? TC_ACT_SHOT
									: TC_ACT_UNSPEC;
}

/* In front of xiw_egress: lets segments leave without any further filter. */
SEC("tc")
int ahead(struct __sk_buff *skb)
{
	(void)skb;
	return TC_ACT_OK;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
