// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where connections come from: listening, connecting, and sockets that an application hands over. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/opts.h"
#include "core/internal.h"

#define RETRY_MS 100

static void arm_accept(struct xiw_listener *l)
{
	io_uring_prep_multishot_accept(xiw_sqe(l->engine, l, XIW_OP_ACCEPT), l->fd, NULL, NULL,
				       SOCK_CLOEXEC);
	l->armed = true;
	l->engine->accepts++;
}

int xiw_listen(struct xiw_engine *e, const struct sockaddr *addr, socklen_t len,
	       const struct xiw_conn_opts *opts, struct xiw_listener **listener)
{
	struct xiw_listener *l;
	int one = 1, err;

	l = aligned_alloc(64, (sizeof(*l) + 63) & ~63ul);
	if (!l)
		return -ENOMEM;
	memset(l, 0, sizeof(*l));
	l->engine = e;
	l->retry_ms = XIW_NEVER;
	err = xiw_conn_opts_take(&l->opts, opts, false);
	if (err) {
		free(l);
		return err;
	}
	if (!l->opts.max_unstarted)
		l->opts.max_unstarted = e->opts.max_unstarted;
	if (!l->opts.max_unstarted_peer)
		l->opts.max_unstarted_peer = (l->opts.max_unstarted + 1) / 2;
	l->fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	if (l->fd < 0)
		goto fail;
	xiw_sock_prepare(l->fd, e, l->opts.path, &l->sock_was);
	if (setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(l->fd, addr, len) || listen(l->fd, 1024))
		goto fail;
	l->next = e->listeners;
	e->listeners = l;
	/* Not before somebody runs the engine: one that is freed until then closes at once. */
	if (e->ring_enabled) {
		arm_accept(l);
	} else {
		l->retry_ms = 0;
		xiw_wake_at(e, 0);
	}
	*listener = l;
	return 0;
fail:
	err = -errno;
	if (l->fd >= 0)
		close(l->fd);
	free(l);
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
		close(l->fd);
		l->fd = -1;
		return;
	}
	/* The pending accept ends, in xiw_accept_done(). */
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
		xiw_cq_forget(l->engine, l);
	} else {
		xiw_orphan_leave(&l->orphan);
	}
	if (!l->armed) {
		free(l);
		return;
	}
	/* xiw_accept_done() frees it, or the engine's end does: the thread that would hear may have ended. */
	l->next = l->engine->closed_listeners;
	l->engine->closed_listeners = l;
}

/* They stay the application's to free. */
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
			xiw_orphan_join(&l->orphan);
	}
}

