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
	if (e->nconns)
		return true;
	pthread_mutex_unlock(&s->lock);
	return false;
}

void xiw_share_turn(struct xiw_engine *e)
{
	const bool had_time = e->agenda.telling;

	e->ready.share.turns++;
	xiw_turn(e);
	if (had_time || !xiw_told(e))
		xiw_turn_tell(e);
}

/*
 * The turn may have left requests, which only the engine's thread can submit, and earlier times. It has also marked the
 * inbox as that of an engine that is awake.
 */
void xiw_share_leave(struct xiw_engine *e)
{
	struct xiw_sharing *s = &e->ready.share;
	bool awake = s->asleep && (xiw_ready_next(e) < s->until_ms ||
				   !xiw_inbox_sleep(e, e->inbox.fd));

	if (awake || xiw_ring_waits(e))
		xiw_inbox_ring(e);
	pthread_mutex_unlock(&s->lock);
}

bool xiw_share_busy(struct xiw_engine *e)
{
	struct xiw_sharing *s = &e->ready.share;

	if (e->now_ns - s->since_ns >= LOOK_NS) {
		s->often = s->turns >= OFTEN;
		s->turns = 0;
		s->since_ns = e->now_ns;
	}
	return s->often;
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
