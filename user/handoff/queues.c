// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "handoff/queues.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "handoff/slot.h"

#define MARKS (XIW_QUEUE_OPENING | XIW_QUEUE_HELD)

/* The engine that has a queue with this word, if it lives; else 0. */
static uint32_t living(const struct xiw_table *t, uint32_t word)
{
	uint32_t engine = word & ~MARKS;

	return engine && xiw_engine_lives(t, engine) ? engine : 0;
}

uint32_t xiw_queue_engine(const struct xiw_table *t, uint32_t queue)
{
	return living(t, __atomic_load_n(&t->queues[queue].engine, __ATOMIC_ACQUIRE));
}

/* If the directory was removed, nobody could lock it, and nobody can tell whether the holder still runs: so it does. */
static bool holder_lives(const struct xiw_table *t)
{
	struct stat st;

	return xiw_locked_at(t->dir_fd, XIW_QUEUE_HELD) || fstat(t->dir_fd, &st) || !st.st_nlink;
}

/* An unload that was killed lets nothing go. */
void xiw_queue_look(struct xiw_table *t, uint32_t queue)
{
	__u32 *engine = &t->queues[queue].engine;

	if (!(__atomic_load_n(engine, __ATOMIC_ACQUIRE) & XIW_QUEUE_HELD) || holder_lives(t))
		return;
	__atomic_fetch_and(engine, ~XIW_QUEUE_HELD, __ATOMIC_SEQ_CST);
	/* The next one may have begun meanwhile. */
	if (holder_lives(t))
		__atomic_fetch_or(engine, XIW_QUEUE_HELD, __ATOMIC_SEQ_CST);
}

/* The kernel takes a dead engine's socket out of the map before it lets another one have the queue. */
int xiw_queue_claim(struct xiw_table *t, uint32_t queue)
{
	__u32 *engine = &t->queues[queue].engine, seen;

	xiw_queue_look(t, queue);
	seen = __atomic_load_n(engine, __ATOMIC_ACQUIRE);
	if (living(t, seen) ||
	    !__atomic_compare_exchange_n(engine, &seen,
					 t->me | XIW_QUEUE_OPENING | (seen & XIW_QUEUE_HELD), false,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return -EBUSY;
	return 0;
}

int xiw_queue_begin(struct xiw_table *t, uint32_t queue, int xsk_fd)
{
	if (bpf_map_update_elem(t->xsks_fd, &queue, &xsk_fd, BPF_ANY))
		return -errno;
	__atomic_fetch_and(&t->queues[queue].engine, ~XIW_QUEUE_OPENING, __ATOMIC_SEQ_CST);
	return 0;
}

void xiw_queue_end(struct xiw_table *t, uint32_t queue)
{
	__atomic_fetch_or(&t->queues[queue].engine, XIW_QUEUE_OPENING, __ATOMIC_SEQ_CST);
	bpf_map_delete_elem(t->xsks_fd, &queue);
}

void xiw_queue_release(struct xiw_table *t, uint32_t queue)
{
	__atomic_fetch_and(&t->queues[queue].engine, XIW_QUEUE_HELD, __ATOMIC_SEQ_CST);
}

/* Also those that engines open now, or claim meanwhile. */
static void hold(struct xiw_queue queues[XIW_MAX_QUEUES])
{
	for (uint32_t q = 0; q < XIW_MAX_QUEUES; q++)
		__atomic_fetch_or(&queues[q].engine, XIW_QUEUE_HELD, __ATOMIC_SEQ_CST);
}

int xiw_queues_hold(struct xiw_queue queues[XIW_MAX_QUEUES], const char *dir)
{
	int lock = xiw_lock_at(dir, XIW_QUEUE_HELD);

	hold(queues);
	return lock;
}

void xiw_queues_let_go(struct xiw_queue queues[XIW_MAX_QUEUES], int lock)
{
	for (uint32_t q = 0; q < XIW_MAX_QUEUES; q++)
		__atomic_fetch_and(&queues[q].engine, ~XIW_QUEUE_HELD, __ATOMIC_SEQ_CST);
	/* Another unload may run. A descriptor is not told of its own lock. */
	if (lock >= 0 && xiw_locked_at(lock, XIW_QUEUE_HELD))
		hold(queues);
	xiw_unlock_at(lock, XIW_QUEUE_HELD);
}
