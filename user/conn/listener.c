// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Listeners: how they are made and closed, and what they tell the application. */
#include "conn/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/socket.h"
#include "conn/accept.h"
#include "conn/crowd.h"
#include "conn/opts.h"
#include "conn/sockopts.h"
#include "conn/unstarted.h"
#include "core/agenda.h"
#include "core/cq.h"
#include "core/orphan.h"
#include "core/ring.h"

#define BACKLOG 1024

void xiw_accept_post(struct xiw_listener *l)
{
	io_uring_prep_multishot_accept(xiw_sqe(l->engine, l, XIW_OP_ACCEPT), l->fd, NULL, NULL,
				       SOCK_CLOEXEC);
	l->armed = true;
	l->engine->accepts++;
}

int xiw_listener_bound(const struct xiw_engine *e, const struct xiw_conn_opts *opts,
		       const struct sockaddr *addr, socklen_t len, bool shared,
		       struct xiw_sock_was *was)
{
	const int one = 1;
	int fd = xiw_socket_tcp(addr->sa_family), err;

	if (fd < 0)
		return -errno;
	err = opts->prepare ? opts->prepare(fd, opts->prepare_ctx) : 0;
	if (!err) {
		xiw_sock_prepare(fd, e, opts->path, was);
		xiw_sock_limit(fd, opts, was);
		if (!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) &&
		    (!shared || !setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one))) &&
		    !bind(fd, addr, len))
			return fd;
		err = -errno;
	}
	close(fd);
	return err;
}

int xiw_listener_listen(int fd, int backlog)
{
	return listen(fd, backlog ? backlog : BACKLOG) ? -errno : 0;
}

int xiw_listener_socket(const struct xiw_engine *e, const struct xiw_conn_opts *opts,
			const struct sockaddr *addr, socklen_t len, bool shared,
			struct xiw_sock_was *was)
{
	int fd = xiw_listener_bound(e, opts, addr, len, shared, was);
	int err = fd < 0 ? fd : xiw_listener_listen(fd, opts->backlog);

	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

/* Whoever asks for a backlog expects this many connections at once, also from one peer. */
static unsigned int at_least_backlog(const struct xiw_conn_opts *opts, unsigned int limit)
{
	return opts->backlog > 0 && (unsigned int)opts->backlog > limit
		       ? (unsigned int)opts->backlog
		       : limit;
}

void xiw_listener_discard(struct xiw_listener *l)
{
	xiw_crowd_leave(l->crowd);
	free(l);
}

struct xiw_listener *xiw_listener_new(struct xiw_engine *e, const struct xiw_conn_opts *opts,
				      struct xiw_crowd *crowd)
{
	struct xiw_listener *l = aligned_alloc(64, (sizeof(*l) + 63) & ~63ul);

	if (!l)
		return NULL;
	memset(l, 0, sizeof(*l));
	l->engine = e;
	l->fd = -1;
	l->retry_ms = XIW_NEVER;
	l->opts = *opts;
	if (!l->opts.max_unstarted)
		l->opts.max_unstarted = at_least_backlog(&l->opts, e->opts.max_unstarted);
	if (!l->opts.max_unstarted_peer)
		l->opts.max_unstarted_peer =
			at_least_backlog(&l->opts, xiw_unstarted_part(l->opts.max_unstarted, 2));
	if (!l->opts.capacity)
		return l;
	l->crowd = crowd ? xiw_crowd_share(crowd) : xiw_crowd_new(l->opts.capacity);
	if (l->crowd)
		return l;
	free(l);
	return NULL;
}

static void enlist(struct xiw_listener *l)
{
	l->next = l->engine->listeners;
	l->engine->listeners = l;
}

/* The accept is posted only when the engine runs. A listener that is freed before that closes at once. */
static void accept_soon(struct xiw_listener *l)
{
	l->started = true;
	if (l->engine->io.enabled) {
		xiw_accept_post(l);
	} else {
		l->retry_ms = 0;
		xiw_wake_at(l->engine, 0);
	}
}

void xiw_listener_begin(struct xiw_listener *l)
{
	enlist(l);
	accept_soon(l);
}

int xiw_listener_bind(struct xiw_engine *e, const struct sockaddr *addr, socklen_t len,
		      const struct xiw_conn_opts *opts, struct xiw_listener **listener)
{
	struct xiw_conn_opts own;
	struct xiw_listener *l;
	int err = xiw_conn_opts_take(&own, opts, false);

	if (err)
		return err;
	l = xiw_listener_new(e, &own, NULL);
	if (!l)
		return -ENOMEM;
	l->fd = xiw_listener_bound(e, &own, addr, len, false, &l->sock_was);
	if (l->fd < 0) {
		err = l->fd;
		xiw_listener_discard(l);
		return err;
	}
	enlist(l);
	*listener = l;
	return 0;
}

/* Does a socket of the application's listen? Returns 1 or 0, or an error. */
static int check_given(int fd)
{
	struct tcp_info info = {};
	int protocol = 0;
	socklen_t len = sizeof(protocol);

	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len))
		return -errno;
	len = sizeof(info);
	if (protocol != IPPROTO_TCP || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) ||
	    (info.tcpi_state != TCP_LISTEN && info.tcpi_state != TCP_CLOSE))
		return -EINVAL;
	return info.tcpi_state == TCP_LISTEN;
}

