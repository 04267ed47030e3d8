/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The library's half of the hand-off: every change that user space makes to a flow's owner word. The other half is
 * xiw_ingress; abi.h has the table of all changes. No I/O: the flow is shared memory.
 *
 * The rules, with the names used here: kernel_high covers all octets that the kernel socket was ever given, injected
 * segments included, so it is raised before a segment is injected. A commit is a swap within an epoch, and nothing is
 * acknowledged before it succeeds. Every other change begins a new epoch, so that frames and decisions of the old one
 * can be told.
 */
#ifndef XIW_HANDOFF_OWNER_H
#define XIW_HANDOFF_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <xiwarp/abi.h>

#include "base/seq.h"

static inline uint64_t xiw_flow_owner(const struct xiw_flow *flow)
{
	return __atomic_load_n(&flow->owner, __ATOMIC_ACQUIRE);
}

static inline bool xiw_flow_swap(struct xiw_flow *flow, __u64 from, __u64 to)
{
	return __atomic_compare_exchange_n(&flow->owner, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/* Reads a field that XDP or another process may write at any time. */
static inline uint32_t xiw_flow_get(const __u32 *field)
{
	return __atomic_load_n(field, __ATOMIC_ACQUIRE);
}

/* Raises a sequence number that another CPU may raise at the same time. */
static inline void xiw_flow_raise(__u32 *field, uint32_t to)
{
	__u32 seen = __atomic_load_n(field, __ATOMIC_RELAXED);

	while (xiw_seq_after(to, seen) &&
	       !__atomic_compare_exchange_n(field, &seen, to, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED))
		;
}

/* May the socket keep octets that begin at @seq? As in XDP, only within a window that was advertised. */
static inline bool xiw_flow_within_window(const struct xiw_flow *flow, uint32_t seq)
{
	return !xiw_seq_after(seq, xiw_flow_get(&flow->kernel_edge)) ||
	       !xiw_seq_after(seq, xiw_flow_get(&flow->direct_edge));
}

/*
 * Would the socket find [@seq, @end) acceptable? If not, anybody may have sent it, and it says nothing about the peer.
 */
static inline bool xiw_flow_acceptable(const struct xiw_flow *flow, uint32_t seq, uint32_t end)
{
	return xiw_flow_within_window(flow, seq) && !xiw_seq_after(xiw_flow_get(&flow->acked), end);
}

/*
 * RFC 3168 section 6.1.3: echo CE until CWR. The mark came in @epoch, and XDP may have noted a later one. Written only
 * when it changes, as the cache line is read for each segment.
 */
static inline void xiw_flow_note_ece(struct xiw_flow *flow, uint32_t epoch, bool on)
{
	__u32 to = xiw_ece_pack(epoch, on ? XIW_ECE_ON : XIW_ECE_OFF);
	__u32 seen = __atomic_load_n(&flow->ece, __ATOMIC_RELAXED);

	while (seen != to && !xiw_ece_later(seen, epoch) &&
	       !__atomic_compare_exchange_n(&flow->ece, &seen, to, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

static inline void xiw_flow_count_reason(struct xiw_flow *flow, enum xiw_reason why)
{
	__atomic_fetch_add(&flow->reasons[why], 1, __ATOMIC_RELAXED);
}

/* NONE -> KERNEL: from here on XDP translates and counts. The path of a flow that was adopted is KERNEL already. */
static inline void xiw_flow_publish(struct xiw_flow *flow, uint32_t skew)
{
	uint64_t owner = xiw_flow_owner(flow);

	if (xiw_owner_path(owner) == XIW_PATH_NONE)
		__atomic_store_n(&flow->owner,
				 xiw_owner_pack(skew, xiw_owner_epoch(owner) + 1, XIW_PATH_KERNEL),
				 __ATOMIC_RELEASE);
}

/*
 * Has the kernel begun another connection with the flow's addresses? Then the one that it is registered for has ended,
 * and nothing of that may get into the other one, nor change how its numbers are translated.
 */
static inline bool xiw_flow_of_another(const struct xiw_flow *flow)
{
	return xiw_flow_get(&flow->flags) & XIW_FLOW_ANOTHER;
}

/* KERNEL -> ARMED: XDP may go direct at the end of @run aligned segments in a row. */
static inline bool xiw_flow_arm(struct xiw_flow *flow, uint32_t run)
{
	uint64_t owner = xiw_flow_owner(flow);

	if (xiw_owner_path(owner) != XIW_PATH_KERNEL || xiw_flow_of_another(flow))
		return false;
	flow->run_needed = run;
	return xiw_flow_swap(flow, owner,
			     xiw_owner_pack(xiw_owner_value(owner), xiw_owner_epoch(owner) + 1,
					    XIW_PATH_ARMED));
}

/* xiw_egress does not see what the socket sends. From here on no stretch begins until it has seen a packet. */
static inline void xiw_flow_unseen(struct xiw_flow *flow)
{
	__atomic_store_n(&flow->egress_floor,
			 __atomic_load_n(&flow->egress_segs, __ATOMIC_RELAXED) + 1,
			 __ATOMIC_RELAXED);
}

/*
 * From any path to KERNEL, also while XDP moves the flow: from here on XDP gives no more of its frames to an engine.
 * Returns the skew with which the socket goes on.
 */
static inline uint32_t xiw_flow_to_kernel(struct xiw_flow *flow)
{
	uint64_t owner, k;
	uint32_t skew;

	for (;;) {
		owner = xiw_flow_owner(flow);
		k = __atomic_load_n(&flow->kernel_nxt, __ATOMIC_ACQUIRE);
		if (owner != xiw_flow_owner(flow) || !xiw_kernel_nxt_valid(k, owner))
			continue;
		skew = xiw_owner_skew(owner, k);
		if (xiw_owner_path(owner) == XIW_PATH_KERNEL ||
		    xiw_owner_path(owner) == XIW_PATH_NONE ||
		    xiw_flow_swap(flow, owner,
				  xiw_owner_pack(skew, xiw_owner_epoch(owner) + 1,
						 XIW_PATH_KERNEL)))
			return skew;
	}
}

/*
 * K of the stretch that the DIRECT owner word belongs to. XDP has written it before the owner word, and nobody else
 * begins a stretch, so the two always belong together here.
 */
static inline uint32_t xiw_flow_kernel_nxt(const struct xiw_flow *flow)
{
	return (uint32_t)(__atomic_load_n(&flow->kernel_nxt, __ATOMIC_ACQUIRE) >> 32);
}

/* DIRECT: everything below @rcv_nxt is placed. False: another side took the stream, and nothing may be acknowledged. */
static inline bool xiw_flow_commit(struct xiw_flow *flow, uint32_t epoch, uint32_t committed,
				   uint32_t rcv_nxt)
{
	return xiw_flow_swap(flow, xiw_owner_pack(committed, epoch, XIW_PATH_DIRECT),
			     xiw_owner_pack(rcv_nxt, epoch, XIW_PATH_DIRECT));
}

/*
 * DIRECT -> KERNEL by the engine, at @rcv_nxt, up to which it has committed. False as for a commit. kernel_high is
 * raised first, because the kernel's stream continues at rcv_nxt, and XDP must not take an older position for the end
 * of what the kernel was given.
 */
static inline bool xiw_flow_fall_back(struct xiw_flow *flow, uint32_t epoch, uint32_t rcv_nxt,
				      enum xiw_reason why)
{
	uint32_t skew = rcv_nxt - xiw_flow_kernel_nxt(flow);

	xiw_flow_raise(&flow->kernel_high, rcv_nxt);
	if (!xiw_flow_swap(flow, xiw_owner_pack(rcv_nxt, epoch, XIW_PATH_DIRECT),
			   xiw_owner_pack(skew, epoch + 1, XIW_PATH_KERNEL)))
		return false;
	xiw_flow_count_reason(flow, why);
	return true;
}

/* What the report on a connection has of its slot. */
struct xiw_flow_report {
	uint64_t direct_segs, kernel_segs;
	uint32_t path, reasons[XIW_REASON__COUNT];
};

static inline void xiw_flow_report(const struct xiw_flow *flow, struct xiw_flow_report *r)
{
	r->direct_segs = flow->direct_segs;
	r->kernel_segs = flow->kernel_segs;
	r->path = xiw_owner_path(xiw_flow_owner(flow));
	memcpy(r->reasons, flow->reasons, sizeof(r->reasons));
}

#endif
