/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The middle of the fair wire: every frame that comes in by one port leaves by the other, as an
 * xdp_frame, as a NIC's driver would hand it to the receiver. A frame given by a plain veth pair is an skb
 * instead, which the receiver's XDP hook must first copy: a cost that no NIC has.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* Ingress ifindex -> the other port. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct bpf_devmap_val);
} wire_ports SEC(".maps");

/* What went through, both ways together. */
struct wire_count {
	__u64 frames;
	__u64 octets;
	__u64 lost; /* no port on the other side */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_count);
} wire_counts SEC(".maps");

/* Fragments: at MTU 9000 a frame does not fit in one page (Linux 5.18). */
SEC("xdp.frags")
int wire_cross(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct wire_count *count = bpf_map_lookup_elem(&wire_counts, &zero);
	int action = bpf_redirect_map(&wire_ports, ctx->ingress_ifindex, XDP_DROP);

	if (!count)
		return XDP_ABORTED;
	if (action == XDP_REDIRECT) {
		count->frames++;
		count->octets += bpf_xdp_get_buff_len(ctx);
	} else {
		count->lost++;
	}
	return action;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
