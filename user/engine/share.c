// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "engine/share.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/now.h"
#include "core/cq.h"
#include "core/inbox.h"
#include "engine/ready.h"
#include "engine/turn.h"

#define LOOK_NS 1000000	 /* how often the engine's thread counts the turns of others */
#define OFTEN 32	 /* so many in that time */
#define SLEEPS 4	 /* or so many sleeps of a thread that waits for events */
#define SOON_NS 50000	 /* a wait that is no longer was short: so may the next one be */
#define LOOK_ON_NS 20000 /* it then looks for so long before it sleeps */

int xiw_share_begin(struct xiw_engine *e)
{
	int err = xiw_ring_run(e);

	if (err)
		return err;
	/* Without it all threads that wait for events leave the frames to this one. */
	e->ready.share.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
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
	const uint64_t left_ns = e->now_ns;

	__atomic_fetch_add(&e->ready.share.turns, 1, __ATOMIC_RELAXED);
	xiw_turn(e);
	xiw_pace_called(&e->ready.pace, e->now_ns - left_ns, false);
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

/*
 * Only the engine's thread can submit what the turn has requested. The turn has also taken the mark of a thread that
 * sleeps in its place. If there is none, whoever asks for something while others take the frames finds the lock taken
 * until here (xiw_share_unattended()).
 */
void xiw_share_leave(struct xiw_engine *e)
{
	struct xiw_sharing *s = &e->ready.share;
	const bool awake = s->asleep && ends_sleep(e), look = s->driven && !s->asleep && !s->driver;

	if (awake || xiw_ring_waits(e))
		xiw_inbox_ring(e);
	if (s->driver && !xiw_inbox_sleep(e, s->bell))
		xiw_inbox_ring_bell(s->bell);
	pthread_mutex_unlock(&s->lock);
	if (look && xiw_inbox_waits(e))
		xiw_inbox_ring(e);
}

bool xiw_share_unattended(struct xiw_engine *e)
{
	struct xiw_sharing *s = &e->ready.share;
	bool unattended;

	if (!__atomic_load_n(&s->driven, __ATOMIC_RELAXED) || pthread_mutex_trylock(&s->lock))
		return false;
	unattended = !s->asleep && !s->driver;
	pthread_mutex_unlock(&s->lock);
	/* Another one that asked for something meanwhile found the lock taken. */
	return unattended && xiw_inbox_waits(e);
}

/* ---- threads that wait for events ------------------------------------------------------------------ */

bool xiw_share_wait(struct xiw_engine *e, struct xiw_share_sleep *sleep)
{
	struct xiw_sharing *s = &e->ready.share;

	if (!__atomic_load_n(&s->on, __ATOMIC_ACQUIRE))
		return false;
	*sleep = (struct xiw_share_sleep){ .n = 0 };
	xiw_share_wake_up(e, sleep);
	s->waiters++;
	return true;
}

/* False: there are more than it has room for. */
static bool list_queues(const struct xiw_engine *e, struct xiw_share_sleep *sleep)
{
	for (const struct xiw_netif *p = e->netifs; p; p = p->next)
		for (uint32_t i = 0; i < p->nqueues; i++) {
			if (sleep->n == XIW_SHARE_QUEUES)
				return false;
			sleep->fd[sleep->n++] = p->queues[i].xsk.fd;
		}
	return true;
}

/* The engine's thread takes the frames of several. */
static bool fall_passive(struct xiw_engine *e, struct xiw_share_sleep *sleep)
{
	struct xiw_sharing *s = &e->ready.share;

	sleep->n = 0;
	sleep->passive = true;
	s->passive++;
	if (s->driven && !s->asleep)
		xiw_inbox_ring(e);
	xiw_share_leave(e);
	return true;
}

/* What is to be submitted, and what comes by no queue, is for the engine's thread, which must not wait for the lock. */
static bool looks_on(struct xiw_engine *e, const struct xiw_share_sleep *sleep)
{
	struct xiw_sharing *s = &e->ready.share;

	if (!s->waits_ns) {
		s->waits_ns = e->now_ns;
		s->sleeps += s->soon;
	}
	return s->soon && e->now_ns - s->waits_ns < LOOK_ON_NS && sleep->n && !xiw_ring_waits(e) &&
	       !__atomic_load_n(&s->owner, __ATOMIC_RELAXED);
}

bool xiw_share_fall_asleep(struct xiw_engine *e, struct xiw_share_sleep *sleep)
{
	struct xiw_sharing *s = &e->ready.share;

	if (s->waiters > 1 || s->bell < 0 || !list_queues(e, sleep))
		return fall_passive(e, sleep);
	/* Without sched_yield(): another thread that shares the core would keep it for a time slice. */
	if (looks_on(e, sleep)) {
		sleep->n = 0;
		return false;
	}
	s->sleeps++;
	if (s->asleep) {
		xiw_share_leave(e);
		return true;
	}
	/* The engine's thread only naps, and hears nothing. */
	if (!xiw_inbox_sleep(e, s->bell)) {
		sleep->n = 0;
		return false;
	}
	s->driver = sleep->driver = true;
	sleep->fd[sleep->n++] = s->bell;
	if (xiw_ring_waits(e))
		xiw_inbox_ring(e);
	pthread_mutex_unlock(&s->lock);
	return true;
}

/* If it was the driver, the mark that it sleeps is still there: the caller's turn takes it. */
void xiw_share_wake_up(struct xiw_engine *e, struct xiw_share_sleep *sleep)
{
	struct xiw_sharing *s = &e->ready.share;
	eventfd_t rung;

	/* The engine's thread comes first, or it might never do where the two share a core. */
	if (__atomic_load_n(&s->owner, __ATOMIC_RELAXED))
		sched_yield();
	pthread_mutex_lock(&s->lock);
	s->head = *e->io.ring.cq.khead;
	if (sleep->driver) {
		s->driver = false;
		if (sleep->rung)
			eventfd_read(s->bell, &rung);
	}
	s->passive -= sleep->passive;
	*sleep = (struct xiw_share_sleep){ .n = 0 };
}

void xiw_share_wait_over(struct xiw_engine *e)
{
	struct xiw_sharing *s = &e->ready.share;

	s->soon = !s->waits_ns || e->now_ns - s->waits_ns < SOON_NS;
	s->waits_ns = 0;
	s->waiters--;
	xiw_share_leave(e);
}

void xiw_share_wait_cut(struct xiw_engine *e, struct xiw_share_sleep *sleep)
{
	struct xiw_sharing *s = &e->ready.share;

	xiw_share_wake_up(e, sleep);
	s->waits_ns = 0;
	s->waiters--;
	xiw_inbox_ring(e);
	pthread_mutex_unlock(&s->lock);
}

/* ---- the engine's thread ----------------------------------------------------------------------------- */

bool xiw_share_busy(struct xiw_engine *e)
{
	struct xiw_sharing *s = &e->ready.share;

	if (e->now_ns - s->since_ns >= LOOK_NS) {
		__atomic_store_n(&s->often,
				 __atomic_exchange_n(&s->turns, 0, __ATOMIC_RELAXED) >= OFTEN,
				 __ATOMIC_RELAXED);
		__atomic_store_n(&s->driven, s->sleeps >= SLEEPS, __ATOMIC_RELAXED);
		s->sleeps = 0;
		s->since_ns = e->now_ns;
	}
	return __atomic_load_n(&s->often, __ATOMIC_RELAXED) || (s->driven && !s->passive);
}

bool xiw_share_nap(struct xiw_engine *e)
{
	return !e->ready.share.driver || xiw_inbox_sleep(e, e->ready.share.bell);
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

/* Behind xiw_share_give(): whoever asked for something before found the lock taken. */
bool xiw_share_may_wait(const struct xiw_engine *e, bool asleep)
{
	return asleep || !e->ready.share.driven || !xiw_inbox_waits(e);
}

void xiw_share_give(struct xiw_engine *e, uint64_t until_ms, bool asleep)
{
	struct xiw_sharing *s = &e->ready.share;

	s->until_ms = until_ms;
	s->asleep = asleep;
	/* The inbox has this thread's own mark. */
	if (asleep)
		s->driver = false;
	pthread_mutex_unlock(&s->lock);
}

void xiw_share_yield(struct xiw_engine *e)
{
	const bool on = e->ready.share.on;
	uint64_t from_ns;

	if (!xiw_pace_yield(&e->ready.pace))
		return;
	if (on)
		xiw_share_give(e, e->now_ms, false);
	from_ns = xiw_now_ns();
	sched_yield();
	xiw_pace_yielded(&e->ready.pace, xiw_now_ns() - from_ns);
	if (on)
		xiw_share_take(e);
}

void xiw_share_take(struct xiw_engine *e)
{
	struct xiw_sharing *s = &e->ready.share;

	__atomic_store_n(&s->owner, true, __ATOMIC_RELAXED);
	pthread_mutex_lock(&s->lock);
	__atomic_store_n(&s->owner, false, __ATOMIC_RELAXED);
	s->asleep = false;
}
