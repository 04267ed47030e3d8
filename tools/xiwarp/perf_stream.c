// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The protocol of `xiwarp perf`, driven by the completions of one connection. */
#include "perf_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "ends.h"
#include "exit.h"
#include "text.h"

/* user_data of operations; that of a posted buffer is its part. */
enum { UD_WORD = 1, UD_DATA };

__attribute__((format(printf, 3, 4))) static void fail(struct xiw_perf_stream *s, int code,
						       const char *fmt, ...)
{
	va_list args;

	if (s->code || s->state >= XIW_PERF_CLOSING)
		return;
	s->code = code;
	va_start(args, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, args);
	va_end(args);
	s->state = XIW_PERF_CLOSING;
	xiw_rdma_terminate(s->rdma);
}

static void post(struct xiw_perf_stream *s, const struct xiw_rdma_op *op)
{
	int err = xiw_rdma_post(s->rdma, op);

	/* The stream is closing already: an event will say so. */
	if (err && err != -EPIPE)
		fail(s, err == -EINVAL && s->server ? XIW_EXIT_PEER : XIW_EXIT_FAILURE,
		     "cannot post an operation: %s", strerror(-err));
}

static void say(struct xiw_perf_stream *s, enum xiw_perf_word word, uint32_t number)
{
	const struct xiw_rdma_op op = {
		.kind = XIW_RDMA_IMMEDIATE,
		.immediate = xiw_perf_value(word, number),
		.user_data = UD_WORD,
	};

	post(s, &op);
}

/* ---- data ---------------------------------------------------------------------------------------- */

static void post_data(struct xiw_perf_stream *s)
{
	const uint64_t at = (uint64_t)(s->posted % s->parts) * s->size;
	struct xiw_rdma_op op = { .len = s->size, .user_data = UD_DATA };

	if (s->params.op == XIW_PERF_SEND) {
		op.kind = XIW_RDMA_SEND;
		op.buf = s->out.octets + at;
	} else if (s->params.op == XIW_PERF_WRITE) {
		op.kind = s->params.latency ? XIW_RDMA_WRITE_IMMEDIATE : XIW_RDMA_WRITE;
		op.buf = s->out.octets + at;
		op.stag = s->peer_stag;
		op.to = at;
		op.immediate = s->params.latency ? xiw_perf_value(XIW_PERF_DATA, 0) : 0;
	} else {
		op.kind = XIW_RDMA_READ;
		op.stag = s->peer_stag;
		op.to = at;
		op.sink_stag = xiw_region_stag(s->sink);
		op.sink_to = at;
	}
	s->posted++;
	s->outstanding++;
	post(s, &op);
}

/* Client: the next message of those that go there and back. */
static void ask(struct xiw_perf_stream *s)
{
	s->asked_ns = xiw_now_ns();
	post_data(s);
}

static bool posts_all_the_time(const struct xiw_perf_stream *s)
{
	return !s->params.latency && (!s->server || s->params.both);
}

static void count_one(struct xiw_perf_stream *s)
{
	__atomic_store_n(&s->done, s->done + 1, __ATOMIC_RELAXED);
}

static void answered(struct xiw_perf_stream *s)
{
	xiw_hist_add(s->hist, xiw_now_ns() - s->asked_ns);
	count_one(s);
	if (s->state == XIW_PERF_RUNNING)
		ask(s);
}

/* ---- a run --------------------------------------------------------------------------------------- */

static void begin(struct xiw_perf_stream *s)
{
	s->posted = s->outstanding = 0;
	__atomic_store_n(&s->done, 0, __ATOMIC_RELAXED);
	s->began_cpu = xiw_perf_cpu_ns();
	s->began_host = xiw_perf_host_ns();
	s->began_ns = xiw_now_ns();
	s->state = XIW_PERF_RUNNING;
	for (uint32_t i = 0; i < s->params.depth && posts_all_the_time(s); i++)
		post_data(s);
	if (s->params.latency && !s->server)
		ask(s);
}

static void set_reason(struct xiw_perf_end *e, const struct xiw_conn_info *began,
		       const struct xiw_conn_info *info)
{
	for (uint32_t i = 1; i < XIW_REASON__COUNT; i++) {
		const uint32_t n = info->reasons[i] - began->reasons[i];

		if (n > e->reason_count) {
			e->reason = i;
			e->reason_count = n;
		}
	}
}

