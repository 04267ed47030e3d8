// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Listeners of a group: a socket for each engine, on one address. The group keeps a descriptor of each socket, so that
 * a socket goes on to listen when its engine ends: another engine then accepts from it. So sockets keep their places in
 * the kernel's list, by which the program names them, and no connection that waits is lost.
 */
#include "group/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/now.h"
#include "conn/accept.h"
#include "conn/arrive.h"
#include "conn/crowd.h"
#include "conn/listener.h"
#include "conn/opts.h"
#include "conn/sockopts.h"
#include "conn/unstarted.h"
#include "core/inbox.h"
#include "core/orphan.h"
#include "group/reuseport.h"

#define BIND_MS 1000
#define BIND_AGAIN_MS 10

/* One engine that accepts from one socket. The notes belong to its inbox; `end` frees all of it. */
struct xiw_group_accept {
	struct xiw_note begin, end;
	struct xiw_listener *listener;
	struct xiw_engine *engine;
};

struct xiw_group_listener {
	struct xiw_group *group; /* NULL: it was destroyed */
	struct xiw_group_listener *next, **at;
	struct xiw_orphan orphan;
	uint64_t serial;
	bool started;
	struct xiw_conn_opts opts;
	struct xiw_crowd *crowd; /* NULL: peers have no shares */
	struct xiw_sock_was sock_was;
	int fds[XIW_GROUP_ENGINES_MAX];
	struct xiw_group_accept *accepts[XIW_GROUP_ENGINES_MAX]; /* by socket; NULL: nobody does */
};

/* ---- in the engine's thread -------------------------------------------------------------------------- */

static void begin(struct xiw_engine *e, struct xiw_note *note)
{
	struct xiw_group_accept *a =
		(void *)((char *)note - offsetof(struct xiw_group_accept, begin));

	if (!e->destroying)
		xiw_listener_begin(a->listener);
}

static void end(struct xiw_engine *e, struct xiw_note *note)
{
	struct xiw_group_accept *a =
		(void *)((char *)note - offsetof(struct xiw_group_accept, end));

	(void)e;
	xiw_listener_free(a->listener);
	free(a);
}

/* ---- in any thread, with the group's lock -------------------------------------------------------------- */

/* An engine begins to accept from socket i: engine i, or if that has ended another one. */
static int accept_from(struct xiw_group_listener *gl, uint32_t i)
{
	struct xiw_engine *e = xiw_group_any(gl->group, i);
	struct xiw_group_accept *a = e ? calloc(1, sizeof(*a)) : NULL;

	if (!a)
		return e ? -ENOMEM : -ESHUTDOWN;
	a->engine = e;
	a->begin.run = begin;
	a->end.run = end;
	a->listener = xiw_listener_new(e, &gl->opts, gl->crowd);
	if (!a->listener) {
		free(a);
		return -ENOMEM;
	}
	a->listener->sock_was = gl->sock_was;
	a->listener->serial = gl->serial;
	/* A single engine needs no copy, as nobody could accept in its place. */
	a->listener->fd = gl->group->n > 1 ? fcntl(gl->fds[i], F_DUPFD_CLOEXEC, 0) : gl->fds[i];
	if (a->listener->fd < 0) {
		xiw_listener_discard(a->listener);
		free(a);
		return -EMFILE;
	}
	gl->accepts[i] = a;
	xiw_inbox_put(e, &a->begin);
	return 0;
}

static void accept_no_more(struct xiw_group_listener *gl, uint32_t i)
{
	struct xiw_group_accept *a = gl->accepts[i];

	gl->accepts[i] = NULL;
	if (a)
		xiw_inbox_put(a->engine, &a->end);
}

static void close_all(struct xiw_group_listener *gl)
{
	if (gl->group->n > 1 || !gl->accepts[0])
		xiw_reuseport_close(gl->fds, gl->group->n);
	else
		shutdown(gl->fds[0], SHUT_RDWR); /* the engine's listener closes it */
	for (uint32_t i = 0; i < gl->group->n; i++)
		accept_no_more(gl, i);
	*gl->at = gl->next;
	if (gl->next)
		gl->next->at = gl->at;
}

/*
 * If there is no engine left that accepts, or nothing to make a listener of, the socket ends, so that no peer waits in
 * vain. The kernel then chooses among the others.
 */
void xiw_group_listeners_leave(struct xiw_group *g, struct xiw_engine *e)
{
	for (struct xiw_group_listener *gl = g->listeners; gl; gl = gl->next) {
		for (uint32_t i = 0; i < g->n; i++) {
			if (!gl->accepts[i] || gl->accepts[i]->engine != e)
				continue;
			accept_no_more(gl, i);
			if (g->n == 1)
				gl->fds[0] = -1; /* closed with the engine's listener */
			else if (g->ending || accept_from(gl, i))
				shutdown(gl->fds[i], SHUT_RDWR);
		}
	}
}