/* No file descriptor, or no memory: the connection waits in the backlog, and trying at once would spin. */
static bool exhausted(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOBUFS;
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

/* Once for each cause, until a connection is taken. */
void xiw_not_accepted(struct xiw_listener *l, int err)
{
	if (!l)
		return;
	if (l->told != err)
		tell(l, err);
	l->told = err;
}

/* Told once, and again when there has been room for as long as a startup may take. */
static void crowded(struct xiw_listener *l)
{
	uint64_t now = l->engine->now_ms;

	if (!l->crowded_ms || now - l->crowded_ms > l->opts.startup_timeout_ms)
		tell(l, -EUSERS);
	l->crowded_ms = now;
}

static int take(struct xiw_listener *l, int fd)
{
	struct sockaddr_storage peer = {};
	socklen_t len = sizeof(peer);
	struct xiw_conn *c;
	int err;

	if (l->closing)
		return -ECANCELED;
	getpeername(fd, (struct sockaddr *)&peer, &len);
	err = xiw_unstarted_admit(l, &peer);
	if (err)
		crowded(l);
	if (err == -EBUSY)
		return -EUSERS;
	err = xiw_conn_new(l->engine, false, &l->opts, &c);
	if (err)
		return err;
	l->told = 0;
	c->fd = fd;
	c->remote = peer;
	c->state = XIW_LISTENING;
	xiw_unstarted_join(c, l);
	xiw_sock_prepare(fd, l->engine, XIW_USE_KERNEL, &c->sock_was);
	c->sock_was = l->sock_was; /* before that it had the listener's */
	xiw_startup_begin(c, NULL);
	return 0;
}

static void accepted(struct xiw_listener *l, int fd)
{
	const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	int err = take(l, fd);

	if (!err)
		return;
	/* So that the peer does not wait for an answer. */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
	if (!l->closing && err != -EUSERS)
		xiw_not_accepted(l, err);
}

void xiw_accept_again(struct xiw_engine *e)
{
	for (struct xiw_listener *l = e->listeners; l; l = l->next) {
		if (l->retry_ms <= e->now_ms) {
			l->retry_ms = XIW_NEVER;
			arm_accept(l);
		} else {
			xiw_wake_at(e, l->retry_ms);
		}
	}
}

static void forget_listener(struct xiw_listener *l)
{
	struct xiw_listener **at = &l->engine->closed_listeners;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	free(l);
}

void xiw_accept_done(struct xiw_listener *l, int res, uint32_t flags)
{
	if (!(flags & IORING_CQE_F_MORE)) {
		l->armed = false;
		l->engine->accepts--;
	}
	if (res >= 0)
		accepted(l, res);
	if (l->armed)
		return;
	if (l->closing) {
		close(l->fd);
		l->fd = -1;
		if (l->freed)
			forget_listener(l);
	} else if (exhausted(res)) {
		xiw_not_accepted(l, res);
		/* What is reset closes its descriptor within this turn and the next. */
		l->retry_ms =
			l->engine->now_ms + (xiw_unstarted_make_way(l->engine) ? 1 : RETRY_MS);
		xiw_wake_at(l->engine, l->retry_ms);
	} else {
		arm_accept(l);
	}
}

static int start_connect(struct xiw_conn *c)
{
	c->fd = socket(c->remote.ss_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	if (c->fd < 0)
		return -errno;
	xiw_sock_prepare(c->fd, c->engine, c->opts.path, &c->sock_was);
	io_uring_prep_connect(xiw_sqe(c->engine, c, XIW_OP_CONNECT), c->fd,
			      (struct sockaddr *)&c->remote, c->remote_len);
	c->ops++;
	return 0;
}

int xiw_connect(struct xiw_engine *e, const struct sockaddr *addr, socklen_t len,
		const struct xiw_conn_opts *opts, struct xiw_conn **conn)
{
	struct xiw_conn *c;
	int err;

	if (len > sizeof(c->remote))
		return -EINVAL;
	err = xiw_conn_new_equipped(e, true, opts, &c);
	if (err)
		return err;
	memcpy(&c->remote, addr, len);
	c->remote_len = len;
	err = start_connect(c);
	if (err) {
		c->state = XIW_DEAD;
		xiw_conn_free(c);
		return err;
	}
	*conn = c;
	return 0;
}

/*
 * RFC 6581 section 10: the Responder may be one that knows no Rev 2, and closed for that. A new TCP connection,
 * within the time of the first.
 */
bool xiw_connect_again(struct xiw_conn *c)
{
	if (!c->opts.fall_back || !c->opts.enhanced || c->upgraded || c->ops || c->startup_len)
		return false;
	xiw_conn_unregister(c);
	close(c->fd);
	c->opts.enhanced = false;
	c->opts.revision = 1;
	c->terms = (struct xiw_mpa_terms){ .ird = XIW_DEPTH_ULP, .ord = XIW_DEPTH_ULP };
	c->reply_len = c->startup_off = 0;
	c->no_direct[0] = '\0';
	c->state = XIW_CONNECTING;
	return !start_connect(c);
}

void xiw_connect_done(struct xiw_conn *c, int res)
{
	c->ops--;
	if (c->state == XIW_DEAD) {
		xiw_conn_op_done(c);
		return;
	}
	if (res < 0) {
		xiw_conn_end(c, -res);
		return;
	}
	c->state = XIW_REQUESTED;
	xiw_startup_begin(c, NULL);
}

/* ---- delayed startup ----------------------------------------------------------------------------- */

static int check_socket(int fd)
{
	struct tcp_info info = {};
	int protocol = 0;
	socklen_t len = sizeof(protocol);

	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len))
		return -errno;
	if (protocol != IPPROTO_TCP)
		return -EINVAL;
	len = sizeof(info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return -errno;
	return info.tcpi_state == TCP_ESTABLISHED ? 0 : -ENOTCONN;
}

/* Of the first release. */
#define UPGRADE_FIRST 40

XIW_OPTS_WHOLE(struct xiw_upgrade, last_len);

static int take_upgrade(struct xiw_upgrade *u, const struct xiw_upgrade *theirs)
{
	int err = xiw_opts_take(u, sizeof(*u), UPGRADE_FIRST, theirs);

	if (err)
		return err;
	if ((u->prefix_len && !u->prefix) || (u->last_len && !u->last) || u->last_len > INT32_MAX)
		return -EINVAL;
	return 0;
}

int xiw_conn_from_fd(struct xiw_engine *e, int fd, bool initiator, const struct xiw_conn_opts *opts,
		     const struct xiw_upgrade *upgrade, struct xiw_conn **conn)
{
	struct xiw_upgrade u;
	struct xiw_conn *c;
	int err = take_upgrade(&u, upgrade);

	if (!err)
		err = check_socket(fd);
	if (!err)
		err = xiw_conn_new_equipped(e, initiator, opts, &c);
	if (err)
		return err;
	if (u.last_len) {
		if (xiw_conn_charge(c, u.last_len))
			c->streaming = malloc(u.last_len);
		if (!c->streaming) {
			c->state = XIW_DEAD;
			xiw_conn_free(c);
			return -ENOMEM;
		}
		memcpy(c->streaming, u.last, u.last_len);
		c->streaming_len = (uint32_t)u.last_len;
	}
	c->fd = fd;
	c->upgraded = c->known = true;
	xiw_sock_prepare(fd, e, c->opts.path, &c->sock_was);
	c->state = initiator ? XIW_REQUESTED : XIW_LISTENING;
	*conn = c;
	xiw_startup_begin(c, &u);
	return 0;
}
