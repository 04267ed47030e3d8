// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The client of `xiwarp perf`: connecting, the runs one after the other, and the end. */
#include "perf_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "endpoint.h"
#include "exit.h"
#include "out.h"
#include "signals.h"
#include "text.h"

#define NS 1000000000ull
#define CLOSE_NS (5 * NS)
#define TURN_MS 500
#define AT_ONCE 64u

/* ---- threads ------------------------------------------------------------------------------------- */

/* Has this thread been told to close its connections? */
static bool closes(const struct xiw_perf_thread *t)
{
	return xiw_perf_phase_of(t->seen) == XIW_PHASE_CLOSE;
}

static bool all_closed(const struct xiw_perf_thread *t)
{
	for (const struct xiw_perf_link *l = t->links; l; l = l->next)
		if (l->stream.state != XIW_PERF_CLOSED)
			return false;
	return true;
}

static void close_thread(struct xiw_perf_thread *t)
{
	const uint64_t limit = xiw_now_ns() + CLOSE_NS;

	while (!all_closed(t) && xiw_now_ns() < limit && xiw_perf_turn(t, TURN_MS / 10))
		;
}

static void *run_thread(void *arg)
{
	struct xiw_perf_thread *t = arg;

	xiw_hold_signals();
	while (!closes(t) && xiw_perf_turn(t, TURN_MS))
		;
	close_thread(t);
	return NULL;
}

static int start_threads(struct xiw_perf_client *c)
{
	c->nthreads = xiw_group_engines(c->group);
	c->threads = calloc(c->nthreads, sizeof(*c->threads));
	if (!c->threads)
		return xiw_fail(XIW_EXIT_FAILURE, "no memory");
	for (unsigned int i = 0; i < c->nthreads; i++) {
		c->threads[i].client = c;
		c->threads[i].index = i;
		c->threads[i].engine = xiw_group_engine(c->group, i);
		xiw_engine_set_spin(c->threads[i].engine, c->test.args->perf.spin);
	}
	for (unsigned int i = 1; i < c->nthreads; i++) {
		struct xiw_perf_thread *t = &c->threads[i];

		t->runs = !pthread_create(&t->id, NULL, run_thread, t);
		if (!t->runs)
			return xiw_fail(XIW_EXIT_FAILURE, "cannot start thread %u", i);
	}
	return 0;
}

static void end_threads(struct xiw_perf_client *c)
{
	xiw_perf_forget_sockets(c);
	if (!c->threads)
		return;
	xiw_perf_set_phase(c, XIW_PHASE_CLOSE);
	close_thread(&c->threads[0]);
	for (unsigned int i = 1; i < c->nthreads; i++)
		if (c->threads[i].runs)
			pthread_join(c->threads[i].id, NULL);
	for (unsigned int i = 0; i < c->nthreads; i++) {
		struct xiw_perf_link *l;

		while ((l = c->threads[i].links)) {
			c->threads[i].links = l->next;
			xiw_conn_free(l->stream.conn);
			xiw_perf_stream_free(&l->stream);
			free(l);
		}
	}
	free(c->threads);
}

/* ---- connecting ---------------------------------------------------------------------------------- */

static int connect_some(struct xiw_perf_client *c, const struct addrinfo *ai, unsigned int n)
{
	const struct xiw_args *args = c->test.args;
	struct xiw_conn_opts opts = {
		.size = sizeof(opts),
		.path = args->receiver.path,
		.no_crc = args->mpa.crc_off,
		.enhanced = true,
		.ird = (uint16_t)c->test.params.depth,
		.ord = (uint16_t)c->test.params.depth,
		.recv_depth = xiw_perf_recv_depth(&c->test.params),
		.send_depth = xiw_perf_send_depth(&c->test.params),
		.hold_ms = XIW_PERF_HOLD_MS,
		.prepare = xiw_perf_keep_socket,
		.prepare_ctx = c,
	};
	int err = 0;

	xiw_endpoint_limits(args, &opts);
	for (unsigned int i = 0; i < n && !err; i++)
		err = xiw_group_connect(c->group, ai->ai_addr, ai->ai_addrlen, &opts);
	if (!err)
		return 0;
	return xiw_fail(XIW_EXIT_FAILURE, "cannot connect: %s%s", strerror(-err), xiw_remedy(err));
}

/* Until so many connections are established. False: one is refused, or the user stops. */
static bool await_connected(struct xiw_perf_client *c, unsigned int n)
{
	while (atomic_load(&c->connected) < n) {
		if (c->refused || atomic_load(&c->failed) || !xiw_go_on() ||
		    !xiw_perf_turn(&c->threads[0], TURN_MS))
			return false;
	}
	return true;
}

/*
 * More, up to `n`. Few at a time: a server limits how many connections of one client are in MPA startup, and an engine
 * of several gets its part of that limit (max_unstarted_peer).
 */
