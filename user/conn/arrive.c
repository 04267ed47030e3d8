// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "conn/arrive.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "conn/conn.h"
#include "conn/dial.h"
#include "conn/opts.h"
#include "conn/sockopts.h"
#include "core/agenda.h"
#include "core/cq.h"
#include "core/netif.h"
#include "core/timer.h"
#include "handoff/key.h"

/* ---- what travels ------------------------------------------------------------------------------------ */

int xiw_dial_new(const struct sockaddr *addr, socklen_t len, const struct xiw_conn_opts *opts,
		 struct xiw_dial **dial)
{
	struct xiw_dial *d;
	int err;

	if (len > sizeof(d->addr))
		return -EINVAL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	err = xiw_conn_opts_take(&d->opts, opts, true);
	if (err) {
		free(d);
		return err;
	}
	memcpy(&d->addr, addr, len);
	d->len = len;
	if (d->opts.private_data_len)
		memcpy(d->private_data, d->opts.private_data, d->opts.private_data_len);
	d->opts.private_data = d->private_data;
	d->fd = -1;
	*dial = d;
	return 0;
}

void xiw_dial_free(struct xiw_dial *d)
{
	if (d->fd >= 0)
		xiw_sock_reset(d->fd);
	free(d);
}

/* There is no connection that an event could name. */
static void tell_refused(struct xiw_engine *e, const struct xiw_dial *d, int err)
{
	const struct xiw_completion done = {
		.user_data = d->opts.user_data,
		.event = XIW_EV_REFUSED,
		.status = err,
	};

	xiw_complete_for(e, e, &done);
}

/* ---- the engine that opens it ------------------------------------------------------------------------ */

void xiw_dial_start(struct xiw_engine *e, struct xiw_dial *d)
{
	struct xiw_conn *c;
	int err = xiw_conn_new(e, true, &d->opts, &c);

	if (err) {
		tell_refused(e, d, err);
		xiw_dial_free(d);
		return;
	}
	c->end.known = false;
	c->startup.dial = d;
	memcpy(&c->addr.remote, &d->addr, d->len);
	c->addr.remote_len = d->len;
	err = xiw_connect_start(c);
	if (err)
		xiw_conn_ask_end(c, -err, true);
}

/* Returns the interface that a connection's SYN or SYN-ACK has come on, and its queue; NULL: it is not known. */
static const struct xiw_netif *arrival(const struct xiw_engine *e, int fd, uint32_t *queue)
{
	struct sockaddr_storage local = {}, remote = {};
	socklen_t local_len = sizeof(local), remote_len = sizeof(remote);
	struct xiw_flow_key key;

	if (!e->netifs || getsockname(fd, (struct sockaddr *)&local, &local_len) ||
	    getpeername(fd, (struct sockaddr *)&remote, &remote_len))
		return NULL;
	xiw_flow_key_set(&key, &remote, &local);
	for (const struct xiw_netif *p = e->netifs; p; p = p->next)
		if (xiw_table_arrival(&p->table, &key, queue))
			return p;
	return NULL;
}

uint32_t xiw_arrival_queue(const struct xiw_engine *e, int fd)
{
	uint32_t queue;

	return arrival(e, fd, &queue) ? queue : XIW_QUEUE_UNKNOWN;
}

bool xiw_arrival_astray(const struct xiw_conn *c)
{
	uint32_t queue;
	const struct xiw_netif *p = arrival(c->engine, c->fd, &queue);

	return p && queue < XIW_MAX_QUEUES && !(p->served >> queue & 1);
}

void xiw_arrival_hand_on(struct xiw_conn *c)
{
	struct xiw_dial *d = c->startup.dial;
	struct xiw_engine *e = c->engine;

	d->queue = xiw_arrival_queue(e, c->fd);
	d->fd = c->fd;
	d->sock_was = c->sock_was;
	/* The connection's last request has completed, so xiw_conn_op_done() frees it. */
	c->fd = -1;
	c->startup.dial = NULL;
	c->state = XIW_DEAD;
	c->end.freed = true;
	d->connected(e, d);
}

/* ---- the engine that gets it -------------------------------------------------------------------------- */

void xiw_arrival_take(struct xiw_engine *e, struct xiw_dial *d)
{
	struct xiw_conn *c;
	socklen_t len;
	int err = xiw_conn_new_equipped(e, true, &d->opts, &c);

	if (err) {
		tell_refused(e, d, err);
		xiw_dial_free(d);
		return;
	}
	c->end.known = false;
	c->fd = d->fd;
	c->sock_was = d->sock_was;
	len = sizeof(c->addr.local);
	getsockname(c->fd, (struct sockaddr *)&c->addr.local, &len);
	c->addr.remote_len = sizeof(c->addr.remote);
	getpeername(c->fd, (struct sockaddr *)&c->addr.remote, &c->addr.remote_len);
	c->startup.arrived = true;
	d->fd = -1;
	xiw_dial_free(d);
	xiw_conn_deadline(c, XIW_LIMIT_NONE, 0);
	xiw_conn_event(c, XIW_EV_ARRIVED, 0);
}
