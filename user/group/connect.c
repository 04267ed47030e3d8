// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections of a group as an Initiator. The engines take turns in opening them. The open connection goes to the
 * engine of the queue that the peer's SYN-ACK came on, by its inbox. It passes the inbox of the engine that opened it
 * first, because the group's lock must not be taken within a turn.
 */
#include <errno.h>

#include "conn/arrive.h"
#include "core/inbox.h"
#include "group/group.h"

static struct xiw_dial *dial_of(struct xiw_note *note)
{
	return (void *)((char *)note - offsetof(struct xiw_dial, note));
}

/* In the thread of the engine that gets it. */
static void arrive(struct xiw_engine *e, struct xiw_note *note)
{
	if (e->destroying)
		xiw_dial_free(dial_of(note));
	else
		xiw_arrival_take(e, dial_of(note));
}

/* In the thread of the engine that has opened it, between two turns. */
static void forward(struct xiw_engine *e, struct xiw_note *note)
{
	struct xiw_dial *d = dial_of(note);
	struct xiw_group *g = e->group;
	struct xiw_engine *to;

	if (e->destroying) {
		xiw_dial_free(d);
		return;
	}
	d->note.run = arrive;
	pthread_mutex_lock(&g->lock);
	to = xiw_group_serving(g, d->queue);
	xiw_inbox_put(to ? to : e, &d->note);
	pthread_mutex_unlock(&g->lock);
}

static void connected(struct xiw_engine *e, struct xiw_dial *d)
{
	d->note.run = forward;
	if (!xiw_inbox_put(e, &d->note))
		xiw_dial_free(d);
}

static void start(struct xiw_engine *e, struct xiw_note *note)
{
	if (e->destroying)
		xiw_dial_free(dial_of(note));
	else
		xiw_dial_start(e, dial_of(note));
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
	d->note.run = start;
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