void xiw_group_listeners_detach(struct xiw_group *g)
{
	struct xiw_group_listener *gl;

	while ((gl = g->listeners)) {
		close_all(gl);
		gl->group = NULL;
		xiw_orphan_add(&gl->orphan);
	}
}

void xiw_group_listeners_forked(struct xiw_group *g)
{
	for (struct xiw_group_listener *gl = g->listeners; gl; gl = gl->next) {
		for (uint32_t i = 0; i < g->n; i++) {
			if (gl->fds[i] >= 0)
				close(gl->fds[i]);
			gl->fds[i] = -1;
		}
	}
}

/* ---- connections that another engine is to have ----------------------------------------------------------- */

struct parcel {
	struct xiw_note note;
	struct xiw_listener *listener;
	uint64_t serial; /* of the group's listener */
	uint32_t queue;
	int fd;
};

static void drop(struct parcel *p)
{
	xiw_sock_reset(p->fd);
	free(p);
}

/* In the thread of the engine that gets it. The listener is there: its end would come behind this. */
static void deliver(struct xiw_engine *e, struct xiw_note *note)
{
	struct parcel *p = (void *)((char *)note - offsetof(struct parcel, note));

	if (e->destroying) {
		drop(p);
		return;
	}
	xiw_accepted(p->listener, p->fd);
	free(p);
}

/* The part of the group's listener with which this engine accepts; NULL: it has none, or the listener was freed. */
static struct xiw_listener *part_of(const struct xiw_group *g, uint64_t serial,
				    const struct xiw_engine *e)
{
	for (const struct xiw_group_listener *gl = g->listeners; gl; gl = gl->next)
		for (uint32_t i = 0; gl->serial == serial && i < g->n; i++)
			if (gl->accepts[i] && gl->accepts[i]->engine == e)
				return gl->accepts[i]->listener;
	return NULL;
}

/* In the thread of the engine that has accepted it, between two turns. */
static void forward(struct xiw_engine *e, struct xiw_note *note)
{
	struct parcel *p = (void *)((char *)note - offsetof(struct parcel, note));
	struct xiw_group *g = e->group;
	struct xiw_engine *to;

	if (e->destroying) {
		drop(p);
		return;
	}
	pthread_mutex_lock(&g->lock);
	to = xiw_group_serving(g, p->queue);
	p->listener = to ? part_of(g, p->serial, to) : NULL;
	if (!p->listener) {
		to = e;
		p->listener = part_of(g, p->serial, e);
	}
	p->note.run = deliver;
	if (p->listener)
		xiw_inbox_put(to, &p->note);
	else
		drop(p);
	pthread_mutex_unlock(&g->lock);
}

/*
 * Called within a turn, in which the group's lock must not be taken: forward() is called before the next one. A
 * listener without a serial is the engine's own, and no other engine has a part of it.
 */
bool xiw_group_accepted(struct xiw_listener *l, int fd)
{
	struct xiw_engine *e = l->engine;
	const bool several = l->serial && e->opts.queues;
	uint32_t queue = several ? xiw_arrival_queue(e, fd) : XIW_QUEUE_UNKNOWN;
	struct parcel *p;

	if (queue >= XIW_MAX_QUEUES || e->opts.queues >> queue & 1)
		return false;
	p = malloc(sizeof(*p));
	if (!p)
		return false;
	*p = (struct parcel){ .serial = l->serial, .queue = queue, .fd = fd };
	p->note.run = forward;
	if (xiw_inbox_put(e, &p->note))
		return true;
	free(p);
	return false;
}

/* ---- the application's functions ------------------------------------------------------------------------ */

static int bind_one(struct xiw_group *g, struct xiw_group_listener *gl, const struct sockaddr *addr,
		    socklen_t len)
{
	const struct xiw_engine *e = xiw_group_any(g, 0);

	if (!e)
		return -ESHUTDOWN;
	memset(gl->fds, -1, sizeof(gl->fds));
	gl->fds[0] = xiw_listener_bound(e, &gl->opts, addr, len, false, &gl->sock_was);
	if (gl->fds[0] < 0)
		return gl->fds[0];
	gl->group = g;
	gl->serial = ++g->serial;
	gl->at = &g->listeners;
	gl->next = g->listeners;
	if (gl->next)
		gl->next->at = &gl->next;
	g->listeners = gl;
	return 0;
}

/* As before open_all(), which may be called again: the first socket is bound, and there are no others. */
static void take_back(struct xiw_group *g, struct xiw_group_listener *gl)
{
	xiw_reuseport_take_back(gl->fds, g->n);
	for (uint32_t i = 0; i < g->n; i++)
		accept_no_more(gl, i);
}

static int open_all(struct xiw_group *g, struct xiw_group_listener *gl)
{
	const struct xiw_engine *e = xiw_group_any(g, 0);
	int err = -ESHUTDOWN;

	if (gl->started)
		return -EALREADY;
	if (e)
		err = xiw_reuseport_open(g, e, &gl->opts, gl->fds, &gl->sock_was);
	for (uint32_t i = 0; i < g->n && !err; i++)
		err = accept_from(gl, i);
	if (err)
		take_back(g, gl);
	gl->started = !err;
	return err;
}

