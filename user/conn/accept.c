// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Accepts connections for a listener, and begins their startup. */
#include "conn/accept.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn/conn.h"
#include "conn/crowd.h"
#include "conn/listener.h"
#include "conn/sockopts.h"
#include "conn/startup.h"
#include "conn/unstarted.h"
#include "core/agenda.h"
#include "core/peer.h"
#include "core/ring.h"

#define RETRY_MS 100

/*
 * Says whether descriptors or memory are exhausted. The connection then waits in the backlog, and an immediate
 * retry would spin.
 */
static bool exhausted(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOBUFS;
}

static int make(struct xiw_listener *l, const struct sockaddr_storage *peer, struct xiw_conn **c)
{
	int err = xiw_unstarted_admit(l, peer);

	if (err)
		xiw_listener_crowded(l);
	return err == -EBUSY ? -EUSERS : xiw_conn_new(l->engine, false, &l->opts, c);
}

/* Makes a connection of an accepted socket. On failure the caller closes the socket. */
static int take(struct xiw_listener *l, int fd)
{
	struct sockaddr_storage peer = {};
	socklen_t len = sizeof(peer);
	struct xiw_crowd_peer *share = NULL;
	struct xiw_conn *c;
	int err;

	if (l->closing)
		return -ECANCELED;
	getpeername(fd, (struct sockaddr *)&peer, &len);
	err = l->crowd ? xiw_crowd_enter(l->crowd, xiw_peer_key(&peer), &share) : 0;
	if (err == -EDQUOT)
		xiw_listener_refused(l, &peer);
	if (err)
		return err;
	err = make(l, &peer, &c);
	if (err) {
		xiw_crowd_exit(share);
		return err;
	}
	l->told = 0;
	c->unstarted.crowd = share;
	c->fd = fd;
	c->addr.remote = peer;
	c->state = XIW_LISTENING;
	xiw_unstarted_add(c, l);
	/* It has inherited the listener's options, unless it waited before a listener of the application's had them. */
	if (!l->sock_was.limited)
		xiw_sock_prepare(fd, l->engine, XIW_USE_KERNEL, &c->sock_was);
	c->sock_was = l->sock_was;
	c->sock_was.nonblock = false;
	xiw_startup_begin(c, NULL);
	return 0;
}

void xiw_accepted(struct xiw_listener *l, int fd)
{
	int err = take(l, fd);

	if (!err)
		return;
	xiw_sock_reset(fd);
	if (!l->closing && err != -EUSERS && err != -EDQUOT)
		xiw_not_accepted(l, err);
}

void xiw_accept_done(struct xiw_listener *l, int res, uint32_t flags)
{
	if (!(flags & IORING_CQE_F_MORE)) {
		l->armed = false;
		l->engine->accepts--;
	}
	if (res >= 0)
		res = xiw_sock_raised(res);
	if (res >= 0 && !(l->engine->group && l->engine->group_ops->accepted(l, res)))
		xiw_accepted(l, res);
	if (l->armed)
		return;
	if (l->closing) {
		xiw_ring_forget(l->engine, l->fd);
		close(l->fd);
		l->fd = -1;
		if (l->freed)
			xiw_listener_forget(l);
	} else if (exhausted(res)) {
		xiw_not_accepted(l, res);
		/* A connection that is reset closes its descriptor within this turn and the next. */
		l->retry_ms =
			l->engine->now_ms + (xiw_unstarted_make_way(l->engine) ? 1 : RETRY_MS);
		xiw_wake_at(l->engine, l->retry_ms);
	} else {
		xiw_accept_post(l);
	}
}
