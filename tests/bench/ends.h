/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An end of one connection of the library whose messages find posted buffers, for benchmarks of messages. */
#ifndef XIW_BENCH_ENDS_H
#define XIW_BENCH_ENDS_H

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

struct end {
	uint8_t *buffers; /* `depth` of them, one behind the other, `stride` octets apart */
	size_t stride;
	uint32_t size, depth;
	void (*received)(const struct xiw_completion *c, const uint8_t *octets);
	/* When it is connected, and after each message, whose buffer is posted again. May be NULL. */
	void (*next)(struct xiw_conn *conn);
	/* After each turn, once it is connected. May be NULL. */
	void (*turned)(struct xiw_conn *conn);
	bool (*complete)(void); /* is all done that was to be done? */
	double share;		/* of the octets that came: direct */
};

static inline void __attribute__((noreturn)) die(const char *what, int err)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(err < 0 ? -err : err));
	exit(1);
}

static inline void need(int err, const char *what)
{
	if (err)
		die(what, err);
}

static inline void end_post(const struct end *e, struct xiw_conn *conn, uint64_t i)
{
	int err = xiw_conn_post_recv(conn, 0, e->buffers + i * e->stride, e->size, i);

	if (err != -ESHUTDOWN) /* the last ones, when the stream has ended */
		need(err, "post");
}

static inline void end_post_all(const struct end *e, struct xiw_conn *conn)
{
	for (uint64_t i = 0; i < e->depth; i++)
		end_post(e, conn, i);
}

static inline void end_closed(struct end *e, const struct xiw_completion *c)
{
	struct xiw_conn_info info;
	uint64_t all;

	xiw_conn_info(c->conn, &info, sizeof(info));
	if (c->status || !e->complete())
		die("the connection ended early", c->status ? c->status : -ECONNRESET);
	all = info.octets_direct + info.octets_kernel;
	e->share = all ? (double)info.octets_direct / (double)all : 0;
	xiw_conn_free(c->conn);
}

/* False: the connection has ended. */
static inline bool end_event(struct end *e, const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_REQUEST:
		end_post_all(e, c->conn);
		need(xiw_conn_accept(c->conn, NULL, 0), "accept");
		break;
	case XIW_EV_CONNECTED:
		if (e->next)
			e->next(c->conn);
		break;
	case XIW_EV_RECEIVED:
		e->received(c, e->buffers + c->user_data * e->stride);
		end_post(e, c->conn, c->user_data);
		if (e->next)
			e->next(c->conn);
		break;
	case XIW_EV_EOF:
		xiw_conn_close(c->conn);
		break;
	case XIW_EV_ERROR:
		die("the stream is invalid", EPROTO);
	case XIW_EV_CLOSED:
		end_closed(e, c);
		return false;
	default:
		break;
	}
	return true;
}

/* Until the connection has ended. */
static inline void end_run(struct end *e, struct xiw_engine *engine)
{
	struct xiw_conn *conn = NULL;
	struct xiw_completion c;
	bool more = true;

	while (more) {
		int n = xiw_engine_run(engine, -1);

		if (n < 0 && n != -EINTR)
			die("engine", n);
		while (more && xiw_engine_next(engine, &c) > 0) {
			if (c.event == XIW_EV_CONNECTED)
				conn = c.conn;
			more = end_event(e, &c);
		}
		if (e->turned && conn && more)
			e->turned(conn);
	}
}

/* A connection of plain sockets instead: the next one that comes, or one to there. */
static inline int plain_accept(const struct sockaddr_in *addr)
{
	int one = 1, fd, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(listener, (const struct sockaddr *)addr, sizeof(*addr)) || listen(listener, 1))
		die("listen", errno);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		die("accept", errno);
	close(listener);
	return fd;
}

static inline int plain_connect(const struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		die("connect", errno);
	return fd;
}

#endif
