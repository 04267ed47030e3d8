// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Time: when a connection is to be looked at, for its startup, its last message or a delayed ACK; and the
 * slots that connections left behind. A wheel of milliseconds, so that a turn costs what is due in it and
 * not what exists: a thousand connections, each with an ACK delayed now and then, have one due in most of
 * them.
 *
 * A connection is on the wheel at or before the time it is wanted. Times move later far more often than
 * earlier: then it stays where it is, and finds when its time comes that there is nothing to do yet.
 */
#include "core/timer.h"

#include "core/agenda.h"
#include "core/clock.h"

static struct xiw_conn **bucket_of(struct xiw_engine *e, uint64_t ms)
{
	return &e->wheel.slots[ms % XIW_WHEEL];
}

void xiw_timer_stop(struct xiw_conn *c)
{
	if (!c->timer.at)
		return;
	*c->timer.at = c->timer.next;
	if (c->timer.next)
		c->timer.next->timer.at = c->timer.at;
	c->timer.at = NULL;
	c->engine->wheel.n--;
}

void xiw_timer(struct xiw_conn *c)
{
	uint64_t at = c->timer.deadline_ms < c->timer.ack_ms ? c->timer.deadline_ms
							     : c->timer.ack_ms;
	struct xiw_engine *e = c->engine;

	if (c->progress.due_ms < at)
		at = c->progress.due_ms;
	if (at == XIW_NEVER || (c->timer.at && c->timer.at_ms <= at))
		return;
	xiw_timer_stop(c);
	if (!e->wheel.n)
		e->wheel.ms = e->now_ms;
	if (at <= e->now_ms)
		at = e->now_ms + 1;
	/* Beyond the wheel's turn: looked at then, and put on again. */
	if (at - e->wheel.ms >= XIW_WHEEL)
		at = e->wheel.ms + XIW_WHEEL - 1;
	c->timer.at_ms = at;
	c->timer.at = bucket_of(e, at);
	c->timer.next = *c->timer.at;
	if (c->timer.next)
		c->timer.next->timer.at = &c->timer.next;
	*c->timer.at = c;
	e->wheel.n++;
	xiw_wake_at(e, at);
}

void xiw_conn_deadline(struct xiw_conn *c, enum xiw_limit limit, unsigned int ms)
{
	/* The application may not have run the engine for long. */
	if (limit != XIW_LIMIT_NONE)
		xiw_clock_update(c->engine);
	c->timer.limit = limit;
	c->timer.deadline_ms = limit == XIW_LIMIT_NONE ? XIW_NEVER : c->engine->now_ms + ms;
	xiw_timer(c);
}

/* A connection has left its slot, which the kernel may need for a while yet. */
void xiw_collect_soon(struct xiw_engine *e)
{
	if (e->wheel.collect_ms == XIW_NEVER)
		e->wheel.collect_ms = e->now_ms + XIW_COLLECT_MS;
	xiw_wake_at(e, e->wheel.collect_ms);
}

/* The next connection whose time has come, off the wheel; NULL: there is none. */
struct xiw_conn *xiw_timer_due(struct xiw_engine *e)
{
	struct xiw_conn *c;

	if (e->now_ms - e->wheel.ms > XIW_WHEEL)
		e->wheel.ms = e->now_ms - XIW_WHEEL;
	while (e->wheel.n) {
		c = *bucket_of(e, e->wheel.ms);
		if (c && e->wheel.ms <= e->now_ms) {
			xiw_timer_stop(c);
			return c;
		}
		if (e->wheel.ms >= e->now_ms)
			break;
		e->wheel.ms++;
	}
	return NULL;
}

/* The engine is to be woken when the next time on the wheel comes. */
void xiw_timer_wake(struct xiw_engine *e)
{
	for (uint64_t ms = e->wheel.ms + 1; e->wheel.n && ms < e->wheel.next_ms; ms++)
		if (*bucket_of(e, ms))
			xiw_wake_at(e, ms);
}
