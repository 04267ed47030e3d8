// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Both ends of a connection that carries messages of 64 octets, as many as it can.
 *
 *   message_bench recv direct|plain COUNT ADDRESS PORT   prints millions of messages per second, the share that
 *                                                        went direct
 *   message_bench send direct|plain COUNT ADDRESS PORT
 *
 * direct: the library at both ends. The sender calls xiw_conn_send() for each message, as long as its queue has room;
 * the receiver has a posted buffer for each, and posts it again when the message has come. plain: TCP sockets with
 * TCP_NODELAY. The sender calls write() for each message; the receiver takes what there is, up to 256 KiB in one call.
 * In both cases the receiver looks at the number in each message. The measurement begins with the second eighth.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#define SIZE 64u
#define RECV_DEPTH 8192u
#define SEND_DEPTH 1024u

struct message {
	uint64_t number, rest[SIZE / 8 - 1];
};

_Static_assert(sizeof(struct message) == SIZE, "a message has another size");

static struct sockaddr_in addr = { .sin_family = AF_INET };
static struct message buffers[RECV_DEPTH];
static uint64_t count, done; /* messages sent or received */
static struct timespec from, to;
static double share;

static void __attribute__((noreturn)) die(const char *what, int err)
{
	fprintf(stderr, "message_bench: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static void need(int err, const char *what)
{
	if (err)
		die(what, err);
}

static void received(const struct message *m)
{
	if (m->number != done++)
		die("wrong octets", EPROTO);
	if (done == count / 8)
		clock_gettime(CLOCK_MONOTONIC, &from);
	else if (done == count)
		clock_gettime(CLOCK_MONOTONIC, &to);
}

/* ---- plain sockets ------------------------------------------------------------------------------- */

static void receive_plain(void)
{
	static uint8_t octets[256 << 10];
	int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
	size_t have = 0, at;

	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(listener, (struct sockaddr *)&addr, sizeof(addr)) || listen(listener, 1))
		die("listen", errno);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		die("accept", errno);
	while (done < count) {
		ssize_t n = recv(fd, octets + have, sizeof(octets) - have, 0);

		if (n <= 0)
			die("recv", n ? errno : ECONNRESET);
		have += (size_t)n;
		for (at = 0; have - at >= SIZE; at += SIZE) {
			struct message m;

			memcpy(&m, octets + at, SIZE);
			received(&m);
		}
		have -= at;
		memmove(octets, octets + at, have);
	}
	close(fd);
	close(listener);
}

static void send_plain(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	struct message m = { 0 };

	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		die("connect", errno);
	for (; m.number < count; m.number++)
		if (write(fd, &m, SIZE) != SIZE)
			die("write", errno);
	recv(fd, &m, 1, 0); /* the receiver has closed */
	close(fd);
}

/* ---- the library --------------------------------------------------------------------------------- */

static void post(struct xiw_conn *conn, uint64_t i)
{
	int err = xiw_conn_post_recv(conn, 0, &buffers[i], SIZE, i);

	if (err != -ESHUTDOWN) /* the last ones, when the stream has ended */
		need(err, "post");
}

static void send_more(struct xiw_conn *conn)
{
	int err = 0;

	for (; done < count && !err; done += !err) {
		/* More buffers than the queue has room for: one that is refused is no queued message's. */
		struct message *m = &buffers[done % RECV_DEPTH];
		const struct xiw_message message = { .buf = m, .len = SIZE };

		m->number = done;
		err = xiw_conn_send(conn, &message);
	}
	if (err && err != -EAGAIN)
		die("send", err);
	if (done == count)
		xiw_conn_close(conn);
}

static void ended(const struct xiw_completion *c)
{
	struct xiw_conn_info info;

	xiw_conn_info(c->conn, &info, sizeof(info));
	if (c->status || done < count)
		die("the connection ended early", c->status ? c->status : -ECONNRESET);
	share = (double)info.octets_direct / (double)(info.octets_direct + info.octets_kernel);
	xiw_conn_free(c->conn);
}

/* False: the connection has ended. */
static bool handle(const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_REQUEST:
		for (uint64_t i = 0; i < RECV_DEPTH; i++)
			post(c->conn, i);
		need(xiw_conn_accept(c->conn, NULL, 0), "accept");
		break;
	case XIW_EV_RECEIVED:
		received(&buffers[c->user_data]);
		post(c->conn, c->user_data);
		break;
	case XIW_EV_EOF:
		xiw_conn_close(c->conn);
		break;
	case XIW_EV_ERROR:
		die("the stream is invalid", EPROTO);
	case XIW_EV_CLOSED:
		ended(c);
		return false;
	default:
		break;
	}
	return true;
}

static void run(struct xiw_engine *engine, struct xiw_conn *sender)
{
	struct xiw_completion c;
	bool more = true, open = false;

	while (more) {
		int n = xiw_engine_run(engine, -1);

		if (n < 0 && n != -EINTR)
			die("engine", n);
		while (more && xiw_engine_next(engine, &c) > 0) {
			open |= c.event == XIW_EV_CONNECTED;
			more = handle(&c);
		}
		if (sender && open && more && done < count)
			send_more(sender);
	}
}

static void use_library(bool receiver)
{
	struct xiw_engine_opts e = { .size = sizeof(e),
				     .path = receiver ? XIW_USE_DIRECT : XIW_USE_KERNEL };
	struct xiw_conn_opts o = { .size = sizeof(o),
				   .path = e.path,
				   .queues = 1,
				   .recv_depth = receiver ? RECV_DEPTH : 1,
				   .send_depth = SEND_DEPTH };
	const struct sockaddr *a = (const struct sockaddr *)&addr;
	struct xiw_listener *listener;
	struct xiw_conn *conn = NULL;
	struct xiw_engine *engine;

	need(xiw_engine_create(&e, &engine), "engine");
	if (receiver)
		need(xiw_listen(engine, a, sizeof(addr), &o, &listener), "listen");
	else
		need(xiw_connect(engine, a, sizeof(addr), &o, &conn), "connect");
	run(engine, conn);
	xiw_engine_destroy(engine);
}

int main(int argc, char **argv)
{
	bool receiver = argc > 1 && !strcmp(argv[1], "recv");
	bool plain = argc > 2 && !strcmp(argv[2], "plain");

	if (argc != 6 || (!receiver && strcmp(argv[1], "send")) ||
	    (!plain && strcmp(argv[2], "direct")) ||
	    inet_pton(AF_INET, argv[4], &addr.sin_addr) != 1) {
		fprintf(stderr, "usage: message_bench recv|send direct|plain COUNT ADDRESS PORT\n");
		return 2;
	}
	count = strtoull(argv[3], NULL, 10);
	addr.sin_port = htons((uint16_t)atoi(argv[5]));
	if (!plain)
		use_library(receiver);
	else if (receiver)
		receive_plain();
	else
		send_plain();
	if (receiver)
		printf("%.4f %.4f\n",
		       (double)(count - count / 8) / 1e6 /
			       ((double)(to.tv_sec - from.tv_sec) +
				(double)(to.tv_nsec - from.tv_nsec) / 1e9),
		       plain ? 1 : share);
	return 0;
}
