// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The agenda of the turn. Code that is in the middle of something, such as a delivery, must not end a connection or
 * send for it, since its callers go on using the connection. It notes the work here, and the turn (engine/turn.c)
 * does it later.
 */
#include "core/agenda.h"

#include <errno.h>
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

/* Called from the middle of a batch, so xiw_conn_failed(), which reports the error, waits for the batch's end. */
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
	/* The receive that is under way then returns the octets in the socket, and after them end of file. */
	if (!at_once && !c->end.eof && c->fd >= 0)
		shutdown(c->fd, SHUT_RD);
}

void xiw_retry(struct xiw_conn *c)
{
	if (c->recv.holder_at)
		return;
	c->recv.holder_at = &c->engine->agenda.holders;
	c->recv.next_holder = c->engine->agenda.holders;
	if (c->recv.next_holder)
		c->recv.next_holder->recv.holder_at = &c->recv.next_holder;
	c->engine->agenda.holders = c;
}

void xiw_retry_no_more(struct xiw_conn *c)
{
	if (!c->recv.holder_at)
		return;
	*c->recv.holder_at = c->recv.next_holder;
	if (c->recv.next_holder)
		c->recv.next_holder->recv.holder_at = c->recv.holder_at;
	c->recv.holder_at = NULL;
}

void xiw_tell_socket(struct xiw_conn *c)
{
	if (c->handoff.telling_at)
		return;
	c->handoff.telling_at = &c->engine->agenda.telling;
	c->handoff.next_telling = c->engine->agenda.telling;
	if (c->handoff.next_telling)
		c->handoff.next_telling->handoff.telling_at = &c->handoff.next_telling;
	c->engine->agenda.telling = c;
}

void xiw_tell_socket_no_more(struct xiw_conn *c)
{
	if (!c->handoff.telling_at)
		return;
	*c->handoff.telling_at = c->handoff.next_telling;
	if (c->handoff.next_telling)
		c->handoff.next_telling->handoff.telling_at = c->handoff.telling_at;
	c->handoff.telling_at = NULL;
}

void xiw_conn_broken(struct xiw_conn *c, int error)
{
	if (!c->end.mpa_error && !c->end.ddp_error)
		c->end.mpa_error = XIW_MPA_ERR_CLOSED;
	/* Where the link or the neighbour is gone, too, a socket's time-out has that for its error. */
	if (c->state == XIW_OPEN &&
	    (error == EHOSTUNREACH || error == ENETUNREACH || error == ENETDOWN))
		error = ETIMEDOUT;
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

void xiw_watch_soon(struct xiw_engine *e)
{
	e->watch.look_ms = e->now_ms;
	xiw_wake_at(e, e->watch.look_ms);
}

bool xiw_conn_charge(struct xiw_conn *c, size_t n)
{
	if (!xiw_budget_take(&c->engine->budget, n))
		return false;
	c->memory += n;
	return true;
}

void xiw_conn_uncharge(struct xiw_conn *c, size_t n)
{
	c->memory -= n;
	xiw_budget_give(&c->engine->budget, n);
}
