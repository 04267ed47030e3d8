// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections of a group as an Initiator. The engines take turns in opening them. The open connection goes to the
 * engine of the queue that the peer's SYN-ACK came on, by its inbox. It passes the inbox of the engine that opened it
 * first, because the group's lock must not be taken within a turn. If an engine ends meanwhile, another one goes on.
 */
#include <errno.h>

#include "conn/arrive.h"
#include "conn/conn.h"
#include "core/inbox.h"
#include "group/group.h"

/* Which engine does the next step, now that @e has got the note? NULL: none, as the group ends. */
static struct xiw_engine *next_engine(const struct xiw_group *g, struct xiw_engine *e,
				      const struct xiw_dial *d)
{
	struct xiw_engine *to;

	if (e->destroying)
		return g->ending ? NULL : xiw_group_any(g, 0);
	to = d->fd >= 0 ? xiw_group_serving(g, d->queue) : NULL;
	return to ? to : e;
}

/* In the thread of an engine, between two turns: opens the connection, takes it, or passes it on. */
static void step(struct xiw_engine *e, struct xiw_note *note)
{
	struct xiw_dial *d = (void *)((char *)note - offsetof(struct xiw_dial, note));
	struct xiw_group *g = d->group;
	struct xiw_engine *to;

	pthread_mutex_lock(&g->lock);
	to = next_engine(g, e, d);
	if (to && to != e)
		xiw_inbox_put(to, note);
	pthread_mutex_unlock(&g->lock);
	if (!to)
		xiw_dial_free(d);
	else if (to == e && d->fd >= 0)
		xiw_arrival_take(e, d);
	else if (to == e)
		xiw_dial_start(e, d);
}

static void connected(struct xiw_engine *e, struct xiw_dial *d)
{
	if (!xiw_inbox_put(e, &d->note))
		xiw_dial_free(d);
}

void xiw_group_dials_leave(struct xiw_group *g, struct xiw_engine *e)
{
	struct xiw_engine *to = g->ending ? NULL : xiw_group_any(g, 0);

	for (struct xiw_conn *c = e->conns, *next; to && c; c = next) {
		struct xiw_dial *d = c->startup.dial;

		next = c->next;
		if (!d || c->state == XIW_DEAD)
			continue;
		c->startup.dial = NULL;
		xiw_inbox_put(to, &d->note);
		xiw_conn_free(c);
	}
}

int xiw_group_connect(struct xiw_group *g, const struct sockaddr *addr, socklen_t len,
		      const struct xiw_conn_opts *opts)
{
	struct xiw_engine *e;
	struct xiw_dial *d;
	int err = xiw_dial_new(addr, len, opts, &d);

	if (err)
		return err;
	d->connected = connected;
	d->note.run = step;
	d->group = g;
	pthread_mutex_lock(&g->lock);
	e = xiw_group_any(g, g->next_dial++ % g->n);
	if (e)
		xiw_inbox_put(e, &d->note);
	pthread_mutex_unlock(&g->lock);
	if (e)
		return 0;
	xiw_dial_free(d);
	return -ESHUTDOWN;
}
