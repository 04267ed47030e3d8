/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The least that XDP can do for a receiver in user space: every frame goes to the AF_XDP socket of queue 0. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} floor_socket SEC(".maps");

SEC("xdp.frags")
int floor_all(struct xdp_md *ctx)
{
	return bpf_redirect_map(&floor_socket, 0, XDP_DROP);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
