// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Stages: the memory in which FPDUs wait for the socket. A connection has a stage only while it has something
 * to send. If the engine's budget has none left, the connection waits for one.
 */
#include "conn/stage.h"

#include <stdlib.h>

#include "core/agenda.h"
#include "core/budget.h"

#define STAGES 8 /* unused stages that are kept */

bool xiw_stage_take(struct xiw_conn *c)
{
	struct xiw_engine *e = c->engine;
	struct xiw_stage *s = e->pools.stages;

	if (c->send.stage)
		return true;
	if (s) {
		e->pools.stages = s->next;
		e->pools.nstages--;
	} else if (xiw_budget_take(&e->budget, sizeof(*s))) {
		s = malloc(sizeof(*s));
		if (!s)
			xiw_budget_give(&e->budget, sizeof(*s));
	}
	if (!s)
		return false;
	s->nends = 0;
	s->full = false;
	c->send.stage = s;
	c->send.stage_ms = e->now_ms;
	return true;
}

void xiw_stage_free(struct xiw_conn *c)
{
	xiw_budget_free(&c->engine->budget, c->send.stage, sizeof(struct xiw_stage));
	c->send.stage = NULL;
}

/* The stage that was used last is used next, because the caches still have it. So a few are enough. */
void xiw_stage_put(struct xiw_conn *c)
{
	struct xiw_engine *e = c->engine;
	struct xiw_stage *s = c->send.stage;

	if (!s || c->send.busy || c->send.stage_len || c->send.count)
		return;
	if (e->pools.nstages == STAGES) {
		xiw_stage_free(c);
		return;
	}
	c->send.stage = NULL;
	s->next = e->pools.stages;
	e->pools.stages = s;
	e->pools.nstages++;
}

void xiw_stages_free(struct xiw_engine *e)
{
	struct xiw_stage *s;

	while ((s = e->pools.stages)) {
		e->pools.stages = s->next;
		xiw_budget_free(&e->budget, s, sizeof(*s));
	}
}

void xiw_stage_await(struct xiw_conn *c)
{
	struct xiw_engine *e = c->engine;

	e->short_of_memory = true;
	if (c->send.stageless_at)
		return;
	c->send.next_stageless = NULL;
	c->send.stageless_at = e->agenda.stageless_end;
	*e->agenda.stageless_end = c;
	e->agenda.stageless_end = &c->send.next_stageless;
}

void xiw_stage_forget(struct xiw_conn *c)
{
	if (!c->send.stageless_at)
		return;
	*c->send.stageless_at = c->send.next_stageless;
	if (c->send.next_stageless)
		c->send.next_stageless->send.stageless_at = c->send.stageless_at;
	else
		c->engine->agenda.stageless_end = c->send.stageless_at;
	c->send.stageless_at = NULL;
}

/* The connection that has waited longest takes a stage, and its sends go on in this turn. */
void xiw_stage_retry(struct xiw_engine *e)
{
	struct xiw_conn *c;

	while ((c = e->agenda.stageless)) {
		if (c->state == XIW_OPEN && !xiw_stage_take(c)) {
			e->short_of_memory = true;
			return;
		}
		xiw_stage_forget(c);
		xiw_dirty(c);
	}
}
