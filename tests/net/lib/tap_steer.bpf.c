/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which queue of a tap device a packet takes: by the source port of TCP, as a NIC does by its filters. Without a
 * program, tap takes the queue by which the other side last sent a packet of the same connection.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

const volatile __u32 queue_of[8]; /* of the source port modulo 8 */

SEC("socket")
int steer(struct __sk_buff *skb)
{
	__u32 at = sizeof(struct ethhdr);
	__be16 port;

	if (skb->protocol == bpf_htons(ETH_P_IP))
		at += sizeof(struct iphdr);
	else if (skb->protocol == bpf_htons(ETH_P_IPV6))
		at += sizeof(struct ipv6hdr);
	else
		return 0;
	if (bpf_skb_load_bytes(skb, at, &port, sizeof(port)))
		return 0;
	return (int)queue_of[bpf_ntohs(port) % 8];
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
