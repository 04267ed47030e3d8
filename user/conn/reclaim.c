// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reclaims memory when the budget cannot give a connection what it needs to go on. A peer that has begun an
 * FPDU and does not finish it, or does not read what it asked for, holds memory for as long as it likes. The
 * connection that has done so for the longest time is ended. If there is none, the connections that need the
 * memory are ended.
 */
#include "conn/reclaim.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "core/agenda.h"

#define STALE_MS 2000
#define LOOK_MS 50
#define VICTIMS 16 /* in one turn */

/* Returns since when the connection holds memory and makes no progress; XIW_NEVER if it does not. */
static uint64_t stuck_since(const struct xiw_conn *c)
{
	uint64_t since = XIW_NEVER;

	if (c->state == XIW_DEAD || c->end.asked)
		return since;
	if (c->mpa.room)
		since = c->recv.fpdu_ms;
	if (c->hold.room && c->hold.since_ms < since)
		since = c->hold.since_ms;
	if (c->send.stage && c->send.stage_ms < since)
		since = c->send.stage_ms;
	return since;
}

/* Returns the connection that has made no progress for the longest time, at least STALE_MS; or NULL. */
static struct xiw_conn *stalest(const struct xiw_engine *e)
{
	uint64_t until = e->now_ms - STALE_MS;
	struct xiw_conn *found = NULL;

	for (struct xiw_conn *c = e->conns; c; c = c->next) {
		uint64_t since = stuck_since(c);

		if (since <= until) {
			until = since;
			found = c;
		}
	}
	return found;
}

/*
 * Says whether a connection that seems to stand still only sends slowly. A send tells of its end only, and may be as
 * long as the stage. So TCP is asked whether the peer has acknowledged as much as a run since this was last so.
 */
static bool sends_slowly(struct xiw_conn *c)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (!c->send.busy || c->send.stage_ms + STALE_MS > c->engine->now_ms ||
	    getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len) ||
	    info.tcpi_bytes_acked - c->send.acked < XIW_RUN_MAX)
		return false;
	c->send.acked = info.tcpi_bytes_acked;
	c->send.stage_ms = c->engine->now_ms;
	return true;
}

void xiw_reclaim(struct xiw_engine *e)
{
	bool some = false;
	struct xiw_conn *c, *next;

	e->short_of_memory = false;
	/*
	 * Connections that wait for a stage ask in every turn, so the search runs once in LOOK_MS. Only a receive
	 * that is short of memory does not wait.
	 */
	for (c = e->conns; c && !c->recv.hungry; c = c->next)
		;
	if (!c && e->now_ms < e->reclaim_ms)
		return;
	e->reclaim_ms = e->now_ms + LOOK_MS;
	for (int i = 0; i < VICTIMS && (c = stalest(e)); i++) {
		if (sends_slowly(c))
			continue;
		xiw_conn_ask_end(c, ENOMEM, true);
		some = true;
	}
	for (c = e->conns; c; c = next) {
		next = c->next;
		if (c->recv.hungry && !some)
			xiw_conn_ask_end(c, ENOMEM, true);
		c->recv.hungry = false;
	}
}
