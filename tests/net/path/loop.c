// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two ends in loops of their own: each runs its engine only when xiw_engine_fd() says so.
 *
 *   loop [-c] HOW serve ADDRESS PORT ROUNDS
 *   loop [-c] HOW ask ADDRESS PORT ROUNDS
 *
 *   HOW   how it waits: level or edge (epoll), run (xiw_engine_run() blocks), or spin (the same with spin_us)
 *   -c    another thread makes calls and wakes all the time
 *
 * `ask` sends ROUNDS small messages, each when the answer to the one before has come, and then as many large ones in
 * groups. All octets are checked. No wait has a limit. Each prints one line of JSON.
 */
#include <getopt.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "tests/net/lib/common.h"
#include "tests/net/lib/json.h"

#define SMALL 64u
#define LARGE 8192u
#define GROUP 32u /* large messages that are answered by one small one */
#define DEPTH 64u

struct end {
	struct xiw_engine *engine;
	struct xiw_conn *conn;
	bool asks, calls;
	const char *how;
	uint64_t rounds;
	uint64_t sent, received; /* messages */
	uint64_t turns;		 /* how often the engine was run */
	struct xiw_conn_info info;
	bool over;

	struct xiw_call call;
	_Atomic bool under_way, leave;
	uint64_t handed_over, called;
};

static struct end end;
static uint8_t in[DEPTH][LARGE], out[GROUP][LARGE];
static struct xiw_conn_opts opts = {
	.size = sizeof(opts), .queues = 1, .recv_depth = DEPTH, .send_depth = DEPTH
};

/* ---- the conversation ------------------------------------------------------------------------------ */

/* Streams 1 and 2 are what `ask` and `serve` send. Message n begins at offset n * LARGE. */
static void send_one(size_t len)
{
	uint8_t *buf = out[end.sent % GROUP];
	const struct xiw_message m = { .buf = buf, .len = len };
	int err;

	stream_octets(end.asks ? 1 : 2, end.sent * LARGE, buf, len);
	err = xiw_conn_send(end.conn, &m);
	if (err)
		die("message %lu: %s", (unsigned long)end.sent, strerror(-err));
	end.sent++;
}

static void post(uint64_t slot)
{
	int err = xiw_conn_post_recv(end.conn, 0, in[slot], LARGE, slot);

	if (err)
		die("post: %s", strerror(-err));
}

static void ask_next(void)
{
	if (end.sent < end.rounds)
		send_one(SMALL);
	else if (end.sent < 2 * end.rounds)
		for (unsigned int i = 0; i < GROUP; i++)
			send_one(LARGE);
	else
		xiw_conn_close(end.conn);
}

static void received(const struct xiw_completion *c)
{
	bool large = !end.asks && end.received >= end.rounds;
	int64_t wrong = stream_wrong(end.asks ? 2 : 1, end.received * LARGE, in[c->user_data],
				     large ? LARGE : SMALL);

	if (c->length != (large ? LARGE : SMALL) || wrong >= 0)
		die("message %lu: %lu octets, wrong at %ld", (unsigned long)end.received,
		    (unsigned long)c->length, (long)wrong);
	end.received++;
	post(c->user_data);
	if (end.asks)
		ask_next();
	else if (!large || end.received % GROUP == 0)
		send_one(SMALL);
}

static void take(const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_REQUEST:
		end.conn = c->conn;
		for (uint64_t i = 0; i < DEPTH; i++)
			post(i);
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_CONNECTED:
		if (end.asks)
			ask_next();
		break;
	case XIW_EV_RECEIVED:
		received(c);
		break;
	case XIW_EV_ERROR:
		die("the stream is in error");
	case XIW_EV_EOF:
		xiw_conn_close(c->conn);
		break;
	case XIW_EV_CLOSED:
		xiw_conn_info(c->conn, &end.info, sizeof(end.info));
		if (c->status)
			die("closed: %s", strerror(-c->status));
		xiw_conn_free(c->conn);
		end.over = true;
		break;
	default:
		break;
	}
}

