/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A minimal congestion control that needs ECN like DCTCP, for kernels without DCTCP. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct sock;

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	__u32 flags;
	char name[16];
} __attribute__((preserve_access_index));

#define ANYBODYS 1 /* in other namespaces than the first, too */
#define NEEDS_ECN 2

SEC("struct_ops")
__u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	return 100;
}

SEC("struct_ops")
void BPF_PROG(dctcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
}

SEC("struct_ops")
__u32 BPF_PROG(dctcp_undo_cwnd, struct sock *sk)
{
	return 100;
}

SEC(".struct_ops")
struct tcp_congestion_ops dctcp = {
	.ssthresh = (void *)dctcp_ssthresh,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
	.flags = NEEDS_ECN | ANYBODYS,
	.name = "xiw_dctcp",
};

char LICENSE[] SEC("license") = "GPL";