/* Closes the count of a run. */
static void end(struct xiw_perf_stream *s)
{
	const struct xiw_conn_info *b = &s->began;
	struct xiw_perf_end *e = &s->here;
	struct xiw_conn_info i;

	s->ended_ns = xiw_now_ns();
	xiw_conn_info(s->conn, &i, sizeof(i));
	*e = (struct xiw_perf_end){
		.wall_ns = s->ended_ns - s->began_ns,
		.cpu_ns = xiw_perf_cpu_ns() - s->began_cpu,
		.host_ns = xiw_perf_host_ns() - s->began_host,
		.messages = s->done,
		.direct = i.octets_direct - b->octets_direct,
		.kernel = i.octets_kernel - b->octets_kernel,
		.sent = i.octets_sent - b->octets_sent,
		.dropped = i.segments_dropped - b->segments_dropped,
		.crc_errors = i.crc_errors - b->crc_errors,
		.holds = i.holds - b->holds,
		.went_kernel = i.went_kernel - b->went_kernel,
		.thread = s->thread,
		.threads = s->threads,
		.cpus = (uint32_t)get_nprocs(),
		.spins = s->spins,
		.zero_copy = i.zero_copy,
		.crc = i.crc,
	};
	set_reason(e, b, &i);
	memcpy(e->no_direct, i.no_direct, sizeof(e->no_direct) - 1);
}

static void send_report(struct xiw_perf_stream *s)
{
	const struct xiw_rdma_op op = {
		.kind = XIW_RDMA_SEND,
		.flags = XIW_RDMA_SOLICITED,
		.buf = s->report,
		.len = XIW_PERF_REPORT_LEN,
		.user_data = UD_WORD,
	};

	end(s);
	xiw_perf_put_report(&s->here, s->report);
	s->state = XIW_PERF_IDLE;
	post(s, &op);
}

/* In the state DRAINING: when all messages of ours have gone, the run ends. */
static void drained(struct xiw_perf_stream *s)
{
	if (s->outstanding)
		return;
	if (s->server) {
		send_report(s);
		return;
	}
	s->state = XIW_PERF_STOPPING;
	say(s, XIW_PERF_STOP, 0);
}

static void prepare(struct xiw_perf_stream *s, uint32_t size)
{
	s->parts = xiw_perf_parts(&s->params, size);
	s->size = size;
	/* Before GO: data that come right after it may be in place before it is delivered. */
	xiw_conn_info(s->conn, &s->began, sizeof(s->began));
	s->state = XIW_PERF_STARTING;
}

void xiw_perf_start(struct xiw_perf_stream *s, uint32_t size)
{
	prepare(s, size);
	say(s, XIW_PERF_START, size);
}

void xiw_perf_go(struct xiw_perf_stream *s)
{
	say(s, XIW_PERF_GO, 0);
	begin(s);
}

void xiw_perf_stop(struct xiw_perf_stream *s)
{
	if (s->state != XIW_PERF_RUNNING)
		return;
	s->state = XIW_PERF_DRAINING;
	drained(s);
}

void xiw_perf_close(struct xiw_perf_stream *s)
{
	if (s->state >= XIW_PERF_CLOSING)
		return;
	s->state = XIW_PERF_CLOSING;
	xiw_rdma_close(s->rdma);
}

/* ---- what comes ---------------------------------------------------------------------------------- */

static void server_word(struct xiw_perf_stream *s, enum xiw_perf_word word, uint32_t number)
{
	if (word == XIW_PERF_START && s->state == XIW_PERF_IDLE && number &&
	    number <= s->params.size) {
		prepare(s, number);
		say(s, XIW_PERF_READY, 0);
	} else if (word == XIW_PERF_GO && s->state == XIW_PERF_STARTING) {
		begin(s);
	} else if (word == XIW_PERF_STOP && s->state == XIW_PERF_RUNNING) {
		s->state = XIW_PERF_DRAINING;
		drained(s);
	} else {
		fail(s, XIW_EXIT_PEER, "the client broke the protocol: word %u, number %" PRIu32,
		     (unsigned int)word, number);
	}
}

static bool is_data(const struct xiw_perf_stream *s, bool immediate)
{
	const bool running = s->state == XIW_PERF_RUNNING || s->state == XIW_PERF_DRAINING ||
			     (!s->server && s->state == XIW_PERF_STOPPING);

	if (!running || s->params.op == XIW_PERF_READ)
		return false;
	return immediate ? s->params.latency && s->params.op == XIW_PERF_WRITE
			 : s->params.op == XIW_PERF_SEND;
}

/* A message of the peer that goes there and back is answered, or is the answer. */
static void on_data(struct xiw_perf_stream *s)
{
	if (!s->params.latency)
		return;
	if (s->server)
		post_data(s);
	else
		answered(s);
}

