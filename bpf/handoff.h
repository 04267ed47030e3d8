/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hand-off as the BPF programs see it: reading the owner word, changing it, and the two
 * fields that say what the kernel socket has been given.
 */
#ifndef XIW_BPF_HANDOFF_H
#define XIW_BPF_HANDOFF_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <xiwarp/abi.h>
#include "maps.h"

#ifndef XIW_READ_ONCE /* the tests that run this as a part of a process watch it */
#define XIW_READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define XIW_WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))
#endif

/* A number that lags by more octets than this is brought up; see xiw_refresh(). */
#define XIW_MAX_LAG (1 << 28)
#define XIW_CAS_TRIES 4

/* Signed difference modulo 2^32: is `a` behind or at `b`? */
static __always_inline bool xiw_seq_leq(__u32 a, __u32 b)
{
	return (__s32)(a - b) <= 0;
}

/*
 * The key names both ends as seen from the wire. NULL: unknown, or not published. An unpublished
 * slot must look unknown: its other fields may be half written.
 */
static __always_inline struct xiw_flow *xiw_flow_find(const struct xiw_flow_key *key, __u32 *index)
{
	__u32 *at = bpf_map_lookup_elem(&xiw_flow_index, key);

	if (!at)
		return NULL;
	*index = *at;
	return bpf_map_lookup_elem(&xiw_flows, index);
}

/*
 * Owner word and K that belong together. K counts in DIRECT only, and carries the epoch of its stretch:
 * between the two swaps that begin one they disagree. A commit may move the owner's value in between: the
 * newer one is taken. Volatile loads keep their order in the compiler and on x86. Elsewhere the CPU may swap them:
 * by its epoch no K passes for another's.
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

static __always_inline void xiw_why(struct xiw_flow *flow, __u32 reason)
{
	__sync_fetch_and_add(&flow->why[reason & (XIW_WHY_MAX - 1)], 1);
}

/*
 * Raise a number that others raise as well; sequence numbers, so by signed difference. False: they
 * were faster each time, and it may still be too low.
 */
static __always_inline bool xiw_raise(__u32 *number, __u32 to)
{
	int i;

#pragma unroll
	for (i = 0; i < XIW_CAS_TRIES; i++) {
		__u32 old = XIW_READ_ONCE(*number);

		if (xiw_seq_leq(to, old) || __sync_val_compare_and_swap(number, old, to) == old)
			return true;
	}
	return false;
}

/*
 * Note that the kernel socket is about to be given octets up to `end`.
 *
 * One half of a Dekker pair with xiw_go_direct(), as two CPUs may see segments of one flow:
 *
 *     here:      raise kernel_high; full barrier; read owner
 *     go direct: swap owner;        full barrier; read kernel_high
 *
 * At least one side sees the other's write. Either this segment is dropped, or going direct is
 * called off, so DIRECT never begins while the kernel holds octets beyond S. BPF's compare-and-swap
 * is the full barrier, so there is one even where the number is high enough already: a CPU that keeps loads in no order
 * (ARM64) would else read the owner first. False: ownership moved, or others were faster each time: drop.
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
 * Bring a number that one path leaves alone while the other one carries the stream up to `floor`,
 * before it lags by 2^31 and a signed comparison takes it for something far ahead. Compare-and-swap:
 * its writer may be at it under a newer owner word.
 */
static __always_inline bool xiw_refresh(__u32 *number, __u32 floor)
{
	__u32 old = XIW_READ_ONCE(*number);

	return (__s32)(floor - old) > XIW_MAX_LAG &&
	       __sync_val_compare_and_swap(number, old, floor) == old;
}

/*
 * While DIRECT nothing beyond rcv_nxt was passed, and what is below it was within a window. The edge
 * is looked at as seldom as kernel_high lags: it is on another cache line.
 */
static __always_inline void xiw_refresh_kernel(struct xiw_flow *flow, __u32 rcv_nxt)
{
	__u32 edge;

	if (!xiw_refresh(&flow->kernel_high, rcv_nxt))
		return;
	edge = XIW_READ_ONCE(flow->kernel_edge);
	if (!xiw_seq_leq(rcv_nxt, edge))
		__sync_val_compare_and_swap(&flow->kernel_edge, edge, rcv_nxt);
}

/*
 * May the kernel socket keep octets that begin at `seq`? Only within a window that was advertised,
 * by the kernel or by the engine: after a fall-back the peer still uses the engine's. One of the
 * two edges is recent; one that is stale by 2^31 or more errs to "may", which is the safe side.
 */
