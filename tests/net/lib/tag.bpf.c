/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* On egress: everything leaves with the tag of VLAN 7. Whether it lies in the frame depends on `txvlan`. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

SEC("tc")
int tag(struct __sk_buff *skb)
{
	return bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), 7) ? TC_ACT_SHOT : TC_ACT_OK;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