static void on_word(struct xiw_perf_stream *s, uint64_t value)
{
	const uint32_t word = (uint32_t)(value >> 56);

	if (word == XIW_PERF_DATA && is_data(s, true))
		on_data(s);
	else if (s->server)
		server_word(s, word, (uint32_t)value);
	else if (word == XIW_PERF_READY && s->state == XIW_PERF_STARTING)
		s->state = XIW_PERF_PREPARED;
	else
		fail(s, XIW_EXIT_PEER, "the server broke the protocol: word %" PRIu32, word);
}

static void on_send(struct xiw_perf_stream *s, const struct xiw_completion *c)
{
	const uint8_t *octets = s->buffers.octets + c->user_data * s->buffers.stride;

	if (xiw_rdma_solicited(c)) {
		if (s->server || s->state != XIW_PERF_STOPPING ||
		    !xiw_perf_get_report(octets, c->length, &s->there)) {
			fail(s, XIW_EXIT_PEER, "a report came that is none");
			return;
		}
		end(s);
		s->state = XIW_PERF_REPORTED;
	} else if (is_data(s, false) && c->length == s->size) {
		on_data(s);
	} else {
		fail(s, XIW_EXIT_PEER, "unexpected Send of %" PRIu64 " octets", c->length);
	}
}

static void on_received(struct xiw_perf_stream *s, const struct xiw_completion *c)
{
	uint64_t value;

	if (s->state >= XIW_PERF_CLOSING)
		return;
	if (xiw_rdma_immediate(c, &value))
		on_word(s, value);
	else
		on_send(s, c);
	xiw_rdma_post_recv(s->rdma, s->buffers.octets + c->user_data * s->buffers.stride,
			   (uint32_t)s->buffers.stride, c->user_data);
}

/* A message of ours is complete: with a Read, its octets are here; otherwise TCP has them. */
static void on_done(struct xiw_perf_stream *s, const struct xiw_completion *c)
{
	if (c->user_data != UD_DATA || s->state >= XIW_PERF_CLOSING)
		return;
	s->outstanding--;
	if (!s->params.latency)
		count_one(s);
	else if (s->params.op == XIW_PERF_READ)
		answered(s);
	if (s->state == XIW_PERF_RUNNING && posts_all_the_time(s))
		post_data(s);
	else if (s->state == XIW_PERF_DRAINING)
		drained(s);
}

/* ---- ends ---------------------------------------------------------------------------------------- */

static void on_ended(struct xiw_perf_stream *s, bool peers)
{
	if (!s->code && s->state < XIW_PERF_CLOSING) {
		s->code = XIW_EXIT_PEER;
		xiw_stream_error_text(s->rdma, s->conn, peers, s->why, sizeof(s->why));
	}
	s->state = XIW_PERF_CLOSING;
}

/* A client may close between two runs; a server never does. */
static void on_eof(struct xiw_perf_stream *s)
{
	if (s->state < XIW_PERF_CLOSING && !(s->server && s->state == XIW_PERF_IDLE)) {
		fail(s, XIW_EXIT_PEER, "the peer closed in the middle of a run");
		return;
	}
	s->state = XIW_PERF_CLOSING;
	xiw_rdma_close(s->rdma);
}

static void on_closed(struct xiw_perf_stream *s, const struct xiw_completion *c)
{
	if (c->status && !s->code && s->state < XIW_PERF_CLOSING) {
		s->code = XIW_EXIT_PEER;
		if (c->status == -ETIMEDOUT)
			snprintf(s->why, sizeof(s->why), "the %s does not answer any more",
				 s->server ? "client" : "server");
		else
			snprintf(s->why, sizeof(s->why), "the connection failed: %s",
				 strerror(-c->status));
	}
	s->state = XIW_PERF_CLOSED;
}

void xiw_perf_completion(struct xiw_perf_stream *s, const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_CONNECTED:
		s->connected = true;
		break;
	case XIW_EV_RECEIVED:
		on_received(s, c);
		break;
	case XIW_EV_SENT:
	case XIW_EV_READ:
		on_done(s, c);
		break;
	case XIW_EV_EOF:
		on_eof(s);
		break;
	case XIW_EV_ERROR:
		on_ended(s, false);
		break;
	case XIW_EV_TERMINATED:
		on_ended(s, true);
		break;
	case XIW_EV_CLOSED:
		on_closed(s, c);
		break;
	default:
		break;
	}
}
