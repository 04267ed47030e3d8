// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "engine/share.h"

#include "core/inbox.h"
#include "engine/ready.h"
#include "engine/turn.h"

#define LOOK_NS 1000000 /* how often the engine's thread counts the turns of others */
#define OFTEN 32	/* so many in that time */

int xiw_share_begin(struct xiw_engine *e)
{
	int err = xiw_ring_run(e);

	if (err)
		return err;
	pthread_mutex_init(&e->ready.share.lock, NULL);
	pthread_mutex_lock(&e->ready.share.lock);
	__atomic_store_n(&e->ready.share.on, true, __ATOMIC_RELEASE);
	return 0;
}

bool xiw_share_enter(struct xiw_engine *e)
{
	struct xiw_sharing *s = &e->ready.share;

	if (!__atomic_load_n(&s->on, __ATOMIC_ACQUIRE) ||
	    __atomic_load_n(&s->owner, __ATOMIC_RELAXED) || pthread_mutex_trylock(&s->lock))
		return false;
	if (e->nconns) {
		s->head = *e->io.ring.cq.khead;
		return true;
	}
	pthread_mutex_unlock(&s->lock);
	return false;
}

void xiw_share_turn(struct xiw_engine *e)
{
	const bool had_time = e->agenda.telling;

	__atomic_fetch_add(&e->ready.share.turns, 1, __ATOMIC_RELAXED);
	xiw_turn(e);
	if (had_time || !xiw_told(e))
		xiw_turn_tell(e);
}

/*
 * True if the turn has left something for the engine's thread: an earlier time, news for sockets, or an inbox that must
 * not sleep; the turn has marked that as one of an engine that is awake. Or the turn has taken completions. The thread
 * may not have begun to wait when it gave its lock away, so that they do not end its wait, but only it asks for frames
 * again when they have come.
 */
static bool ends_sleep(struct xiw_engine *e)
{
	const struct xiw_sharing *s = &e->ready.share;

	return xiw_ready_next(e) < s->until_ms || e->agenda.telling ||
	       *e->io.ring.cq.khead != s->head || !xiw_inbox_sleep(e, e->inbox.fd);
}

/* Only the engine's thread can submit what the turn has requested. */
void xiw_share_leave(struct xiw_engine *e)
{
	struct xiw_sharing *s = &e->ready.share;
	const bool awake = s->asleep && ends_sleep(e);

	if (awake || xiw_ring_waits(e))
		xiw_inbox_ring(e);
	pthread_mutex_unlock(&s->lock);
}

bool xiw_share_busy(struct xiw_engine *e)
{
	struct xiw_sharing *s = &e->ready.share;

	if (e->now_ns - s->since_ns >= LOOK_NS) {
		__atomic_store_n(&s->often,
				 __atomic_exchange_n(&s->turns, 0, __ATOMIC_RELAXED) >= OFTEN,
				 __ATOMIC_RELAXED);
		s->since_ns = e->now_ns;
	}
	return __atomic_load_n(&s->often, __ATOMIC_RELAXED);
}

void xiw_share_stop(struct xiw_engine *e)
{
	struct xiw_sharing *s = &e->ready.share;

	if (!__atomic_load_n(&s->on, __ATOMIC_ACQUIRE))
		return;
	__atomic_store_n(&s->turns, 0, __ATOMIC_RELAXED);
	if (__atomic_load_n(&s->often, __ATOMIC_RELAXED) &&
	    __atomic_exchange_n(&s->often, false, __ATOMIC_RELAXED))
		xiw_inbox_ring(e);
}

void xiw_share_give(struct xiw_engine *e, uint64_t until_ms, bool asleep)
{
	struct xiw_sharing *s = &e->ready.share;

	s->until_ms = until_ms;
	s->asleep = asleep;
	pthread_mutex_unlock(&s->lock);
}

void xiw_share_take(struct xiw_engine *e)
{
	struct xiw_sharing *s = &e->ready.share;

	__atomic_store_n(&s->owner, true, __ATOMIC_RELAXED);
	pthread_mutex_lock(&s->lock);
	__atomic_store_n(&s->owner, false, __ATOMIC_RELAXED);
	s->asleep = false;
}
