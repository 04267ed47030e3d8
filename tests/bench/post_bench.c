// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * post_bench [--json] [ROUNDS]: what it costs that another thread posts than the one that runs the engine.
 *
 * Round trips of a message of 64 octets over lo, by the kernel path, to a thread that echoes them and sleeps between.
 * In each round every case makes TRIPS of them:
 *
 *   one    the thread that runs the engine posts, and waits in xiw_engine_run()
 *   other  another thread posts by xiw_engine_call() to an engine that waits in xiw_engine_run(), and sleeps until that
 *          thread tells it of the answer
 *
 * each with an engine that sleeps at once, and with one that spins before (spin_us).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <json-c/json.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <xiwarp/xiwarp.h>

#define TRIPS 2000u
#define ROUNDS_MAX 101
#define SIZE 64u
#define DEPTH 16u
#define SPIN_US 50u

/* An end of a connection, and who runs its engine. */
struct end {
	struct xiw_engine *engine;
	struct xiw_conn *conn;
	bool echoes, other; /* other: a thread of its own runs the engine */
	struct xiw_call call;
	sem_t answered;
	uint64_t answers;
	pthread_t thread;
	double us[ROUNDS_MAX]; /* per round trip */
};

enum { ONE, OTHER, ONE_SPIN, OTHER_SPIN, CASES };

static struct end ends[CASES], echo = { .echoes = true, .other = true };
static uint8_t octets[SIZE], sink[SIZE];
static struct xiw_conn_opts opts = {
	.size = sizeof(opts), .queues = 1, .recv_depth = DEPTH, .send_depth = DEPTH
};

static void need(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "post_bench: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void send_one(struct xiw_conn *conn)
{
	const struct xiw_message m = { .buf = octets, .len = SIZE };

	need(xiw_conn_send(conn, &m), "send");
}

static void post(struct xiw_conn *conn)
{
	need(xiw_conn_post_recv(conn, 0, sink, SIZE, 0), "post");
}

static void take(struct end *e, const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_REQUEST:
		for (unsigned int i = 0; i < DEPTH; i++)
			post(c->conn);
		need(xiw_conn_accept(c->conn, NULL, 0), "accept");
		break;
	case XIW_EV_CONNECTED:
		if (!e->echoes)
			e->conn = c->conn;
		break;
	case XIW_EV_RECEIVED:
		post(c->conn);
		if (e->echoes)
			send_one(c->conn);
		e->answers++;
		if (!e->echoes && e->other)
			sem_post(&e->answered);
		break;
	case XIW_EV_SENT:
		break;
	default:
		need(-ECONNRESET, "connection");
	}
}

static void run(struct end *e)
{
	struct xiw_completion c;
	int n = xiw_engine_run(e->engine, -1);

	need(n < 0 ? n : 0, "run");
	while (xiw_engine_next(e->engine, &c))
		take(e, &c);
}

static void *run_always(void *arg)
{
	for (;;)
		run(arg);
	return NULL;
}

static void post_call(struct xiw_engine *engine, struct xiw_call *call, int status)
{
	struct end *e = (struct end *)((char *)call - offsetof(struct end, call));

	(void)engine;
	need(status, "call");
	send_one(e->conn);
}

static void make(struct end *e, unsigned int spin_us, const struct sockaddr_in *to)
{
	struct xiw_engine_opts o = { .size = sizeof(o),
				     .path = XIW_USE_KERNEL,
				     .spin_us = spin_us };

	need(xiw_engine_create(&o, &e->engine), "engine");
	e->call.run = post_call;
	sem_init(&e->answered, 0, 0);
	if (!to)
		return;
	need(xiw_connect(e->engine, (const struct sockaddr *)to, sizeof(*to), &opts, &e->conn),
	     "connect");
	for (unsigned int i = 0; i < DEPTH; i++)
		post(e->conn);
	e->conn = NULL;
}

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static double measure(struct end *e)
{
	double from = now_us();

	for (unsigned int i = 0; i < TRIPS; i++) {
		uint64_t before = e->answers;

		if (e->other) {
			need(xiw_engine_call(e->engine, &e->call), "call");
			sem_wait(&e->answered);
			continue;
		}
		send_one(e->conn);
		while (e->answers == before)
			run(e);
	}
	return (now_us() - from) / TRIPS;
}

