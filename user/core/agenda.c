// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the turn still has to do. Code that is in the middle of something, a delivery above all, never ends a
 * connection or sends for it: it notes here that this is to be done, and the turn does it (engine/turn.c).
 */
#include "core/agenda.h"

#include <sys/socket.h>

#include "core/budget.h"

void xiw_wake_at(struct xiw_engine *e, uint64_t ms)
{
	if (ms < e->wheel.next_ms)
		e->wheel.next_ms = ms;
}

void xiw_dirty(struct xiw_conn *c)
{
	if (c->dirty)
		return;
	c->dirty = true;
	c->next_dirty = c->engine->agenda.dirty;
	c->engine->agenda.dirty = c;
}

/*
 * The incoming stream is in error: it ends here, is reported once, and nothing of it is passed up any more.
 * The rest, xiw_conn_failed(), waits for the end of the batch, since this is called from the middle of one.
 */
void xiw_conn_stream_error(struct xiw_conn *c, enum xiw_mpa_error mpa, enum xiw_ddp_error ddp)
{
	if (c->rx_dead)
		return;
	c->rx_dead = true;
	c->end.failing = true;
	c->end.mpa_error = mpa;
	c->end.ddp_error = ddp;
	xiw_dirty(c);
}

/*
 * From wherever that is found out, the middle of a delivery as well. The turn ends the connection when what has
 * arrived before was delivered: in the socket, in buffers that wait for room in the completion queue, and in
 * frames. The application's xiw_conn_abort() does not wait for that.
 */
void xiw_conn_ask_end(struct xiw_conn *c, int error, bool at_once)
{
	if (c->state == XIW_DEAD)
		return;
	c->end.at_once |= at_once;
	if (c->end.asked)
		return;
	c->end.asked = true;
	c->end.asked_error = error;
	c->end.next_ending = c->engine->agenda.ending;
	c->engine->agenda.ending = c;
	/* The receive that is under way gives what there is, and then the end. */
	if (!at_once && !c->end.eof && c->fd >= 0)
		shutdown(c->fd, SHUT_RD);
}

/* The connection was reset, or lost by a time-out (RFC 5044 section 8). */
void xiw_conn_broken(struct xiw_conn *c, int error)
{
	if (!c->end.mpa_error && !c->end.ddp_error)
		c->end.mpa_error = XIW_MPA_ERR_CLOSED;
	xiw_conn_ask_end(c, error, false);
}

void xiw_ends_forget(struct xiw_conn *c)
{
	struct xiw_conn **at = &c->engine->agenda.ending;

	while (*at && *at != c)
		at = &(*at)->end.next_ending;
	if (*at)
		*at = c->end.next_ending;
}

/* Something is wrong: look in this turn. */
void xiw_watch_soon(struct xiw_engine *e)
{
	e->watch.look_ms = e->now_ms;
	xiw_wake_at(e, e->watch.look_ms);
}

/* What the connection has until it is freed. */
bool xiw_conn_charge(struct xiw_conn *c, size_t n)
{
	if (!xiw_budget_take(&c->engine->budget, n))
		return false;
	c->memory += n;
	return true;
}
