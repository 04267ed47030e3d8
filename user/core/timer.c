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

static struct xiw_conn **slot_of(struct xiw_engine *e, uint64_t ms)
{
	return &e->wheel[ms % XIW_WHEEL];
}

void xiw_timer_stop(struct xiw_conn *c)
{
	if (!c->timer_at)
		return;
	*c->timer_at = c->timer_next;
	if (c->timer_next)
		c->timer_next->timer_at = c->timer_at;
	c->timer_at = NULL;
	c->engine->timers--;
}

void xiw_timer(struct xiw_conn *c)
{
	uint64_t at = c->deadline_ms < c->ack_ms ? c->deadline_ms : c->ack_ms;
	struct xiw_engine *e = c->engine;

	if (c->stuck.due_ms < at)
		at = c->stuck.due_ms;
	if (at == XIW_NEVER || (c->timer_at && c->timer_ms <= at))
		return;
	xiw_timer_stop(c);
	if (!e->timers)
		e->wheel_ms = e->now_ms;
	if (at <= e->now_ms)
		at = e->now_ms + 1;
	/* Beyond the wheel's turn: looked at then, and put on again. */
	if (at - e->wheel_ms >= XIW_WHEEL)
		at = e->wheel_ms + XIW_WHEEL - 1;
	c->timer_ms = at;
	c->timer_at = slot_of(e, at);
	c->timer_next = *c->timer_at;
	if (c->timer_next)
		c->timer_next->timer_at = &c->timer_next;
	*c->timer_at = c;
	e->timers++;
	xiw_wake_at(e, at);
}

void xiw_conn_deadline(struct xiw_conn *c, enum xiw_limit limit, unsigned int ms)
{
	/* The application may not have run the engine for long. */
	if (limit != XIW_LIMIT_NONE)
		xiw_look_at_clock(c->engine);
	c->limit = limit;
	c->deadline_ms = limit == XIW_LIMIT_NONE ? XIW_NEVER : c->engine->now_ms + ms;
	xiw_timer(c);
}

/* A connection has left its slot, which the kernel may need for a while yet. */
void xiw_collect_soon(struct xiw_engine *e)
{
	if (e->collect_ms == XIW_NEVER)
		e->collect_ms = e->now_ms + XIW_COLLECT_MS;
	xiw_wake_at(e, e->collect_ms);
}

/* The next connection whose time has come, off the wheel; NULL: there is none. */
struct xiw_conn *xiw_timer_due(struct xiw_engine *e)
{
	struct xiw_conn *c;

	if (e->now_ms - e->wheel_ms > XIW_WHEEL)
		e->wheel_ms = e->now_ms - XIW_WHEEL;
	while (e->timers) {
		c = *slot_of(e, e->wheel_ms);
		if (c && e->wheel_ms <= e->now_ms) {
			xiw_timer_stop(c);
			return c;
		}
		if (e->wheel_ms >= e->now_ms)
			break;
		e->wheel_ms++;
	}
	return NULL;
}

/* The engine is to be woken when the next time on the wheel comes. */
void xiw_timer_wake(struct xiw_engine *e)
{
	for (uint64_t ms = e->wheel_ms + 1; e->timers && ms < e->next_scan_ms; ms++)
		if (*slot_of(e, ms))
			xiw_wake_at(e, ms);
}