static int connect_rest(struct xiw_perf_client *c, const struct addrinfo *ai, unsigned int n)
{
	int code = 0;

	for (unsigned int done = 1, more; done < n && !code; done += more) {
		more = n - done < AT_ONCE ? n - done : AT_ONCE;
		code = connect_some(c, ai, more);
		if (!code && !await_connected(c, done + more))
			code = atomic_load(&c->failed) ? atomic_load(&c->failed) : XIW_EXIT_PEER;
	}
	return code;
}

/* The first address that accepts gets all connections. */
static int connect_all(struct xiw_perf_client *c, const struct addrinfo *list)
{
	const unsigned int n = c->test.params.connections;
	int code;

	for (const struct addrinfo *ai = list; ai; ai = ai->ai_next) {
		c->refused = false;
		xiw_addr_name((const void *)ai->ai_addr, c->test.server);
		xiw_perf_forget_sockets(c);
		code = connect_some(c, ai, 1);
		if (code)
			return code;
		if (!await_connected(c, 1)) {
			if (atomic_load(&c->failed) || !xiw_go_on())
				break;
			continue;
		}
		return connect_rest(c, ai, n);
	}
	return atomic_load(&c->failed) ? atomic_load(&c->failed) : XIW_EXIT_PEER;
}

/* ---- the runs ------------------------------------------------------------------------------------ */

static void free_results(struct xiw_perf_result *results, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		free(results[i].samples);
		free(results[i].hist);
	}
	free(results);
}

/* Writes the picture of `n` runs, if there are any, to where --plot says. */
static int plot(const struct xiw_perf_client *c, const struct xiw_perf_result *results,
		unsigned int n)
{
	char *svg = NULL;
	size_t len = 0;
	FILE *f = c->picture && n ? open_memstream(&svg, &len) : NULL;
	bool drawn;
	int code;

	if (!c->picture || !n)
		return 0;
	drawn = f && xiw_perf_plot(f, &c->test, results, n);
	if (f && fclose(f))
		drawn = false;
	code = drawn ? xiw_out_write(c->picture, (const uint8_t *)svg, len)
		     : xiw_fail(XIW_EXIT_FAILURE, "--plot: no memory");
	free(svg);
	return code;
}

static int run_sizes(struct xiw_perf_client *c)
{
	const struct xiw_args *args = c->test.args;
	struct xiw_perf_result *results = calloc(args->perf.nsizes, sizeof(*results));
	unsigned int n = 0, made = 0;
	int code;

	if (!results)
		return xiw_fail(XIW_EXIT_FAILURE, "no memory");
	while (made < args->perf.nsizes && xiw_go_on()) {
		made++;
		if (!xiw_perf_run(c, args->perf.sizes[n], &results[n]))
			break;
		xiw_perf_report(&c->test, &results[n++]);
	}
	code = plot(c, results, n);
	free_results(results, made);
	return atomic_load(&c->failed) ? atomic_load(&c->failed) : code;
}

static int connect_and_run(struct xiw_perf_client *c)
{
	const struct xiw_args *args = c->test.args;
	const char *where = c->picture ? c->picture->where : NULL;
	struct addrinfo *list;
	bool direct;
	int code = xiw_resolve(args->words[0], false, &list);

	if (code)
		return code;
	code = xiw_endpoint_open_group(args, &c->group);
	if (!code)
		code = xiw_endpoint_ready_group(args, c->group, NULL, where, &direct);
	if (!code)
		code = xiw_endpoint_drop(args, direct, where);
	if (!code)
		code = start_threads(c);
	if (!code)
		code = connect_all(c, list);
	if (!code)
		code = run_sizes(c);
	freeaddrinfo(list);
	end_threads(c);
	xiw_group_destroy(c->group);
	return code;
}

static void set_params(struct xiw_perf_client *c, const struct xiw_args *args)
{
	struct xiw_perf_request *p = &c->test.params;

	c->test.args = args;
	p->op = args->perf.op;
	p->latency = args->perf.latency;
	p->both = args->perf.both;
	p->depth = p->latency ? 1 : args->perf.depth;
	p->connections = args->perf.connections;
	for (unsigned int i = 0; i < args->perf.nsizes; i++)
		if (args->perf.sizes[i] > p->size)
			p->size = args->perf.sizes[i];
}

int xiw_perf_client(const struct xiw_args *args)
{
	struct xiw_perf_client c = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct xiw_out picture;
	int code;

	set_params(&c, args);
	if (args->perf.plot) {
		code = xiw_out_look("--plot", args->perf.plot, &picture);
		if (code)
			return code;
		c.picture = &picture;
	}
	c.sockets = calloc(c.test.params.connections, sizeof(*c.sockets));
	code = c.sockets ? connect_and_run(&c) : xiw_fail(XIW_EXIT_FAILURE, "no memory");
	free(c.sockets);
	return code;
}
