/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `around`, on the sender's egress: TCP packets of so many bytes or more take another wire. `behind`, at its other end:
 * redirects them to the receiver's interface, behind XDP, as a driver does that passes by XDP what hardware has joined.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u32);
} around_by SEC(
	".maps"); /* the least number of bytes, or 0 for none; the other wire's interface; the receiver's */

SEC("tc")
int around(struct __sk_buff *skb)
{
	struct {
		struct ethhdr eth;
		struct iphdr ip;
	} __attribute__((packed)) h;
	__u32 zero = 0, one = 1, *least, *ifindex;

	least = bpf_map_lookup_elem(&around_by, &zero);
	ifindex = bpf_map_lookup_elem(&around_by, &one);
	if (!least || !ifindex || !*least || skb->len < *least ||
	    bpf_skb_load_bytes(skb, 0, &h, sizeof(h)) || h.eth.h_proto != bpf_htons(ETH_P_IP) ||
	    h.ip.protocol != IPPROTO_TCP)
		return TC_ACT_UNSPEC;
	return (int)bpf_redirect(*ifindex, 0);
}

SEC("tc")
int behind(struct __sk_buff *skb)
{
	__u32 two = 2, *ifindex = bpf_map_lookup_elem(&around_by, &two);

	(void)skb;
	return ifindex ? (int)bpf_redirect(*ifindex, BPF_F_INGRESS) : TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
