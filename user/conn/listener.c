// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Listeners: how they are made and closed, and what they tell the application. */
#include "conn/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn/accept.h"
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

int xiw_listener_socket(const struct xiw_engine *e, enum xiw_use_path path,
			const struct sockaddr *addr, socklen_t len, bool shared,
			struct xiw_sock_was *was)
{
	const int one = 1;
	int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP), err;

	if (fd < 0)
		return -errno;
	xiw_sock_prepare(fd, e, path, was);
	if (!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) &&
	    (!shared || !setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one))) &&
	    !bind(fd, addr, len) && !listen(fd, BACKLOG))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

struct xiw_listener *xiw_listener_new(struct xiw_engine *e, const struct xiw_conn_opts *opts)
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
		l->opts.max_unstarted = e->opts.max_unstarted;
	if (!l->opts.max_unstarted_peer)
		l->opts.max_unstarted_peer = (l->opts.max_unstarted + 1) / 2;
	return l;
}

void xiw_listener_begin(struct xiw_listener *l)
{
	struct xiw_engine *e = l->engine;

	l->next = e->listeners;
	e->listeners = l;
	/*
	 * The accept is posted only when the engine runs. A listener that is freed before that closes at once.
	 */
	if (e->io.enabled) {
		xiw_accept_post(l);
	} else {
		l->retry_ms = 0;
		xiw_wake_at(e, 0);
	}
}

int xiw_listen(struct xiw_engine *e, const struct sockaddr *addr, socklen_t len,
	       const struct xiw_conn_opts *opts, struct xiw_listener **listener)
{
	struct xiw_conn_opts own;
	struct xiw_listener *l;
	int err = xiw_conn_opts_take(&own, opts, false);

	if (err)
		return err;
	l = xiw_listener_new(e, &own);
	if (!l)
		return -ENOMEM;
	l->fd = xiw_listener_socket(e, own.path, addr, len, false, &l->sock_was);
	if (l->fd < 0) {
		err = l->fd;
		free(l);
		return err;
	}
	xiw_listener_begin(l);
	*listener = l;
	return 0;
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
		free(l);
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
			free(l);
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
	free(l);
}

static void tell(struct xiw_listener *l, int err)
{
	struct xiw_completion done = {
		.user_data = l->opts.user_data,
		.event = XIW_EV_NOT_ACCEPTED,
		.status = err,
	};

	xiw_complete_listener(l, &done);
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
