// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The client's threads, and a run of `xiwarp perf`. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"
#include "ends.h"
#include "exit.h"
#include "perf_client.h"
#include "signals.h"
#include "text.h"

#define NS 1000000000ull
#define TURN_MS 500
#define STOPPED_NS                                                                                 \
	(3 * NS) /* a user who has stopped the client waits no longer for the server's report */

/* ---- a thread's connections ---------------------------------------------------------------------- */

static void fail_client(struct xiw_perf_client *c, int code)
{
	int none = 0;

	atomic_compare_exchange_strong(&c->failed, &none, code);
}

/* Tells why the run ends. While the reports are under way, what TCP alone knows is better than nothing. */
static void tell_end(const struct xiw_perf_client *c, const char *why)
{
	const double s = (double)(xiw_now_ns() - c->began_ns) / 1e9;
	struct xiw_perf_result tcp = {};
	char octets[32], rate[32];

	if (xiw_perf_phase_of(atomic_load(&c->order)) != XIW_PHASE_STOP) {
		xiw_fail(0, "%s: %s", c->test.server, why);
		return;
	}
	xiw_perf_tcp(c, &tcp);
	tcp.tcp_moved -= c->tcp_before.tcp_moved;
	xiw_fail(0,
		 "%s: %s: TCP had carried %s in %.1f s, %s, and the server's report is behind the "
		 "rest",
		 c->test.server, why, xiw_octets(tcp.tcp_moved, octets), s,
		 xiw_rate(tcp.tcp_moved, s, rate));
}

static void fail_link(struct xiw_perf_client *c, struct xiw_perf_stream *s)
{
	if (!atomic_load(&c->failed))
		tell_end(c, s->why);
	fail_client(c, s->code);
}

/* Adds a connection that has got so far to the count of those. */
static void count(struct xiw_perf_thread *t, struct xiw_perf_link *l, enum xiw_perf_state state,
		  atomic_uint *counter)
{
	if (l->stream.state != state || l->counted == state)
		return;
	l->counted = state;
	atomic_fetch_add(counter, 1);
	if (t->index)
		xiw_engine_wake(t->client->threads[0].engine);
}

/* TCP is connected: the stream is made in this thread. */
static void on_arrived(struct xiw_perf_thread *t, struct xiw_conn *conn)
{
	struct xiw_perf_client *c = t->client;
	struct xiw_perf_link *l = calloc(1, sizeof(*l));
	uint8_t request[XIW_PERF_REQUEST_LEN];
	int err = -1;

	if (l) {
		l->stream.conn = conn;
		l->stream.params = c->test.params;
		l->stream.hist = &t->hist;
		l->stream.thread = t->index;
		l->stream.threads = c->nthreads;
		l->stream.spins = c->test.args->perf.spin;
		l->next = t->links;
		t->links = l;
		xiw_conn_set_user_data(conn, (uintptr_t)l);
		err = xiw_perf_stream_open(&l->stream, t->engine);
		xiw_perf_fill(&l->stream, SIZE_MAX);
	}
	if (err) {
		xiw_fail(0, "cannot prepare a connection: %s", l ? strerror(-err) : "no memory");
		fail_client(c, XIW_EXIT_FAILURE);
		xiw_conn_abort(conn);
		return;
	}
	l->stream.params.stag = l->stream.region ? xiw_region_stag(l->stream.region) : 0;
	xiw_perf_put_request(&l->stream.params, request);
	xiw_conn_accept(conn, request, sizeof(request));
}

static void on_connected(struct xiw_perf_thread *t, struct xiw_perf_link *l)
{
	struct xiw_perf_stream *s = &l->stream;
	size_t len;
	const void *data = xiw_conn_private_data(s->conn, &len);

	if (xiw_perf_get_grant(data, len, &s->peer_stag)) {
		atomic_fetch_add(&t->client->connected, 1);
		if (t->index)
			xiw_engine_wake(t->client->threads[0].engine);
		return;
	}
	xiw_fail(0, "%s is no server of 'xiwarp perf'", t->client->test.server);
	fail_client(t->client, XIW_EXIT_PEER);
}

/* What this host lacks it lacks for every address of the server. */
static void refused_here(struct xiw_perf_client *c, int code)
{
	if (code != XIW_EXIT_PEER)
		fail_client(c, code);
}

