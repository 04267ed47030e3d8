/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * On the sender's egress: which queue a TCP segment takes, by its source port. The kernel passes a recorded queue on to
 * the transmit queue of the same number, and veth to the peer's receive queue.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define PORTS 64

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PORTS);
	__type(key, __u32);
	__type(value, __u32);
} queue_of SEC(".maps"); /* source port modulo PORTS to 1 + queue; 0: left to the kernel */

SEC("tc")
int steer(struct __sk_buff *skb)
{
	struct {
		struct ethhdr eth;
		struct iphdr ip;
		struct tcphdr tcp;
	} __attribute__((packed)) h;
	__u32 port, *queue;

	if (bpf_skb_load_bytes(skb, 0, &h, sizeof(h)) || h.eth.h_proto != bpf_htons(ETH_P_IP) ||
	    h.ip.protocol != IPPROTO_TCP || h.ip.ihl != 5)
		return TC_ACT_UNSPEC;
	port = bpf_ntohs(h.tcp.source) % PORTS;
	queue = bpf_map_lookup_elem(&queue_of, &port);
	if (queue && *queue)
		skb->queue_mapping = *queue;
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
