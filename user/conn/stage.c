// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Stages: the memory in which FPDUs wait for the socket. A connection has one only while it has something to send,
 * and if the engine's budget has none left, it waits for one.
 */
#include "conn/stage.h"

#include <stdlib.h>

#include "core/agenda.h"
#include "core/budget.h"

#define STAGES 8 /* kept while nobody needs them */

bool xiw_stage_take(struct xiw_conn *c)
{
	struct xiw_engine *e = c->engine;
	struct xiw_stage *s = e->stages;

	if (c->stage)
		return true;
	if (s) {
		e->stages = s->next;
		e->nstages--;
	} else if (xiw_budget_take(&e->budget, sizeof(*s))) {
		s = malloc(sizeof(*s));
		if (!s)
			xiw_budget_give(&e->budget, sizeof(*s));
	}
	if (!s)
		return false;
	s->nends = 0;
	s->full = false;
	c->stage = s;
	c->stage_ms = e->now_ms;
	return true;
}

void xiw_stage_free(struct xiw_conn *c)
{
	xiw_budget_free(&c->engine->budget, c->stage, sizeof(struct xiw_stage));
	c->stage = NULL;
}

/* The one that was used last is used next, and the caches have it; so a few are enough. */
void xiw_stage_put(struct xiw_conn *c)
{
	struct xiw_engine *e = c->engine;
	struct xiw_stage *s = c->stage;

	if (!s || c->sending || c->stage_len || c->send_count)
		return;
	if (e->nstages == STAGES) {
		xiw_stage_free(c);
		return;
	}
	c->stage = NULL;
	s->next = e->stages;
	e->stages = s;
	e->nstages++;
}

void xiw_stages_free(struct xiw_engine *e)
{
	struct xiw_stage *s;

	while ((s = e->stages)) {
		e->stages = s->next;
		xiw_budget_free(&e->budget, s, sizeof(*s));
	}
}

/* No stage is to be had: sending waits for one, first come, first served. */
void xiw_stage_await(struct xiw_conn *c)
{
	struct xiw_engine *e = c->engine;

	e->short_of_memory = true;
	if (c->stageless_at)
		return;
	c->next_stageless = NULL;
	c->stageless_at = e->stageless_end;
	*e->stageless_end = c;
	e->stageless_end = &c->next_stageless;
}

void xiw_stage_forget(struct xiw_conn *c)
{
	if (!c->stageless_at)
		return;
	*c->stageless_at = c->next_stageless;
	if (c->next_stageless)
		c->next_stageless->stageless_at = c->stageless_at;
	else
		c->engine->stageless_end = c->stageless_at;
	c->stageless_at = NULL;
}

/* Every turn: the first one takes what there is, and with it the turn goes on. */
void xiw_stage_retry(struct xiw_engine *e)
{
	struct xiw_conn *c;

	while ((c = e->stageless)) {
		if (c->state == XIW_OPEN && !xiw_stage_take(c)) {
			e->short_of_memory = true;
			return;
		}
		xiw_stage_forget(c);
		xiw_dirty(c);
	}
}
