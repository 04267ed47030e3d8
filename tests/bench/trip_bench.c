// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Both ends of a connection on which one message goes there and back at a time.
 *
 *   trip_bench serve PATH SPIN SIZE COUNT ADDRESS PORT [NAPI]
 *   trip_bench ask PATH SPIN SIZE COUNT ADDRESS PORT   prints the median and the 99th percentile of the round trips in
 *                                                      microseconds, and the share that came direct
 *
 * PATH is direct or kernel (the library at both ends, which answers each Send by one) or plain (sockets with
 * TCP_NODELAY, one write for each message). An end looks for what comes for SPIN microseconds before it sleeps; one of
 * plain sockets either sleeps in recv() at once, or, if SPIN is not 0, never does. The first eighth of COUNT is not
 * counted. The one that asks compares the number at the beginning of each answer. With NAPI, the pids of its NAPI
 * threads, the library's end that serves prints a line of JSON: what it has cost to take and to answer each message.
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
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "tests/bench/account.h"
#include "tests/bench/clocks.h"
#include "tests/bench/ends.h"

#define SIZE_MAX_OCTETS (64u << 10)
#define DEPTH 8u

static struct sockaddr_in addr = { .sin_family = AF_INET };
static uint8_t sent[SIZE_MAX_OCTETS], came[DEPTH][SIZE_MAX_OCTETS];
static uint32_t size, spin_us;
static uint64_t count, done; /* answers */
static uint64_t asked_ns, *trips;
static bool asks;
static struct costs costs; /* of the one that serves */

static void number_next(void)
{
	memcpy(sent, &done, sizeof(done));
	asked_ns = clock_ns(CLOCK_MONOTONIC);
}

static void take_answer(const uint8_t *octets)
{
	uint64_t number;

	trips[done] = clock_ns(CLOCK_MONOTONIC) - asked_ns;
	memcpy(&number, octets, sizeof(number));
	if (number != done++)
		die("wrong octets", EPROTO);
}

/* ---- plain sockets ------------------------------------------------------------------------------- */

static void write_all(int fd, const uint8_t *octets)
{
	for (uint32_t at = 0; at < size;) {
		ssize_t n = send(fd, octets + at, size - at, MSG_NOSIGNAL);

		if (n < 0)
			die("send", errno);
		at += (uint32_t)n;
	}
}

/* False: the peer has closed. */
static bool read_all(int fd, uint8_t *octets)
{
	for (uint32_t at = 0; at < size;) {
		ssize_t n = recv(fd, octets + at, size - at, spin_us ? MSG_DONTWAIT : 0);

		if (!n)
			return false;
		if (n > 0)
			at += (uint32_t)n;
		else if (errno != EAGAIN)
			die("recv", errno);
	}
	return true;
}

static void use_sockets(void)
{
	int fd = asks ? plain_connect(&addr) : plain_accept(&addr), one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("socket", errno);
	while (!asks && read_all(fd, came[0]))
		write_all(fd, came[0]);
	while (asks && done < count) {
		number_next();
		write_all(fd, sent);
		if (!read_all(fd, came[0]))
			die("recv", ECONNRESET);
		take_answer(came[0]);
	}
	close(fd);
}

/* ---- the library --------------------------------------------------------------------------------- */

static void send_octets(struct xiw_conn *conn, const uint8_t *octets)
{
	const struct xiw_message m = { .buf = octets, .len = size };

	need(xiw_conn_send(conn, &m), "send");
}

static void ask_next(struct xiw_conn *conn)
{
	if (done == count) {
		xiw_conn_close(conn);
		return;
	}
	number_next();
	send_octets(conn, sent);
}

static void take_message(const struct xiw_completion *c, const uint8_t *octets)
{
	if (asks) {
		take_answer(octets);
		return;
	}
	if (++done == count / 8)
		costs_begin(&costs, done * size);
	else if (done == count)
		costs_end(&costs, done * size);
	/* With DEPTH buffers this one is filled again only when the answer has gone. */
	send_octets(c->conn, octets);
}

static bool complete(void)
{
	return !asks || done == count;
}

static struct end end = { .buffers = came[0],
			  .stride = SIZE_MAX_OCTETS,
			  .depth = DEPTH,
			  .received = take_message,
			  .complete = complete,
			  .share = 1 };

static void use_library(enum xiw_use_path path)
{
	struct xiw_engine_opts e = { .size = sizeof(e), .path = path, .spin_us = spin_us };
	struct xiw_conn_opts o = { .size = sizeof(o),
				   .path = path,
				   .queues = 1,
				   .recv_depth = DEPTH,
				   .send_depth = DEPTH };
	const struct sockaddr *a = (const struct sockaddr *)&addr;
	struct xiw_listener *listener;
	struct xiw_engine *engine;
	struct xiw_conn *conn;

	end.size = size;
	end.next = asks ? ask_next : NULL;
	need(xiw_engine_create(&e, &engine), "engine");
	if (asks) {
		need(xiw_connect(engine, a, sizeof(addr), &o, &conn), "connect");
		end_post_all(&end, conn);
	} else {
		need(xiw_listen(engine, a, sizeof(addr), &o, &listener), "listen");
	}
	end_run(&end, engine);
	xiw_engine_destroy(engine);
}

static int by_length(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void print_trips(void)
{
	uint64_t skip = count / 8, n = count - skip;

	qsort(trips + skip, n, sizeof(*trips), by_length);
	printf("%.3f %.3f %.4f\n", (double)trips[skip + n / 2] / 1e3,
	       (double)trips[skip + n * 99 / 100] / 1e3, end.share);
}

int main(int argc, char **argv)
{
	bool plain = argc > 2 && !strcmp(argv[2], "plain");
	bool direct = argc > 2 && !strcmp(argv[2], "direct");

	asks = argc > 1 && !strcmp(argv[1], "ask");
	if ((argc != 8 && (argc != 9 || asks)) || (!asks && strcmp(argv[1], "serve")) ||
	    (!plain && !direct && strcmp(argv[2], "kernel")) ||
	    inet_pton(AF_INET, argv[6], &addr.sin_addr) != 1) {
		fprintf(stderr, "usage: trip_bench serve|ask direct|kernel|plain SPIN SIZE COUNT "
				"ADDRESS PORT [NAPI]\n");
		return 2;
	}
	spin_us = (uint32_t)strtoul(argv[3], NULL, 10);
	size = (uint32_t)strtoul(argv[4], NULL, 10);
	count = strtoull(argv[5], NULL, 10);
	addr.sin_port = htons((uint16_t)atoi(argv[7]));
	trips = calloc(count ? count : 1, sizeof(*trips));
	if (size < sizeof(done) || size > SIZE_MAX_OCTETS || count < 8 || !trips)
		die("size or count", EINVAL);
	costs = costs_open(argc == 9 ? argv[8] : NULL);
	if (plain)
		use_sockets();
	else
		use_library(direct ? XIW_USE_DIRECT : XIW_USE_KERNEL);
	if (asks)
		print_trips();
	else if (costs.wanted)
		costs_print(&costs, end.share);
	free(trips);
	return 0;
}
