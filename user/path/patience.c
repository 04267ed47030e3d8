// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "path/patience.h"

#include "core/timer.h"
#include "path/hold.h"

bool xiw_patience_begin(struct xiw_conn *c, const struct xiw_segment *s,
			const struct xiw_tcp_take *rest, struct xiw_rxq *rxq)
{
	uint64_t until = xiw_hold_count(c) + XIW_PATIENCE_MS;

	/* A connection that has all that it may have is not told when it may have more. */
	if (until <= c->engine->now_ms || xiw_hold_at_limit(c))
		return false;
	c->keeps.hand = xiw_keep(c, s);
	if (!c->keeps.hand)
		return false;
	c->keeps.hand->rxq = rxq;
	c->keeps.rest = *rest;
	if (!c->keeps.waiting)
		c->keeps.waiting_end = &c->keeps.waiting;
	c->keeps.go_on = false;
	c->timer.hold_ms = until < c->hold.until_ms ? until : c->hold.until_ms;
	xiw_timer(c);
	return true;
}

bool xiw_patience_keep(struct xiw_conn *c, const struct xiw_segment *s)
{
	struct xiw_kept *k = xiw_keep(c, s);

	if (!k)
		return false;
	k->next_free = NULL;
	*c->keeps.waiting_end = k;
	c->keeps.waiting_end = &k->next_free;
	return true;
}

struct xiw_kept *xiw_patience_over(struct xiw_conn *c)
{
	struct xiw_kept *k = c->keeps.hand;

	if (!k)
		return NULL; /* the timer may be that of a hold (path/hold.h) */
	c->keeps.hand = NULL;
	c->keeps.go_on = false;
	c->timer.hold_ms = XIW_NEVER;
	return k;
}
