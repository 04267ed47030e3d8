// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completion queues: a ring under a lock. Any number of engines add, any number of threads poll. The ring has the size
 * that its users have reserved, so adding needs no memory and cannot fail.
 */
#include "host/cq.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "host/engines.h"
#include "host/eq.h"
#include "host/life.h"

/* Polls in vain, so that a thread that polls does not keep others off its core. */
#define YIELD_AFTER 8

enum armed { ARMED_NOT, ARMED_SOLICITED, ARMED_ALL };

struct entry {
	struct xiw_host_wc wc;
	const void *owner;
	uint32_t *credit;
};

struct xiw_host_cq {
	struct xiw_host_life life;
	pthread_mutex_t lock;
	struct entry *ring;
	uint32_t size; /* a power of two, or 0 */
	uint32_t head, tail;
	/* How many of the completions that are there wake a queue that is armed for the solicited. */
	uint32_t urgent;
	uint64_t reserved;
	struct xiw_host_eq *eq;
	struct xiw_host_bell bell;
	enum armed armed;
};

int xiw_host_cq_create(struct xiw_host_eq *eq, void *context, struct xiw_host_cq **cq)
{
	struct xiw_host_cq *q;
	int err = xiw_host_eq_use(eq);

	if (err)
		return err;
	q = calloc(1, sizeof(*q));
	if (!q) {
		xiw_host_eq_leave(eq);
		return -ENOMEM;
	}
	xiw_host_born(&q->life);
	pthread_mutex_init(&q->lock, NULL);
	q->eq = eq;
	q->bell.kind = XIW_HOST_COMPLETION;
	q->bell.context = context;
	*cq = q;
	return 0;
}

void xiw_host_cq_mute(struct xiw_host_cq *cq)
{
	if (cq->eq && !xiw_host_dead(&cq->life))
		xiw_host_bell_remove(cq->eq, &cq->bell);
}

int xiw_host_cq_free(struct xiw_host_cq *cq)
{
	uint64_t reserved;

	if (!cq)
		return 0;
	if (!xiw_host_dead(&cq->life)) {
		pthread_mutex_lock(&cq->lock);
		reserved = cq->reserved;
		pthread_mutex_unlock(&cq->lock);
		if (reserved)
			return -EBUSY;
		if (cq->eq)
			xiw_host_bell_remove(cq->eq, &cq->bell);
		xiw_host_eq_leave(cq->eq);
	}
	free(cq->ring);
	free(cq);
	return 0;
}

/* ---- with the lock ---------------------------------------------------------------------------------- */

static struct entry *at(const struct xiw_host_cq *cq, uint32_t i)
{
	return &cq->ring[i & (cq->size - 1)];
}

