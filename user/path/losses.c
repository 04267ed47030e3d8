// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Notices that frames which XDP redirects do not reach the engine, none of them or some. */
#include "core/queue.h"
#include "path/progress.h"
#include "path/remember.h"

#define LASTING_MS 60000 /* lost frames are counted for this time */
/* This many stretches that lose some frames and not others show that the cause lasts. */
#define LOST 4
/* The weight of a lost frame that no ring overflow explains. An explained one weighs 1. */
#define CERTAIN 4

/* Counts the stretches that XDP took back because the engine did not seem to see their frames. */
static uint32_t given_up(const struct xiw_flow *f)
{
	return __atomic_load_n(&f->reasons[XIW_REASON_UNSEEN], __ATOMIC_RELAXED) +
	       __atomic_load_n(&f->reasons[XIW_REASON_WATCHDOG], __ATOMIC_RELAXED);
}

/* Says whether every frame that was on a ring at the last attempt has been taken from it. */
static bool rings_emptied(const struct xiw_conn *c)
{
	uint64_t then = __atomic_load_n(&c->flow->try_ns, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < c->netif->nqueues; i++)
		if ((int64_t)(c->netif->queues[i].shared->emptied_ns - then) < 0)
			return false;
	return true;
}

/*
 * Returns how much a lost frame counts. One that was lost while the rings had no room hardly shows that frames are
 * lost for good.
 */
static uint32_t weight(const struct xiw_conn *c)
{
	return xiw_queues_overflowed(c->netif, c->engine->now_ms) ? 1 : CERTAIN;
}

/* The connection has stood still for lost frames. Returns whether they are `enough` to bar it. */
static bool frames_are_lost(struct xiw_conn *c, bool enough)
{
	if (!enough && weight(c) == CERTAIN)
		xiw_remember(c, XIW_REASON_UNSEEN, !c->progress.memory.carried);
	return enough;
}

/*
 * Says whether some frames are lost and others are not, as can happen to large frames alone: frames of a
 * stretch have come, but not the one for which the stream stood still, although the rings were emptied since. A
 * lack of room has the same effect, so the connection is barred only if that happens repeatedly.
 */
static bool loses_some(struct xiw_conn *c)
{
	uint32_t given = __atomic_load_n(&c->flow->reasons[XIW_REASON_UNSEEN], __ATOMIC_RELAXED);
	uint32_t now = (uint32_t)c->engine->now_ms;
	struct xiw_progress *s = &c->progress;
	bool another = given != s->given;

	s->given = given;
	if (!another || c->flow->seen != c->flow->try_seen || !rings_emptied(c))
		return false;
	if (!s->lost || now - s->lost_ms >= LASTING_MS) {
		s->lost = 0;
		s->lost_ms = now;
	}
	s->lost += weight(c);
	return frames_are_lost(c, s->lost >= LOST * CERTAIN);
}

/*
 * XDP has taken a stretch back, and the engine, which has emptied the rings since, saw none of its frames, so its
 * frames do not reach us. If other connections' frames do, it may have been a ring that was full.
 */
bool xiw_progress_loses(struct xiw_conn *c)
{
	struct xiw_progress *s = &c->progress;
	uint32_t taken_back = given_up(c->flow);
	/* Stretches that have begun, and frames that began none. */
	uint64_t seen = c->counts.went_direct + c->flow->seen;
	bool all = false, some;

	if (seen != s->seen) {
		s->unseen = 0;
	} else if (s->armed && taken_back != s->taken_back && rings_emptied(c)) {
		s->unseen += weight(c);
		all = frames_are_lost(c, s->unseen >= (c->netif->frames_come ? 2 : 1) * CERTAIN);
	}
	some = loses_some(c);
	s->taken_back = taken_back;
	s->seen = seen;
	return all || some;
}