/* The server says why in its Private Data. */
static void on_refused(struct xiw_perf_thread *t, const struct xiw_completion *done)
{
	struct xiw_perf_client *c = t->client;
	char text[160] = "", shown[160];
	struct xiw_conn_info info;
	const void *data;
	size_t len;

	/* One line for all; none for what a signal has ended. */
	if (atomic_exchange(&c->refused, true) || xiw_stop_signal)
		return;
	if (t->index)
		xiw_engine_wake(c->threads[0].engine);
	if (!done->conn) {
		refused_here(c, xiw_cannot_connect(c->test.server, done->status));
		return;
	}
	xiw_conn_info(done->conn, &info, sizeof(info));
	data = xiw_conn_private_data(done->conn, &len);
	if (info.rejected && len) {
		memcpy(text, data, len < sizeof(text) - 1 ? len : sizeof(text) - 1);
		xiw_fail(0, "%s refuses: %s", c->test.server,
			 xiw_printable(text, shown, sizeof(shown)));
	} else {
		refused_here(c, xiw_connect_failed(c->test.server, &info, "perf -s"));
	}
}

static void on_completion(struct xiw_perf_thread *t, const struct xiw_completion *done)
{
	struct xiw_perf_client *c = t->client;
	struct xiw_perf_link *l = done->conn ? (void *)(uintptr_t)xiw_conn_user_data(done->conn)
					     : NULL;

	if (done->event == XIW_EV_ARRIVED) {
		on_arrived(t, done->conn);
		return;
	}
	if (done->event == XIW_EV_REFUSED)
		on_refused(t, done);
	if (!l) {
		if (done->event == XIW_EV_CLOSED)
			xiw_conn_free(done->conn);
		return;
	}
	xiw_perf_completion(&l->stream, done);
	if (done->event == XIW_EV_CONNECTED)
		on_connected(t, l);
	if (l->stream.code && !c->refused)
		fail_link(c, &l->stream);
	count(t, l, XIW_PERF_PREPARED, &c->prepared);
	count(t, l, XIW_PERF_REPORTED, &c->reported);
	/* One that was refused has never counted. */
	if (l->stream.connected)
		count(t, l, XIW_PERF_CLOSED, &c->ended);
}

/* ---- phases -------------------------------------------------------------------------------------- */

#define PHASE_BITS 4

enum xiw_perf_phase xiw_perf_phase_of(unsigned int order)
{
	return order & ((1u << PHASE_BITS) - 1);
}

static void carry_out(struct xiw_perf_thread *t)
{
	struct xiw_perf_client *c = t->client;
	const unsigned int order = atomic_load(&c->order);
	const enum xiw_perf_phase phase = xiw_perf_phase_of(order);

	if (t->seen == order)
		return;
	t->seen = order;
	if (phase == XIW_PHASE_RUN)
		memset(&t->hist, 0, sizeof(t->hist));
	for (struct xiw_perf_link *l = t->links; l; l = l->next) {
		struct xiw_perf_stream *s = &l->stream;

		if (phase == XIW_PHASE_START && s->connected && s->state < XIW_PERF_CLOSING)
			xiw_perf_start(s, c->size);
		else if (phase == XIW_PHASE_RUN && s->state == XIW_PERF_PREPARED)
			xiw_perf_go(s);
		else if (phase == XIW_PHASE_STOP)
			xiw_perf_stop(s);
		else if (phase == XIW_PHASE_CLOSE)
			xiw_perf_close(s);
	}
}

void xiw_perf_set_phase(struct xiw_perf_client *c, enum xiw_perf_phase phase)
{
	const unsigned int number = (atomic_load(&c->order) >> PHASE_BITS) + 1;

	atomic_store(&c->order, number << PHASE_BITS | phase);
	for (unsigned int i = 1; i < c->nthreads; i++)
		xiw_engine_wake(c->threads[i].engine);
	carry_out(&c->threads[0]);
}

bool xiw_perf_turn(struct xiw_perf_thread *t, int wait_ms)
{
	struct xiw_completion done;
	int code;

	carry_out(t);
	code = xiw_endpoint_turn(t->engine, wait_ms);
	if (code) {
		fail_client(t->client, code);
		return false;
	}
	while (xiw_engine_next(t->engine, &done) > 0)
		on_completion(t, &done);
	return true;
}

/* ---- the run ------------------------------------------------------------------------------------- */

static uint64_t messages_done(const struct xiw_perf_client *c)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < c->nthreads; i++)
		for (struct xiw_perf_link *l = c->threads[i].links; l; l = l->next)
			n += __atomic_load_n(&l->stream.done, __ATOMIC_RELAXED);
	return n;
}

/* Turns of the first thread until all connections have got so far. False: one failed, or the time is over. */
static bool await(struct xiw_perf_client *c, atomic_uint *counter, uint64_t limit_ns)
{
	const unsigned int all = c->test.params.connections;

	while (atomic_load(counter) < all && !atomic_load(&c->failed) && !atomic_load(&c->ended)) {
		const uint64_t now = xiw_now_ns();

		if (xiw_stop_signal && limit_ns > now + STOPPED_NS)
			limit_ns = now + STOPPED_NS;
		if (now > limit_ns || !xiw_perf_turn(&c->threads[0], TURN_MS))
			return false;
	}
	return atomic_load(counter) >= all;
}

