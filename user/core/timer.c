// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Timers: deadlines, delayed ACKs and silence on the direct path of connections, and the time to collect slots that
 * connections have left. Connections are on a wheel with one place per millisecond, so that a turn costs time for those
 * that are due and not for all that exist.
 *
 * A connection is on the wheel at or before its next time. Most changes make that time later. The connection then stays
 * where it is, and is put on again when its place comes up.
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
	if (c->progress.output.look_ms < at)
		at = c->progress.output.look_ms;
	if (c->timer.hold_ms < at)
		at = c->timer.hold_ms;
	if (c->timer.ulp_ms < at)
		at = c->timer.ulp_ms;
	if (at == XIW_NEVER || (c->timer.at && c->timer.at_ms <= at))
		return;
	xiw_timer_stop(c);
	if (!e->wheel.n)
		e->wheel.ms = e->now_ms;
	if (at <= e->now_ms)
		at = e->now_ms + 1;
	/* A time beyond the wheel's end: the connection takes the last place, and is put on again there. */
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
	/* now_ms may be old if the application has not run the engine for long. */
	if (limit != XIW_LIMIT_NONE)
		xiw_clock_update(c->engine);
	c->timer.limit = limit;
	c->timer.deadline_ms = limit == XIW_LIMIT_NONE ? XIW_NEVER : c->engine->now_ms + ms;
	xiw_timer(c);
}

/* The slots are collected later because the kernel's socket may still need their translation for a while. */
void xiw_collect_soon(struct xiw_engine *e)
{
	if (e->wheel.collect_ms == XIW_NEVER)
		e->wheel.collect_ms = e->now_ms + XIW_COLLECT_MS;
	xiw_wake_at(e, e->wheel.collect_ms);
}

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

void xiw_timer_wake(struct xiw_engine *e)
{
	for (uint64_t ms = e->wheel.ms + 1; e->wheel.n && ms < e->wheel.next_ms; ms++)
		if (*bucket_of(e, ms))
			xiw_wake_at(e, ms);
}
