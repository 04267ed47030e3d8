/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hand-off: reading the owner word, the transitions that XDP makes, and kernel_high, the highest wire sequence
 * number that the kernel socket was given. <xiwarp/abi.h> defines the owner word.
 *
 * A stretch is the time from ARMED -> DIRECT to the next DIRECT -> KERNEL. S is the wire sequence number where it
 * begins; K is the same octet's number in the kernel socket, which stands there throughout the stretch.
 */
#ifndef XIW_BPF_HANDOFF_H
#define XIW_BPF_HANDOFF_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <xiwarp/abi.h>
#include "base.h"

/*
 * Read an owner word and a K that belong together. Returns false if a transition is under way: drop the packet.
 *
 * K translates in DIRECT only. It carries the epoch of its stretch, because K and the owner word disagree between the
 * two swaps that begin a stretch. A commit may change the owner word's value between the two reads of it; the newer
 * value is used. The compiler and x86 keep the order of these loads. Another CPU may not; the epoch then still
 * prevents the K of one stretch from being taken for that of another.
 */
static __always_inline bool xiw_read_owner(struct xiw_flow *flow, __u64 *owner, __u64 *kernel_nxt)
{
	__u64 first = XIW_READ_ONCE(flow->owner);

	*kernel_nxt = XIW_READ_ONCE(flow->kernel_nxt);
	*owner = XIW_READ_ONCE(flow->owner);
	return (__u32)first == (__u32)*owner && /* epoch and path */
	       xiw_kernel_nxt_valid(*kernel_nxt, *owner);
}

static __always_inline bool xiw_swap_owner(struct xiw_flow *flow, __u64 from, __u64 to)
{
	return __sync_val_compare_and_swap(&flow->owner, from, to) == from;
}

/* The word one transition after `owner`. */
static __always_inline __u64 xiw_next_owner(__u64 owner, __u32 value, __u32 path)
{
	return xiw_owner_pack(value, xiw_owner_epoch(owner) + 1, path);
}

static __always_inline void xiw_count_reason(struct xiw_flow *flow, __u32 reason)
{
	__sync_fetch_and_add(&flow->reasons[reason & (XIW_REASON_MAX - 1)], 1);
}

/*
 * Note that the kernel socket is about to be given octets up to `end`. Returns false if ownership moved, or if other
 * CPUs were faster in every try: drop the packet.
 *
 * Two CPUs may see segments of one flow at the same time. This function and xiw_go_direct() each write first and
 * then read what the other one writes:
 *
 *     here:          raise kernel_high; full barrier; read owner
 *     xiw_go_direct: swap owner;        full barrier; read kernel_high
 *
 * At least one of them sees the other's write. Either this packet is dropped or going direct is called off, so
 * DIRECT never begins while the kernel holds octets beyond S. The compare-and-swap is the full barrier. It is
 * therefore made even if the number is high enough already: a CPU that reorders loads (ARM64) could otherwise read
 * the owner word first.
 */
static __always_inline bool xiw_raise_high(struct xiw_flow *flow, __u64 owner, __u32 end)
{
	int i;

#pragma unroll
	for (i = 0; i < XIW_CAS_TRIES; i++) {
		__u32 old = XIW_READ_ONCE(flow->kernel_high),
		      to = xiw_seq_leq(end, old) ? old : end;

		if (__sync_val_compare_and_swap(&flow->kernel_high, old, to) == old)
			return (__u32)XIW_READ_ONCE(flow->owner) == (__u32)owner;
	}
	return false;
}

/*
 * ARMED -> DIRECT at S = `seq`, which is the end of all that the kernel was given. Returns false if ownership moved
 * or if the kernel got octets beyond S meanwhile: drop the packet. See xiw_raise_high() for the order of the swaps.
 *
 * K is claimed first, for the epoch to come; a CPU that finds it claimed comes too late. `before` is the K that was
 * read together with `owner`. A value read here instead could be the K of a later stretch, begun while this CPU stood
 * still (a virtual CPU may stand still for milliseconds), and that K would be overwritten.
 */
static __always_inline bool xiw_go_direct(struct xiw_flow *flow, __u64 owner, __u64 before,
					  __u32 seq)
{
	__u32 skew = xiw_owner_value(owner);
	__u64 direct = xiw_next_owner(owner, seq, XIW_PATH_DIRECT);
	__u64 k = xiw_kernel_nxt_pack(seq - skew, xiw_owner_epoch(direct));

	if ((__u32)before == (__u32)k ||
	    __sync_val_compare_and_swap(&flow->kernel_nxt, before, k) != before)
		return false;
	if (!xiw_swap_owner(flow, owner, direct))
		return false;
	if (XIW_READ_ONCE(flow->kernel_high) == seq)
		return true;
	/* If this swap fails, the library has already taken the flow back. */
	if (xiw_swap_owner(flow, direct, xiw_next_owner(direct, skew, XIW_PATH_KERNEL)))
		xiw_count_reason(flow, XIW_REASON_RACE);
	return false;
}

/*
 * DIRECT -> KERNEL. Returns the new owner word, or 0 if ownership moved: drop the packet then.
 *
 * The socket goes on at rcv_nxt, so kernel_high must be there before the swap: an older value would be taken for S.
 */
static __always_inline __u64 xiw_to_kernel(struct xiw_flow *flow, __u64 owner, __u32 skew,
					   __u32 reason)
{
	__u64 kernel = xiw_next_owner(owner, skew, XIW_PATH_KERNEL);

	if (!xiw_raise_high(flow, owner, xiw_owner_value(owner)) ||
	    !xiw_swap_owner(flow, owner, kernel))
		return 0;
	xiw_count_reason(flow, reason);
	return kernel;
}

/* ARMED -> KERNEL, with the same skew. Returns the new owner word, or 0 if ownership moved: drop the packet then. */
static __always_inline __u64 xiw_disarm(struct xiw_flow *flow, __u64 owner, __u32 reason)
{
	__u64 kernel = xiw_next_owner(owner, xiw_owner_value(owner), XIW_PATH_KERNEL);

	if (!xiw_swap_owner(flow, owner, kernel))
		return 0;
	xiw_count_reason(flow, reason);
	return kernel;
}

#endif /* XIW_BPF_HANDOFF_H */