static void print_interval(const struct xiw_perf_client *c, const struct xiw_perf_sample *from,
			   const struct xiw_perf_sample *to)
{
	const uint64_t n = to->messages - from->messages;
	const double s = to->seconds - from->seconds;
	char rate[32];

	if (c->test.args->json || !c->test.args->perf.interval || s <= 0)
		return;
	printf("%7.1f s  ", to->seconds);
	if (!c->test.params.latency)
		printf("%14s  ", xiw_rate(n * c->size, s, rate));
	printf("%.0f %s/s\n", (double)n / s, c->test.params.latency ? "round trips" : "messages");
	fflush(stdout);
}

static void sample(struct xiw_perf_client *c, uint64_t now)
{
	struct xiw_perf_sample s = { .seconds = (double)(now - c->began_ns) / 1e9,
				     .messages = messages_done(c) };
	const struct xiw_perf_sample zero = {};
	const struct xiw_perf_sample *last = c->nsamples ? &c->samples[c->nsamples - 1] : &zero;

	print_interval(c, last, &s);
	if (c->nsamples < c->samples_max)
		c->samples[c->nsamples++] = s;
}

/* Until the time is over, the user stops it, or a connection fails. */
static void measure(struct xiw_perf_client *c)
{
	const struct xiw_args *args = c->test.args;
	const uint64_t step = args->perf.interval ? args->perf.interval * NS
						  : args->perf.time * NS / 10;
	const uint64_t end = c->began_ns + args->perf.time * NS;
	uint64_t next = c->began_ns + step, now;

	while ((now = xiw_now_ns()) < end && xiw_go_on() && !atomic_load(&c->failed) &&
	       !atomic_load(&c->ended)) {
		const uint64_t until = next < end ? next : end;

		if (now >= next) {
			sample(c, now);
			next += step;
		} else if (!xiw_perf_turn(&c->threads[0], (int)((until - now) / 1000000) + 1)) {
			return;
		}
	}
	sample(c, now);
	c->interrupted = !xiw_go_on();
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void add_end(struct xiw_perf_end *sum, const struct xiw_perf_end *e)
{
	sum->wall_ns = larger(sum->wall_ns, e->wall_ns);
	sum->cpu_ns = larger(sum->cpu_ns, e->cpu_ns);
	sum->host_ns = larger(sum->host_ns, e->host_ns);
	sum->messages += e->messages;
	sum->direct += e->direct;
	sum->kernel += e->kernel;
	sum->sent += e->sent;
	sum->dropped += e->dropped;
	sum->crc_errors += e->crc_errors;
	sum->holds += e->holds;
	sum->went_kernel += e->went_kernel;
	if (e->reason_count > sum->reason_count) {
		sum->reason = e->reason;
		sum->reason_count = e->reason_count;
	}
	sum->threads = e->threads;
	sum->cpus = e->cpus;
	sum->spins |= e->spins;
	sum->zero_copy |= e->zero_copy;
	sum->crc |= e->crc;
	if (*e->no_direct)
		memcpy(sum->no_direct, e->no_direct, sizeof(sum->no_direct));
}

static unsigned int bits(uint64_t mask)
{
	return (unsigned int)__builtin_popcountll(mask);
}

static void collect(struct xiw_perf_client *c, struct xiw_perf_result *r)
{
	struct xiw_perf_result tcp = {};
	uint64_t here = 0, there = 0;

	for (unsigned int i = 0; i < c->nthreads; i++) {
		if (r->hist)
			xiw_hist_merge(r->hist, &c->threads[i].hist);
		for (struct xiw_perf_link *l = c->threads[i].links; l; l = l->next) {
			if (!l->stream.connected)
				continue;
			add_end(&r->here, &l->stream.here);
			add_end(&r->there, &l->stream.there);
			here |= 1ull << (l->stream.here.thread % 64);
			there |= 1ull << (l->stream.there.thread % 64);
		}
	}
	r->threads_here = bits(here);
	r->threads_there = bits(there);
	/* Of messages that go there and back the client counts the pairs; a Read goes one way. */
	r->octets = (r->here.messages + (r->hist ? 0 : r->there.messages)) * r->size;
	if (r->hist && c->test.params.op != XIW_PERF_READ)
		r->octets *= 2;
	xiw_perf_tcp(c, &tcp);
	r->tcp_busy = tcp.tcp_busy - c->tcp_before.tcp_busy;
	r->tcp_peer_window = tcp.tcp_peer_window - c->tcp_before.tcp_peer_window;
	r->tcp_send_buffer = tcp.tcp_send_buffer - c->tcp_before.tcp_send_buffer;
	r->tcp_segments = tcp.tcp_segments - c->tcp_before.tcp_segments;
	r->tcp_again = tcp.tcp_again - c->tcp_before.tcp_again;
	r->interrupted = c->interrupted;
	r->nsamples = c->nsamples;
}

static uint64_t patience(const struct xiw_perf_client *c)
{
	return xiw_now_ns() +
	       (c->interrupted ? STOPPED_NS : c->test.args->receiver.peer_timeout * NS);
}

static bool no_answer(struct xiw_perf_client *c)
{
	if (!atomic_load(&c->failed) && !xiw_stop_signal)
		xiw_fail(0, "%s: the server does not answer any more", c->test.server);
	fail_client(c, XIW_EXIT_PEER);
	return false;
}

/* What has come so far, of either direction: over a slow link only that tells a server from one that is gone. */
static uint64_t moved(const struct xiw_perf_client *c)
{
	struct xiw_perf_result tcp = {};

	xiw_perf_tcp(c, &tcp);
	return tcp.tcp_moved + messages_done(c);
}

static void print_rest(const struct xiw_perf_client *c, uint64_t now, uint64_t octets,
		       uint64_t since)
{
	char rate[32];

	if (c->test.args->json || !c->test.args->perf.interval)
		return;
	printf("%7.1f s  %14s  of what was still under way\n", (double)(now - c->began_ns) / 1e9,
	       xiw_rate(octets, (double)(now - since) / 1e9, rate));
	fflush(stdout);
}

/*
 * The reports come behind what was posted, and TCP's buffers hold megabytes: over a slow link these take minutes. Each
 * octet that moves begins the time-out again, and there are no more of them than were posted.
 */
static bool await_reports(struct xiw_perf_client *c)
{
	const uint64_t step = c->test.args->perf.interval ? c->test.args->perf.interval * NS : NS;
	uint64_t limit = patience(c), seen = moved(c), at = xiw_now_ns();

	while (!await(c, &c->reported, limit < at + step ? limit : at + step)) {
		const uint64_t now = xiw_now_ns(), all = moved(c);

		if (atomic_load(&c->failed) || atomic_load(&c->ended) || xiw_stop_signal ||
		    (all == seen && now > limit))
			return false;
		if (now < at + step)
			continue;
		print_rest(c, now, all - seen, at);
		if (all != seen)
			limit = patience(c);
		seen = all;
		at = now;
	}
	return true;
}

static bool no_report(struct xiw_perf_client *c)
{
	if (!atomic_load(&c->failed))
		tell_end(c, xiw_stop_signal ? "stopped" : "the server does not answer any more");
	fail_client(c, XIW_EXIT_PEER);
	return false;
}

bool xiw_perf_run(struct xiw_perf_client *c, uint32_t size, struct xiw_perf_result *r)
{
	const struct xiw_args *args = c->test.args;

	*r = (struct xiw_perf_result){ .size = size };
	c->size = size;
	c->nsamples = 0;
	c->samples_max = (args->perf.interval ? args->perf.time / args->perf.interval : 10) + 2;
	c->samples = calloc(c->samples_max, sizeof(*c->samples));
	r->samples = c->samples;
	r->hist = c->test.params.latency ? calloc(1, sizeof(*r->hist)) : NULL;
	if (!c->samples || (c->test.params.latency && !r->hist)) {
		fail_client(c, xiw_fail(XIW_EXIT_FAILURE, "no memory"));
		return false;
	}
	atomic_store(&c->prepared, 0);
	atomic_store(&c->reported, 0);
	xiw_perf_set_phase(c, XIW_PHASE_START);
	if (!await(c, &c->prepared, patience(c)))
		return no_answer(c);
	memset(&c->tcp_before, 0, sizeof(c->tcp_before));
	xiw_perf_tcp(c, &c->tcp_before);
	c->began_ns = xiw_now_ns();
	xiw_perf_set_phase(c, XIW_PHASE_RUN);
	measure(c);
	xiw_perf_set_phase(c, XIW_PHASE_STOP);
	if (!await_reports(c))
		return no_report(c);
	collect(c, r);
	if (r->hist && !r->hist->count && xiw_go_on()) {
		fail_client(c, xiw_fail(XIW_EXIT_PEER, "%s has answered no message of the run",
					c->test.server));
		return false;
	}
	if (r->here.direct + r->here.kernel + r->there.direct + r->there.kernel >= r->octets)
		return true;
	fail_client(c, xiw_fail(XIW_EXIT_VERIFY, "fewer octets have arrived than were sent"));
	return false;
}