static __always_inline bool xiw_within_window(const struct xiw_flow *flow, __u32 seq)
{
	return xiw_seq_leq(seq, XIW_READ_ONCE(flow->kernel_edge)) ||
	       xiw_seq_leq(seq, XIW_READ_ONCE(flow->direct_edge));
}

/*
 * Would the kernel socket, which owns the stream, find [seq, end) acceptable (RFC 9293 section 3.10.7.4)? What it
 * drops may say nothing about the peer: anybody can send it.
 */
static __always_inline bool xiw_acceptable(const struct xiw_flow *flow, __u32 seq, __u32 end)
{
	return xiw_within_window(flow, seq) && xiw_seq_leq(XIW_READ_ONCE(flow->acked), end);
}

/*
 * ARMED -> DIRECT at S = `seq`, the end of all that the kernel was given; the other half of the pair above.
 * K is claimed first, for the epoch to come: whoever finds it claimed is late. False when ownership moved
 * or the kernel got octets beyond S meanwhile: drop.
 *
 * `before` was read together with `owner`. Read only now, it could be the K of a later stretch, begun and
 * under way while this CPU stood still (a virtual one may for milliseconds), and would be overwritten.
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
	/* If this fails the library has already taken the flow back. */
	if (xiw_swap_owner(flow, direct, xiw_next_owner(direct, skew, XIW_PATH_KERNEL)))
		xiw_why(flow, XIW_WHY_RACE);
	return false;
}

/*
 * DIRECT -> KERNEL. Returns the new owner word, or 0 when ownership moved: drop. The socket goes on at
 * rcv_nxt, so that kernel_high must be there by then: an older place would be taken for S.
 */
static __always_inline __u64 xiw_to_kernel(struct xiw_flow *flow, __u64 owner, __u32 skew,
					   __u32 reason)
{
	__u64 kernel = xiw_next_owner(owner, skew, XIW_PATH_KERNEL);

	if (!xiw_raise_high(flow, owner, xiw_owner_value(owner)) ||
	    !xiw_swap_owner(flow, owner, kernel))
		return 0;
	xiw_why(flow, reason);
	return kernel;
}

/* ARMED -> KERNEL, at the same skew. Returns the new owner word, or 0 when ownership moved: drop. */
static __always_inline __u64 xiw_disarm(struct xiw_flow *flow, __u64 owner, __u32 reason)
{
	__u64 kernel = xiw_next_owner(owner, xiw_owner_value(owner), XIW_PATH_KERNEL);

	if (!xiw_swap_owner(flow, owner, kernel))
		return 0;
	xiw_why(flow, reason);
	return kernel;
}

/*
 * Note a frame for the queue's ring. False: frames have waited for the engine longer than `limit`
 * and it has not looked at the ring either. The coarse clock is cheap but up to a tick behind the
 * engine's, hence the signed differences.
 */
static __always_inline bool xiw_watchdog_feed(struct xiw_queue *queue, __u64 limit)
{
	__u64 now = bpf_ktime_get_coarse_ns();

	if (queue->last_ns <= XIW_READ_ONCE(queue->drained_ns))
		queue->wait_ns = now;
	else if ((__s64)(now - queue->wait_ns) > (__s64)limit &&
		 (__s64)(now - XIW_READ_ONCE(queue->beat_ns)) > (__s64)limit)
		return false;
	queue->last_ns = now;
	return true;
}

/* The stream stands at `rcv_nxt`, and a segment of no later place goes to the engine, maybe not for the first time. */
static __always_inline void xiw_try_begin(struct xiw_flow *flow, __u32 rcv_nxt, __u64 now)
{
	flow->try_ns = now;
	flow->try_nxt = rcv_nxt;
	flow->try_looked = XIW_READ_ONCE(flow->looked);
}

/*
 * Is the direct path a dead end? A segment from rcv_nxt or before it was redirected, that was `limit` ago, the stream
 * has not moved, and the engine has not looked at a frame of it since. What the engine looks at and refuses is its own
 * to judge. A hole in front of what it keeps is none: no segment from there came.
 */
static __always_inline bool xiw_stuck(struct xiw_flow *flow, __u32 rcv_nxt, __u64 limit)
{
	__u64 now = bpf_ktime_get_coarse_ns();

	if (flow->try_nxt != rcv_nxt || flow->try_looked != XIW_READ_ONCE(flow->looked)) {
		xiw_try_begin(flow, rcv_nxt, now);
		return false;
	}
	return (__s64)(now - flow->try_ns) > (__s64)limit;
}

#endif /* XIW_BPF_HANDOFF_H */