/* Has this group a listener on the port? It would not go away while its own process waits. */
static bool is_ours(const struct xiw_group *g, const struct sockaddr *addr)
{
	const struct sockaddr_in *wanted = (const void *)addr;
	struct sockaddr_in bound; /* the port of IPv6 is in the same place */
	socklen_t len;

	for (const struct xiw_group_listener *gl = g->listeners; gl; gl = gl->next) {
		len = sizeof(bound);
		if (!getsockname(gl->fds[0], (struct sockaddr *)&bound, &len) &&
		    bound.sin_port == wanted->sin_port)
			return true;
	}
	return false;
}

/*
 * Tries again for a moment while the port is in use: the kernel ends the io_uring of a killed process some time after
 * the process is gone, and until then the accept request in it holds the port. So a program can be started again at
 * once.
 */
static int bind_patiently(struct xiw_group *g, struct xiw_group_listener *gl,
			  const struct sockaddr *addr, socklen_t len)
{
	const struct timespec pause = { .tv_nsec = BIND_AGAIN_MS * 1000000l };
	const uint64_t until = xiw_now_ms() + BIND_MS;
	bool ours;
	int err;

	do {
		pthread_mutex_lock(&g->lock);
		err = bind_one(g, gl, addr, len);
		ours = err == -EADDRINUSE && is_ours(g, addr);
		pthread_mutex_unlock(&g->lock);
	} while (err == -EADDRINUSE && !ours && xiw_now_ms() < until &&
		 (nanosleep(&pause, NULL), true));
	return err;
}

static void discard(struct xiw_group_listener *gl)
{
	if (gl)
		xiw_crowd_leave(gl->crowd);
	free(gl);
}

int xiw_group_listener_bind(struct xiw_group *g, const struct sockaddr *addr, socklen_t len,
			    const struct xiw_conn_opts *opts, struct xiw_group_listener **listener)
{
	struct xiw_group_listener *gl = calloc(1, sizeof(*gl));
	const int cancel = xiw_cancel_off();
	int err = gl ? xiw_conn_opts_take(&gl->opts, opts, false) : -ENOMEM;

	if (!err) {
		gl->opts.max_unstarted = xiw_unstarted_part(gl->opts.max_unstarted, g->n);
		gl->opts.max_unstarted_peer = xiw_unstarted_part(gl->opts.max_unstarted_peer, g->n);
		if (gl->opts.capacity)
			gl->crowd = xiw_crowd_new(gl->opts.capacity);
		if (gl->opts.capacity && !gl->crowd)
			err = -ENOMEM;
	}
	if (!err)
		err = bind_patiently(g, gl, addr, len);
	xiw_cancel_restore(cancel);
	if (err)
		discard(gl);
	else
		*listener = gl;
	return err;
}

int xiw_group_listener_start(struct xiw_group_listener *gl, int backlog)
{
	struct xiw_group *g = gl->group;
	int err, cancel;

	if (!g)
		return -ESHUTDOWN;
	cancel = xiw_cancel_off();
	pthread_mutex_lock(&g->lock);
	if (backlog)
		gl->opts.backlog = backlog;
	err = open_all(g, gl);
	pthread_mutex_unlock(&g->lock);
	xiw_cancel_restore(cancel);
	return err;
}

int xiw_group_listen(struct xiw_group *g, const struct sockaddr *addr, socklen_t len,
		     const struct xiw_conn_opts *opts, struct xiw_group_listener **listener)
{
	struct xiw_group_listener *gl;
	int err = xiw_group_listener_bind(g, addr, len, opts, &gl);

	if (err)
		return err;
	err = xiw_group_listener_start(gl, 0);
	if (err)
		xiw_group_listener_free(gl);
	else
		*listener = gl;
	return err;
}

int xiw_group_listener_addr(const struct xiw_group_listener *gl, struct sockaddr_storage *addr,
			    socklen_t *len)
{
	struct xiw_group *g = gl->group;
	int err;

	/* In a child the lock may be held for ever, and the sockets are closed. */
	if (!g || g->forked)
		return -EBADF;
	*len = sizeof(*addr);
	pthread_mutex_lock(&g->lock); /* an engine that ends takes its descriptor with it */
	err = getsockname(gl->fds[0], (struct sockaddr *)addr, len) ? -errno : 0;
	pthread_mutex_unlock(&g->lock);
	return err;
}

void xiw_group_listener_free(struct xiw_group_listener *gl)
{
	struct xiw_group *g = gl ? gl->group : NULL;
	int cancel;

	if (!gl)
		return;
	if (g) {
		cancel = xiw_cancel_off();
		pthread_mutex_lock(&g->lock);
		close_all(gl);
		pthread_mutex_unlock(&g->lock);
		xiw_cancel_restore(cancel);
	} else {
		xiw_orphan_remove(&gl->orphan);
	}
	discard(gl);
}
