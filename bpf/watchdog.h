/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two clocks that end DIRECT: one for an engine that does not run, one for a stream that does not move although the
 * peer sends. They keep a dead process or a broken path from stalling the TCP connection.
 *
 * The coarse clock is cheap, but lags up to two ticks behind the engine's: hence the signed differences.
 */
#ifndef XIW_BPF_WATCHDOG_H
#define XIW_BPF_WATCHDOG_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <xiwarp/abi.h>
#include "base.h"

/* The limits. The loader may set others before it loads the programs. */
const volatile __u64 xiw_watchdog_ns = XIW_WATCHDOG_NS;
const volatile __u64 xiw_stuck_ns = XIW_STUCK_NS;

/*
 * The coarse clock, read once in a tick, because jiffies are a load and the clock is a call that took a third of the
 * program's time. It moves when they do. A tick that was counted just before the clock moved gets the time before.
 *
 * On one queue at a time two CPUs meet only where a driver's XDP is not per queue. If one sees the tick of the other
 * without its time, the time is too old, which at worst ends a stretch.
 */
static __always_inline __u64 xiw_now(struct xiw_queue *queue)
{
	__u64 tick = bpf_jiffies64(), now;

	if (XIW_READ_ONCE(queue->tick) == tick)
		return XIW_READ_ONCE(queue->tick_ns);
	now = bpf_ktime_get_coarse_ns();
	XIW_WRITE_ONCE(queue->tick_ns, now);
	XIW_WRITE_ONCE(queue->tick, tick);
	return now;
}

/*
 * Note a frame for the queue's ring. Returns false if frames have waited for longer than `limit` and the engine has
 * not looked at the ring for as long.
 */
static __always_inline bool xiw_watchdog_feed(struct xiw_queue *queue, __u64 now, __u64 limit)
{
	if (queue->last_ns <= XIW_READ_ONCE(queue->emptied_ns))
		queue->wait_ns = now;
	else if ((__s64)(now - queue->wait_ns) > (__s64)limit &&
		 (__s64)(now - XIW_READ_ONCE(queue->beat_ns)) > (__s64)limit)
		return false;
	queue->last_ns = now;
	return true;
}

/* Note that a segment from rcv_nxt or before it is redirected, for xiw_stuck(). */
static __always_inline void xiw_try_begin(struct xiw_flow *flow, __u32 rcv_nxt, __u64 now)
{
	flow->try_ns = now;
	flow->try_nxt = rcv_nxt;
	flow->try_seen = XIW_READ_ONCE(flow->seen);
}

/*
 * Is the direct path a dead end? To be asked for a segment from rcv_nxt or before it. The answer is yes if such a
 * segment was redirected more than `limit` ago, rcv_nxt has not moved since, and the engine has not looked at a frame
 * of the flow since. If the engine looks at frames and refuses them, the decision is the engine's.
 */
static __always_inline bool xiw_stuck(struct xiw_flow *flow, __u32 rcv_nxt, __u64 now, __u64 limit)
{
	if (flow->try_nxt != rcv_nxt || flow->try_seen != XIW_READ_ONCE(flow->seen)) {
		xiw_try_begin(flow, rcv_nxt, now);
		return false;
	}
	return (__s64)(now - flow->try_ns) > (__s64)limit;
}

#endif /* XIW_BPF_WATCHDOG_H */
