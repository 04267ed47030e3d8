// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "handoff/queues.h"

#include <errno.h>

#include <bpf/bpf.h>

#include "handoff/slot.h"

static void set_engine(struct xiw_table *t, uint32_t queue, uint32_t engine)
{
	__atomic_store_n(&t->queues[queue].engine, engine, __ATOMIC_SEQ_CST);
}

/* The engine that has a queue with this word, if it lives; else 0. */
static uint32_t living(const struct xiw_table *t, uint32_t word)
{
	uint32_t engine = word & ~XIW_QUEUE_OPENING;

	return engine && xiw_engine_lives(t, engine) ? engine : 0;
}

uint32_t xiw_queue_engine(const struct xiw_table *t, uint32_t queue)
{
	return living(t, __atomic_load_n(&t->queues[queue].engine, __ATOMIC_ACQUIRE));
}

/* The kernel takes a dead engine's socket out of the map before it lets another one have the queue. */
int xiw_queue_claim(struct xiw_table *t, uint32_t queue)
{
	__u32 *engine = &t->queues[queue].engine, seen = __atomic_load_n(engine, __ATOMIC_ACQUIRE);

	if (living(t, seen) ||
	    !__atomic_compare_exchange_n(engine, &seen, t->me | XIW_QUEUE_OPENING, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return -EBUSY;
	return 0;
}

int xiw_queue_begin(struct xiw_table *t, uint32_t queue, int xsk_fd)
{
	if (bpf_map_update_elem(t->xsks_fd, &queue, &xsk_fd, BPF_ANY))
		return -errno;
	set_engine(t, queue, t->me);
	return 0;
}

void xiw_queue_end(struct xiw_table *t, uint32_t queue)
{
	set_engine(t, queue, t->me | XIW_QUEUE_OPENING);
	bpf_map_delete_elem(t->xsks_fd, &queue);
}

void xiw_queue_release(struct xiw_table *t, uint32_t queue)
{
	set_engine(t, queue, 0);
}

/* A queue that is being opened or closed is left alone: XDP redirects nothing to it as it is. */
uint64_t xiw_queues_hold(struct xiw_queue queues[XIW_MAX_QUEUES])
{
	uint64_t held = 0;

	for (uint32_t q = 0; q < XIW_MAX_QUEUES; q++) {
		__u32 *engine = &queues[q].engine, seen = __atomic_load_n(engine, __ATOMIC_ACQUIRE);

		if (seen && !(seen & XIW_QUEUE_OPENING) &&
		    __atomic_compare_exchange_n(engine, &seen, seen | XIW_QUEUE_OPENING, false,
						__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			held |= 1ull << q;
	}
	return held;
}

/* Of an engine that has closed a queue meanwhile, the word is 0 by now, or another engine's. */
void xiw_queues_let_go(struct xiw_queue queues[XIW_MAX_QUEUES], uint64_t held)
{
	for (; held; held &= held - 1) {
		__u32 *engine = &queues[__builtin_ctzll(held)].engine;
		__u32 seen = __atomic_load_n(engine, __ATOMIC_ACQUIRE);

		if (seen & ~XIW_QUEUE_OPENING)
			__atomic_compare_exchange_n(engine, &seen, seen & ~XIW_QUEUE_OPENING, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	}
}