static void start(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_storage bound;
	struct xiw_listener *listener;
	socklen_t len;

	make(&echo, 0, NULL);
	need(xiw_listen(echo.engine, (struct sockaddr *)&addr, sizeof(addr), &opts, &listener),
	     "listen");
	need(xiw_listener_addr(listener, &bound, &len), "listen");
	need(-pthread_create(&echo.thread, NULL, run_always, &echo), "thread");
	for (int i = 0; i < CASES; i++) {
		ends[i].other = i == OTHER || i == OTHER_SPIN;
		make(&ends[i], i >= ONE_SPIN ? SPIN_US : 0, (struct sockaddr_in *)&bound);
		while (!ends[i].other && !ends[i].conn)
			run(&ends[i]);
	}
}

/* The engine's thread connects first, and sends nothing before it is asked. */
static void *connect_and_run(void *arg)
{
	struct end *e = arg;

	while (!e->conn)
		run(e);
	sem_post(&e->answered);
	return run_always(arg);
}

/* ---- the report -------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts. */
static double median(double *v, int n)
{
	qsort(v, n, sizeof(*v), by_value);
	return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

static json_object *range(const double *sorted, int n)
{
	json_object *o = json_object_new_array();

	json_object_array_add(o, json_object_new_double(sorted[0]));
	json_object_array_add(o, json_object_new_double(sorted[n - 1]));
	return o;
}

static json_object *row(const char *name, struct end *ours, struct end *other, int n,
			const char *included)
{
	json_object *o = json_object_new_object(), *spread = json_object_new_object();
	double ratio[ROUNDS_MAX], x, y;

	for (int i = 0; i < n; i++)
		ratio[i] = ours->us[i] / other->us[i];
	x = median(ours->us, n);
	y = median(other->us, n);
	json_object_object_add(o, "name", json_object_new_string(name));
	json_object_object_add(o, "mtu", json_object_new_int(65536));
	json_object_object_add(o, "unit", json_object_new_string("us"));
	json_object_object_add(o, "ours", json_object_new_double(x));
	json_object_object_add(o, "other", json_object_new_double(y));
	json_object_object_add(o, "ratio", json_object_new_double(median(ratio, n)));
	json_object_object_add(spread, "ours", range(ours->us, n));
	json_object_object_add(spread, "other", range(other->us, n));
	json_object_object_add(spread, "ratio", range(ratio, n));
	json_object_object_add(o, "spread", spread);
	json_object_object_add(o, "runs", json_object_new_int(n));
	json_object_object_add(o, "included", json_object_new_string(included));
	return o;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 && atoi(argv[argc - 1]) ? atoi(argv[argc - 1]) : 7;
	json_object *rows = json_object_new_array();

	if (rounds < 1 || rounds >= ROUNDS_MAX)
		need(-EINVAL, "rounds");
	start();
	for (int i = 0; i < CASES; i++)
		if (ends[i].other) {
			need(-pthread_create(&ends[i].thread, NULL, connect_and_run, &ends[i]),
			     "thread");
			sem_wait(&ends[i].answered);
		}
	for (int round = -1; round < rounds; round++) /* one to warm up */
		for (int i = 0; i < CASES; i++)
			ends[i].us[round < 0 ? 0 : round] = measure(&ends[i]);
	json_object_array_add(
		rows, row("post_64_other_thread_vs_own_sleeping", &ends[OTHER], &ends[ONE], rounds,
			  "64 octets there and back over lo, kernel path; ours: posted "
			  "by another thread to an engine that sleeps; other: posted by "
			  "the engine's thread"));
	json_object_array_add(rows,
			      row("post_64_other_thread_vs_own_spinning", &ends[OTHER_SPIN],
				  &ends[ONE_SPIN], rounds,
				  "the same with an engine that spins for 50 us before it sleeps"));
	if (argc > 1 && !strcmp(argv[1], "--json"))
		puts(json_object_to_json_string_ext(rows, JSON_C_TO_STRING_PRETTY));
	else
		for (int i = 0; i < 2; i++)
			puts(json_object_to_json_string(json_object_array_get_idx(rows, i)));
	return 0;
}