static int grow(struct xiw_host_cq *cq, uint64_t room)
{
	uint32_t size = cq->size ? cq->size : 16, n = cq->tail - cq->head;
	struct entry *ring;

	while (size < room)
		size *= 2;
	ring = size == cq->size ? cq->ring : malloc(size * sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	if (ring == cq->ring)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		ring[i] = *at(cq, cq->head + i);
	free(cq->ring);
	cq->ring = ring;
	cq->size = size;
	__atomic_store_n(&cq->head, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&cq->tail, n, __ATOMIC_RELAXED);
	return 0;
}

static bool urgent(const struct xiw_host_wc *wc)
{
	return wc->cause != XIW_CAUSE_NONE || wc->flags & XIW_HOST_WC_SOLICITED;
}

static void wake(struct xiw_host_cq *cq)
{
	cq->armed = ARMED_NOT;
	xiw_host_bell_ring(cq->eq, &cq->bell);
}

/* ---- QPs and SRQs ------------------------------------------------------------------------------------ */

int xiw_host_cq_reserve(struct xiw_host_cq *cq, uint32_t n)
{
	int err = 0;

	if (xiw_host_dead(&cq->life))
		return -ECANCELED;
	pthread_mutex_lock(&cq->lock);
	if (cq->reserved + n > 1u << 31)
		err = -ENOMEM;
	else
		err = grow(cq, cq->reserved + n);
	if (!err)
		cq->reserved += n;
	pthread_mutex_unlock(&cq->lock);
	return err;
}

void xiw_host_cq_unreserve(struct xiw_host_cq *cq, uint32_t n)
{
	pthread_mutex_lock(&cq->lock);
	cq->reserved -= n;
	pthread_mutex_unlock(&cq->lock);
}

void xiw_host_cq_add(struct xiw_host_cq *cq, const struct xiw_host_wc *wc, const void *owner,
		     uint32_t *credit)
{
	pthread_mutex_lock(&cq->lock);
	*at(cq, cq->tail) = (struct entry){ .wc = *wc, .owner = owner, .credit = credit };
	__atomic_store_n(&cq->tail, cq->tail + 1, __ATOMIC_RELEASE);
	cq->urgent += urgent(wc);
	if (cq->armed == ARMED_ALL || (cq->armed == ARMED_SOLICITED && urgent(wc)))
		wake(cq);
	pthread_mutex_unlock(&cq->lock);
}

bool xiw_host_cq_owes(struct xiw_host_cq *cq, const void *owner)
{
	bool owes = false;

	pthread_mutex_lock(&cq->lock);
	for (uint32_t i = cq->head; i != cq->tail && !owes; i++)
		owes = at(cq, i)->owner == owner && at(cq, i)->wc.cause == XIW_CAUSE_NONE;
	pthread_mutex_unlock(&cq->lock);
	return owes;
}

void xiw_host_cq_purge(struct xiw_host_cq *cq, const void *owner)
{
	uint32_t to;

	pthread_mutex_lock(&cq->lock);
	to = cq->head;
	for (uint32_t i = cq->head; i != cq->tail; i++) {
		if (at(cq, i)->owner == owner) {
			cq->urgent -= urgent(&at(cq, i)->wc);
			__atomic_fetch_sub(at(cq, i)->credit, 1, __ATOMIC_RELEASE);
		} else {
			*at(cq, to++) = *at(cq, i);
		}
	}
	__atomic_store_n(&cq->tail, to, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&cq->lock);
}

/* ---- any thread --------------------------------------------------------------------------------------- */

uint32_t xiw_host_cq_count(const struct xiw_host_cq *cq)
{
	return __atomic_load_n(&cq->tail, __ATOMIC_ACQUIRE) -
	       __atomic_load_n(&cq->head, __ATOMIC_RELAXED);
}

/* The thread looks itself for what it waits for. */
static bool in_vain(const struct xiw_host_cq *cq)
{
	static _Thread_local unsigned int polls;

	xiw_host_look();
	if (xiw_host_cq_count(cq))
		return false;
	if (++polls % YIELD_AFTER == 0)
		sched_yield();
	return true;
}

int xiw_host_cq_poll(struct xiw_host_cq *cq, struct xiw_host_wc *wc, int n)
{
	int taken = 0;

	if (xiw_host_dead(&cq->life) || n <= 0)
		return 0;
	if (!xiw_host_cq_count(cq) && in_vain(cq))
		return 0;
	pthread_mutex_lock(&cq->lock);
	for (; taken < n && cq->head != cq->tail; taken++) {
		const struct entry *e = at(cq, cq->head);

		wc[taken] = e->wc;
		cq->urgent -= urgent(&e->wc);
		__atomic_fetch_sub(e->credit, 1, __ATOMIC_RELEASE);
		__atomic_store_n(&cq->head, cq->head + 1, __ATOMIC_RELAXED);
	}
	/* perftest arms, polls once, and waits for an event, whatever is left. So RNICs tell it of that, too. */
	if (cq->armed == ARMED_ALL ? cq->head != cq->tail : cq->armed && cq->urgent)
		wake(cq);
	pthread_mutex_unlock(&cq->lock);
	return taken;
}

int xiw_host_cq_arm(struct xiw_host_cq *cq, bool solicited_only)
{
	if (xiw_host_dead(&cq->life))
		return -ECANCELED;
	if (!cq->eq)
		return -ENOENT;
	pthread_mutex_lock(&cq->lock);
	if (!solicited_only)
		cq->armed = ARMED_ALL;
	else if (cq->armed == ARMED_NOT)
		cq->armed = ARMED_SOLICITED;
	pthread_mutex_unlock(&cq->lock);
	xiw_host_sleeps();
	return 0;
}
