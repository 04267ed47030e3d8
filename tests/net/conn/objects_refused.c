// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of objects.c: calls that are refused, and sockets that the application takes back. */
#include "tests/net/conn/objects.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <unistd.h>

/* ---- calls that are refused ------------------------------------------------------------------ */

static bool receive_after_end(void)
{
	int fd = open_peer();
	struct seen *s = &seen[0];

	CHECK(fd >= 0);
	CHECK(!xiw_conn_post_recv(s->conn, 0, memory, 1, 0));
	shutdown(fd, SHUT_WR);
	UNTIL(s->eof);
	CHECK(xiw_conn_post_recv(s->conn, 0, memory, 1, 0) == -ESHUTDOWN);
	reset(fd);
	xiw_conn_abort(s->conn);
	UNTIL(s->closed);
	CHECK(xiw_conn_post_recv(s->conn, 0, memory, 1, 0) == -ESHUTDOWN);
	return true;
}

/* The application may not use the user_data of RDMAP's own messages and buffers. */
static bool ddp_under_rdmap(void)
{
	const struct xiw_message m = { .buf = memory, .len = 1, .user_data = UINT64_MAX };
	int fd = open_peer();

	CHECK(fd >= 0);
	CHECK(xiw_conn_send(seen[0].conn, &m) == -EINVAL);
	for (uint32_t qn = 0; qn < 3; qn++)
		CHECK(xiw_conn_post_recv(seen[0].conn, qn, memory, 1, 1ull << 40) == -EINVAL);
	reset(fd);
	UNTIL(seen[0].closed);
	return true;
}

/* A region bound to a connection must be of the same engine: in another, the number may be another connection's. */
static bool region_of_another_engine(void)
{
	struct xiw_region_opts ro = { .size = sizeof(ro) };
	struct xiw_region *r;
	struct xiw_engine *e;
	int fd = open_peer();

	CHECK(fd >= 0 && !xiw_engine_create(NULL, &e));
	ro.conn = seen[0].conn;
	CHECK(xiw_region_register(e, memory, 1, &ro, &r) == -EINVAL);
	CHECK(!xiw_region_register(engine, memory, 1, &ro, &r));
	xiw_region_free(r);
	xiw_engine_destroy(e);
	reset(fd);
	UNTIL(seen[0].closed);
	return true;
}

/* ---- a socket that is taken back ------------------------------------------------------------- */

struct options {
	int nodelay, oobinline, rcvbuf, locks, keepalive, idle, user_timeout;
};

static struct options options_of(int fd)
{
	struct options o = { -1, -1, -1, -1, -1, -1, -1 };
	socklen_t len = sizeof(int);

	getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &o.nodelay, &len);
	getsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &o.oobinline, &len);
	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &o.rcvbuf, &len);
	getsockopt(fd, SOL_SOCKET, 72 /* SO_BUF_LOCK */, &o.locks, &len);
	getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &o.keepalive, &len);
	getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &o.idle, &len);
	getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &o.user_timeout, &len);
	return o;
}

/* Two ends of a connection without the library. */
static bool plain_pair(int fd[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(!bind(l, (struct sockaddr *)&a, len) && !listen(l, 1) &&
	      !getsockname(l, (struct sockaddr *)&a, &len) &&
	      !connect(fd[0], (struct sockaddr *)&a, len));
	fd[1] = accept4(l, NULL, NULL, SOCK_CLOEXEC);
	close(l);
	return fd[1] >= 0;
}

/* Rejects the library's end and takes its socket back: its options are as `want` says. */
static bool taken_as(unsigned int i, int peer, const struct options *want)
{
	struct options got;
	int fd;

	request(peer);
	UNTIL(nseen == i + 1 && seen[i].events);
	CHECK(!xiw_conn_reject(seen[i].conn, NULL, 0));
	UNTIL(seen[i].closed);
	fd = xiw_conn_take_fd(seen[i].conn);
	CHECK(fd >= 0);
	got = options_of(fd);
	if (memcmp(&got, want, sizeof(got)))
		printf("       %d %d %d %d %d %d %d, not %d %d %d %d %d %d %d\n", got.nodelay,
		       got.oobinline, got.rcvbuf, got.locks, got.keepalive, got.idle,
		       got.user_timeout, want->nodelay, want->oobinline, want->rcvbuf, want->locks,
		       want->keepalive, want->idle, want->user_timeout);
	close(fd);
	close(peer);
	return !memcmp(&got, want, sizeof(got));
}

static bool socket_as_it_was(void)
{
	const int one = 1, size = 50000, seconds = 77;
	struct options was;
	struct xiw_conn *c;
	int fd[2], peer;

	hold_answers = true;
	/* An accepted socket has the options of any accepted socket. */
	CHECK(plain_pair(fd));
	was = options_of(fd[1]);
	close(fd[0]);
	close(fd[1]);
	peer = dial();
	CHECK(taken_as(0, peer, &was));
	/* The application's own socket has its options of before, whether they are defaults or not. */
	for (unsigned int own = 0; own < 2; own++) {
		CHECK(plain_pair(fd));
		if (own) {
			setsockopt(fd[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			setsockopt(fd[1], SOL_SOCKET, SO_OOBINLINE, &one, sizeof(one));
			setsockopt(fd[1], SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
			setsockopt(fd[1], IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
			setsockopt(fd[1], IPPROTO_TCP, TCP_USER_TIMEOUT, &size, sizeof(size));
			setsockopt(fd[1], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
		}
		was = options_of(fd[1]);
		CHECK(!xiw_conn_from_fd(engine, fd[1], false, NULL, NULL, &c));
		add(c);
		CHECK(taken_as(1 + own, fd[0], &was));
	}
	return true;
}

const struct object_case refused_cases[] = {
	{ "receive-after-end", receive_after_end, false },
	{ "ddp-under-rdmap", ddp_under_rdmap, true },
	{ "region-of-another-engine", region_of_another_engine, false },
	{ "socket-as-it-was", socket_as_it_was, false },
	{},
};