/* ---- the loop -------------------------------------------------------------------------------------- */

static int turn(int timeout_ms)
{
	int n = xiw_engine_run(end.engine, timeout_ms);
	struct xiw_completion c;

	if (n < 0 && n != -EINTR)
		die("run: %s", strerror(-n));
	while (xiw_engine_next(end.engine, &c))
		take(&c);
	end.turns++;
	return n;
}

static void loop(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (!strcmp(end.how, "edge"))
		event.events |= EPOLLET;
	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, xiw_engine_fd(end.engine), &event))
		die_errno("epoll");
	while (!end.over) {
		while (turn(0))
			;
		if (!end.over && epoll_wait(epoll, &event, 1, -1) < 0 && errno != EINTR)
			die_errno("epoll_wait");
	}
	close(epoll);
}

/* ---- another thread ---------------------------------------------------------------------------------- */

static void called(struct xiw_engine *e, struct xiw_call *call, int status)
{
	(void)e;
	(void)call;
	(void)status;
	end.called++;
	end.under_way = false;
}

static void *calls(void *arg)
{
	uint64_t state = 1;

	while (!end.leave) {
		if (!end.under_way) {
			end.under_way = true;
			end.handed_over++;
			xiw_engine_call(end.engine, &end.call);
		}
		usleep(lcg(&state, 1000));
		xiw_engine_wake(end.engine);
	}
	return arg;
}

/* ---- the two ends ------------------------------------------------------------------------------------ */

static void start(const char *host, const char *port)
{
	struct xiw_engine_opts eopts = { .size = sizeof(eopts),
					 .spin_us = strcmp(end.how, "spin") ? 0 : 200 };
	struct sockaddr_storage addr;
	struct xiw_listener *listener;
	socklen_t len = address_of(host, (uint16_t)atoi(port), &addr);
	int err = xiw_engine_create(&eopts, &end.engine);

	if (err)
		die("engine: %s", strerror(-err));
	if (!end.asks) {
		err = xiw_listen(end.engine, (struct sockaddr *)&addr, len, &opts, &listener);
	} else {
		err = xiw_connect(end.engine, (struct sockaddr *)&addr, len, &opts, &end.conn);
		for (uint64_t i = 0; !err && i < DEPTH; i++)
			post(i);
	}
	if (err)
		die("start: %s", strerror(-err));
}

static void report(void)
{
	struct json_object *o = json_object_new_object();

	add(o, "received", end.received);
	add(o, "turns", end.turns);
	add(o, "octets_direct", end.info.octets_direct);
	add(o, "octets_kernel", end.info.octets_kernel);
	add(o, "handed_over", end.handed_over);
	add(o, "called", end.called);
	add_reasons(o, &end.info);
	print_json(o);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	while (getopt(argc, argv, "c") == 'c')
		end.calls = true;
	if (argc - optind != 5)
		die("usage: loop [-c] HOW serve|ask ADDRESS PORT ROUNDS");
	end.how = argv[optind];
	end.asks = !strcmp(argv[optind + 1], "ask");
	end.rounds = strtoull(argv[optind + 4], NULL, 0);
	if (!end.rounds || end.rounds % GROUP)
		die("ROUNDS: a multiple of %u", GROUP);
	end.call.run = called;
	start(argv[optind + 2], argv[optind + 3]);
	if (end.calls && pthread_create(&thread, NULL, calls, NULL))
		die("no thread");
	if (!strcmp(end.how, "run") || !strcmp(end.how, "spin"))
		while (!end.over)
			turn(-1);
	else
		loop();
	if (end.calls) {
		end.leave = true;
		pthread_join(thread, NULL);
		turn(0);
	}
	xiw_engine_destroy(end.engine);
	report();
	return 0;
}