int xiw_listener_from_fd(struct xiw_engine *e, int fd, const struct xiw_conn_opts *opts,
			 struct xiw_listener **listener)
{
	struct xiw_conn_opts own;
	struct xiw_listener *l;
	int err = xiw_conn_opts_take(&own, opts, false), listens = check_given(fd);

	if (err || listens < 0)
		return err ? err : listens;
	l = xiw_listener_new(e, &own, NULL);
	if (!l)
		return -ENOMEM;
	l->fd = fd;
	l->listens = listens;
	xiw_sock_prepare(fd, e, own.path, &l->sock_was);
	enlist(l);
	*listener = l;
	return 0;
}

int xiw_listener_start(struct xiw_listener *l, int backlog)
{
	int err = 0;

	if (!l->engine || l->closing)
		return -ESHUTDOWN;
	if (l->started)
		return -EALREADY;
	if (!backlog)
		backlog = l->opts.backlog;
	if (!l->listens || backlog)
		err = xiw_listener_listen(l->fd, backlog);
	if (!err)
		accept_soon(l);
	return err;
}

int xiw_listen(struct xiw_engine *e, const struct sockaddr *addr, socklen_t len,
	       const struct xiw_conn_opts *opts, struct xiw_listener **listener)
{
	struct xiw_listener *l;
	int err = xiw_listener_bind(e, addr, len, opts, &l);

	if (err)
		return err;
	err = xiw_listener_start(l, 0);
	if (err)
		xiw_listener_free(l);
	else
		*listener = l;
	return err;
}

int xiw_listener_addr(const struct xiw_listener *l, struct sockaddr_storage *addr, socklen_t *len)
{
	*len = sizeof(*addr);
	return getsockname(l->fd, (struct sockaddr *)addr, len) ? -errno : 0;
}

static void close_listener(struct xiw_listener *l)
{
	struct xiw_listener **at;

	for (at = &l->engine->listeners; *at && *at != l; at = &(*at)->next)
		;
	if (*at)
		*at = l->next;
	l->closing = true;
	xiw_unstarted_orphan(l);
	if (!l->armed) {
		xiw_ring_forget(l->engine, l->fd);
		close(l->fd);
		l->fd = -1;
		return;
	}
	/* The accept that is posted ends in xiw_accept_done(). */
	io_uring_prep_cancel64(xiw_sqe(l->engine, NULL, XIW_OP_NONE), (uintptr_t)l | XIW_OP_ACCEPT,
			       0);
	xiw_ring_submit(l->engine);
}

void xiw_listener_free(struct xiw_listener *l)
{
	if (!l || l->freed)
		return;
	l->freed = true;
	if (l->engine) {
		close_listener(l);
		xiw_cq_forget(&l->engine->cq, l);
	} else {
		xiw_orphan_remove(&l->orphan);
	}
	if (!l->armed) {
		xiw_listener_discard(l);
		return;
	}
	/*
	 * xiw_accept_done() frees it, or the end of the engine does, because the thread that runs the ring may
	 * have ended.
	 */
	l->next = l->engine->closed_listeners;
	l->engine->closed_listeners = l;
}

void xiw_listeners_end(struct xiw_engine *e)
{
	struct xiw_listener *l;

	while ((l = e->listeners)) {
		close_listener(l);
		l->next = e->closed_listeners;
		e->closed_listeners = l;
	}
}

void xiw_listeners_detach(struct xiw_engine *e)
{
	struct xiw_listener *l;

	while ((l = e->closed_listeners)) {
		e->closed_listeners = l->next;
		if (l->fd >= 0)
			close(l->fd);
		l->fd = -1;
		l->armed = false;
		l->engine = NULL;
		if (l->freed)
			xiw_listener_discard(l);
		else
			xiw_orphan_add(&l->orphan);
	}
}

void xiw_listener_forget(struct xiw_listener *l)
{
	struct xiw_listener **at = &l->engine->closed_listeners;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	xiw_listener_discard(l);
}

static void tell(struct xiw_listener *l, int err)
{
	struct xiw_completion done = {
		.user_data = l->opts.user_data,
		.event = XIW_EV_NOT_ACCEPTED,
		.status = err,
	};

	xiw_complete_for(l->engine, l, &done);
}

void xiw_not_accepted(struct xiw_listener *l, int err)
{
	if (!l)
		return;
	if (l->told != err)
		tell(l, err);
	l->told = err;
}

void xiw_listener_crowded(struct xiw_listener *l)
{
	uint64_t now = l->engine->now_ms;

	if (!l->crowded_ms || now - l->crowded_ms > l->opts.startup_timeout_ms)
		tell(l, -EUSERS);
	l->crowded_ms = now;
}

void xiw_listener_refused(struct xiw_listener *l, const struct sockaddr_storage *peer)
{
	struct xiw_engine *e = l->engine;

	e->unstarted.refused++;
	if (l->shared_ms && e->now_ms - l->shared_ms < l->opts.startup_timeout_ms)
		return;
	l->shared_ms = e->now_ms;
	e->unstarted.refused_peer = *peer;
	tell(l, -EDQUOT);
}

void xiw_accept_again(struct xiw_engine *e)
{
	for (struct xiw_listener *l = e->listeners; l; l = l->next) {
		if (l->retry_ms <= e->now_ms) {
			l->retry_ms = XIW_NEVER;
			xiw_accept_post(l);
		} else {
			xiw_wake_at(e, l->retry_ms);
		}
	}
}
