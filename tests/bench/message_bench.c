// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Both ends of a connection that carries messages of 64 octets, as many as it can.
 *
 *   message_bench recv direct|kernel|plain COUNT ADDRESS PORT [NAPI]
 *   message_bench send direct|kernel|plain COUNT ADDRESS PORT
 *
 * The receiver prints millions of messages per second, and the share that went direct.
 * With NAPI, the pids of the receiver's NAPI threads, it prints a line of JSON instead: what the messages have cost it.
 *
 * direct, kernel: the library at both ends, and the path on which it receives. The sender calls xiw_conn_send() for
 * each message, as long as its queue has room; the receiver has a posted buffer for each, and posts it again when the
 * message has come. plain: TCP sockets with TCP_NODELAY. The sender calls write() for each message; the receiver takes
 * what there is, up to 256 KiB in one call. In all cases the receiver looks at the number in each message. The
 * measurement begins with the second eighth.
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

#include "tests/bench/account.h"
#include "tests/bench/ends.h"

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
static struct costs costs;

static void received(const struct message *m)
{
	if (m->number != done++)
		die("wrong octets", EPROTO);
	if (done == count / 8) {
		clock_gettime(CLOCK_MONOTONIC, &from);
		costs_begin(&costs, done * SIZE);
	} else if (done == count) {
		costs_end(&costs, done * SIZE);
		clock_gettime(CLOCK_MONOTONIC, &to);
	}
}

/* ---- plain sockets ------------------------------------------------------------------------------- */

static void receive_plain(void)
{
	static uint8_t octets[256 << 10];
	const int fd = plain_accept(&addr);
	size_t have = 0, at;

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
}

static void send_plain(void)
{
	const int fd = plain_connect(&addr), one = 1;
	struct message m = { 0 };

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("TCP_NODELAY", errno);
	for (; m.number < count; m.number++)
		if (write(fd, &m, SIZE) != SIZE)
			die("write", errno);
	recv(fd, &m, 1, 0); /* the receiver has closed */
	close(fd);
}

/* ---- the library --------------------------------------------------------------------------------- */

static void take_message(const struct xiw_completion *c, const uint8_t *octets)
{
	(void)c;
	received((const struct message *)octets);
}

static void send_more(struct xiw_conn *conn)
{
	int err = 0;

	if (done == count)
		return;
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

static bool complete(void)
{
	return done == count;
}

static struct end end = { .buffers = (uint8_t *)buffers,
			  .stride = SIZE,
			  .size = SIZE,
			  .depth = RECV_DEPTH,
			  .received = take_message,
			  .complete = complete };

static void use_library(bool receiver, bool kernel)
{
	struct xiw_engine_opts e = { .size = sizeof(e),
				     .path = receiver && !kernel ? XIW_USE_DIRECT
								 : XIW_USE_KERNEL };
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
	end.turned = receiver ? NULL : send_more;
	end_run(&end, engine);
	xiw_engine_destroy(engine);
}

static void print_result(bool plain)
{
	const double share = plain ? 1 : end.share;

	if (costs.wanted)
		costs_print(&costs, share);
	else
		printf("%.4f %.4f\n",
		       (double)(count - count / 8) / 1e6 /
			       ((double)(to.tv_sec - from.tv_sec) +
				(double)(to.tv_nsec - from.tv_nsec) / 1e9),
		       share);
}

int main(int argc, char **argv)
{
	bool receiver = argc > 1 && !strcmp(argv[1], "recv");
	bool plain = argc > 2 && !strcmp(argv[2], "plain");
	bool kernel = argc > 2 && !strcmp(argv[2], "kernel");

	if ((argc != 6 && (argc != 7 || !receiver)) || (!receiver && strcmp(argv[1], "send")) ||
	    (!plain && !kernel && strcmp(argv[2], "direct")) ||
	    inet_pton(AF_INET, argv[4], &addr.sin_addr) != 1) {
		fprintf(stderr, "usage: message_bench recv|send direct|kernel|plain COUNT ADDRESS "
				"PORT [NAPI]\n");
		return 2;
	}
	count = strtoull(argv[3], NULL, 10);
	addr.sin_port = htons((uint16_t)atoi(argv[5]));
	costs = costs_open(argc == 7 ? argv[6] : NULL);
	if (!plain)
		use_library(receiver, kernel);
	else if (receiver)
		receive_plain();
	else
		send_plain();
	if (receiver)
		print_result(plain);
	return 0;
}
