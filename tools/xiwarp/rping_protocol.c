// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The protocol: one end of `xiwarp rping`, driven by the completions of its connection. */
#include "rping.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "ends.h"
#include "exit.h"
#include "text.h"

/* Not 0, so that a peer that ignores the base TO is found. */
#define SOURCE_TO 0x100000000ull
#define SINK_TO 0x200000000ull
/* user_data of operations; that of a receive buffer is its index. */
enum { UD_INFO = 16, UD_READ, UD_WRITE };

void xiw_rping_fail(struct xiw_rping *p, int code, const char *fmt, ...)
{
	va_list args;

	if (p->code || p->state >= XIW_RPING_CLOSING)
		return;
	p->code = code;
	va_start(args, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, args);
	va_end(args);
	p->state = XIW_RPING_CLOSING;
	xiw_rdma_terminate(p->rdma);
}

static void failed_here(struct xiw_rping *p, const char *what, int err)
{
	xiw_rping_fail(p, XIW_EXIT_FAILURE, "%s: %s", what, strerror(-err));
}

/* ---- buffers ------------------------------------------------------------------------------------- */

static uint8_t *room(uint32_t size)
{
	void *p;

	return xiw_memory_alloc(size, 0, &p) ? NULL : p;
}

static int open_region(struct xiw_rping *p, uint8_t **buf, uint64_t to, unsigned int access,
		       struct xiw_region **region)
{
	struct xiw_region_opts opts = {
		.size = sizeof(opts),
		.base_to = to,
		.conn = p->peer.conn,
		.access = access,
	};

	*buf = room(p->size);
	if (!*buf)
		return -ENOMEM;
	return xiw_region_register(p->engine, *buf, p->size, &opts, region);
}

void xiw_rping_free(struct xiw_rping *p)
{
	xiw_region_free(p->source_region);
	xiw_region_free(p->sink_region);
	xiw_memory_free(p->source, p->size);
	xiw_memory_free(p->sink, p->size);
}

/* ---- the ping ------------------------------------------------------------------------------------ */

/*
 * "rdma-ping-N: ", then the characters from 'A' to 'z' again and again, which begin one further on in each ping, and a
 * NUL.
 */
static void fill_ping(uint8_t *buf, uint32_t size, uint64_t n)
{
	const unsigned int span = 'z' - 'A' + 1;
	char head[40];
	uint32_t len = (uint32_t)snprintf(head, sizeof(head), "rdma-ping-%d: ", (int)n);
	unsigned int letter = (unsigned int)(n % span);

	if (len > size)
		len = size;
	memcpy(buf, head, len);
	for (uint32_t i = len; i < size; i++, letter = letter + 1 == span ? 0 : letter + 1)
		buf[i] = (uint8_t)('A' + letter);
	buf[size - 1] = 0;
}

/* The index of the first octet that differs from the ping; `size` if none does. */
static uint32_t first_wrong(const uint8_t *buf, uint32_t size, uint64_t n)
{
	uint8_t *want = malloc(size);
	uint32_t i = 0;

	if (!want)
		return 0;
	fill_ping(want, size, n);
	while (i < size && buf[i] == want[i])
		i++;
	free(want);
	return i;
}

static void show(const struct xiw_rping *p, const uint8_t *buf, uint32_t size)
{
	/* Standard output has nothing but JSON then. */
	FILE *to = p->args->json ? stderr : stdout;
	uint32_t n = 0;

	if (!p->args->rping.verbose)
		return;
	fprintf(to, "%s: ", p->server ? "server ping data" : "ping data");
	/* A peer's octets must not control a terminal. */
	for (; n < size && buf[n]; n++)
		putc(buf[n] < 0x20 || buf[n] > 0x7e ? '?' : buf[n], to);
	putc('\n', to);
}

/* Compares what arrived with the ping of this iteration. */
static bool validate(struct xiw_rping *p, const uint8_t *buf, uint32_t size)
{
	uint32_t wrong;

	if (!p->args->rping.validate)
		return true;
	wrong = first_wrong(buf, size, p->iterations);
	if (wrong == size)
		return true;
	p->mismatches++;
	xiw_rping_fail(p, XIW_EXIT_VERIFY,
		       "ping %" PRIu64 " differs from octet %" PRIu32 " of %" PRIu32 " on",
		       p->iterations, wrong, size);
	return false;
}

/* ---- messages ------------------------------------------------------------------------------------ */

static void post(struct xiw_rping *p, const struct xiw_rdma_op *op)
{
	int err = xiw_rdma_post(p->rdma, op);

	/* The stream is closing already: an event will say so. */
	if (err && err != -EPIPE)
		failed_here(p, "cannot post an operation", err);
}

/* What the client's Sends say of a buffer. The content of the server's Sends means nothing. */
static void describe(struct xiw_rping *p, bool sink, const struct xiw_region *region, uint64_t to)
{
	uint8_t *info = p->info[sink];

	xiw_put_be64(info, to);
	xiw_put_be32(info + 8, xiw_region_stag(region));
	xiw_put_be32(info + 12, p->size);
}

int xiw_rping_open(struct xiw_rping *p)
{
	int err = open_region(p, &p->sink, SINK_TO, XIW_ACCESS_WRITE, &p->sink_region);

	if (!err && !p->server)
		err = open_region(p, &p->source, SOURCE_TO, XIW_ACCESS_READ, &p->source_region);
	if (!err && !p->server) {
		describe(p, false, p->source_region, SOURCE_TO);
		describe(p, true, p->sink_region, SINK_TO);
	}
	for (int i = 0; i < XIW_RPING_RECVS && !err; i++)
		err = xiw_rdma_post_recv(p->rdma, p->recv[i], XIW_RPING_INFO, i);
	return err;
}

static void send_info(struct xiw_rping *p)
{
	struct xiw_rdma_op op = {
		.kind = XIW_RDMA_SEND,
		.buf = p->info[p->state == XIW_RPING_SINK],
		.len = XIW_RPING_INFO,
		.user_data = UD_INFO,
	};

	post(p, &op);
}

/* ---- client -------------------------------------------------------------------------------------- */

static void next_ping(struct xiw_rping *p)
{
	if (p->iterations && p->iterations == p->args->rping.count) {
		p->state = XIW_RPING_CLOSING;
		xiw_rdma_close(p->rdma);
		return;
	}
	fill_ping(p->source, p->size, p->iterations);
	if (p->args->rping.validate)
		memset(p->sink, 0, p->size);
	p->state = XIW_RPING_SOURCE;
	send_info(p);
}

static void client_go_ahead(struct xiw_rping *p)
{
	if (p->state == XIW_RPING_SOURCE) {
		p->state = XIW_RPING_SINK;
		send_info(p);
		return;
	}
	if (!validate(p, p->sink, p->size))
		return;
	show(p, p->sink, p->size);
	p->iterations++;
	p->octets += 2ull * p->size;
	p->last_ns = xiw_now_ns();
	next_ping(p);
}

/* ---- server -------------------------------------------------------------------------------------- */

static void server_source(struct xiw_rping *p, uint64_t to, uint32_t stag, uint32_t size)
{
	struct xiw_rdma_op op = {
		.kind = XIW_RDMA_READ,
		.len = size,
		.stag = stag,
		.to = to,
		.sink_stag = xiw_region_stag(p->sink_region),
		.sink_to = SINK_TO,
		.user_data = UD_READ,
	};

	if (!size || size > p->size) {
		xiw_rping_fail(p, XIW_EXIT_PEER,
			       "the client wants %" PRIu32 " octets read; --size allows %" PRIu32,
			       size, p->size);
		return;
	}
	p->pinged = size;
	p->state = XIW_RPING_READ;
	post(p, &op);
}

static void server_read(struct xiw_rping *p)
{
	if (!validate(p, p->sink, p->pinged))
		return;
	show(p, p->sink, p->pinged);
	p->state = XIW_RPING_SINK;
	send_info(p);
}

static void server_sink(struct xiw_rping *p, uint64_t to, uint32_t stag, uint32_t size)
{
	struct xiw_rdma_op op = {
		.kind = XIW_RDMA_WRITE,
		.buf = p->sink,
		.len = p->pinged < size ? p->pinged : size,
		.stag = stag,
		.to = to,
		.user_data = UD_WRITE,
	};

	p->writing = true;
	post(p, &op);
	p->state = XIW_RPING_SOURCE;
	/* Posted after the Write, so it is delivered after it (RFC 5040 section 5.5 rule 10). */
	send_info(p);
	p->iterations++;
	p->octets += p->pinged + op.len;
	p->last_ns = xiw_now_ns();
}

/* ---- completions --------------------------------------------------------------------------------- */

static void go_on(struct xiw_rping *p, const uint8_t info[XIW_RPING_INFO])
{
	uint64_t to = xiw_get_be64(info);
	uint32_t stag = xiw_get_be32(info + 8);
	uint32_t size = xiw_get_be32(info + 12);

	if (!p->server)
		client_go_ahead(p);
	else if (p->state == XIW_RPING_SOURCE)
		server_source(p, to, stag, size);
	else
		server_sink(p, to, stag, size);
}

static void on_received(struct xiw_rping *p, const struct xiw_completion *c)
{
	uint8_t info[XIW_RPING_INFO];

	memcpy(info, p->recv[c->user_data], sizeof(info));
	xiw_rdma_post_recv(p->rdma, p->recv[c->user_data], XIW_RPING_INFO, c->user_data);
	if (p->state >= XIW_RPING_CLOSING)
		return;
	if (c->length != XIW_RPING_INFO || p->waiting ||
	    (p->state != XIW_RPING_SOURCE && p->state != XIW_RPING_SINK)) {
		xiw_rping_fail(p, XIW_EXIT_PEER, "unexpected Send of %" PRIu64 " octets",
			       c->length);
		return;
	}
	p->waiting = p->writing;
	if (p->waiting)
		memcpy(p->held, info, sizeof(info));
	else
		go_on(p, info);
}

static void on_sent(struct xiw_rping *p, const struct xiw_completion *c)
{
	bool waiting = p->waiting;

	if (c->user_data != UD_WRITE)
		return;
	p->writing = p->waiting = false;
	if (waiting && p->state < XIW_RPING_CLOSING)
		go_on(p, p->held);
}

static void on_eof(struct xiw_rping *p)
{
	/* A client may close between two iterations. */
	if (p->state < XIW_RPING_CLOSING && !(p->server && p->state == XIW_RPING_SOURCE)) {
		xiw_rping_fail(p, XIW_EXIT_PEER, "the peer closed in the middle of an iteration");
		return;
	}
	p->state = XIW_RPING_CLOSING;
	xiw_rdma_close(p->rdma);
}

static void on_ended(struct xiw_rping *p, const struct xiw_conn *conn, bool peers)
{
	/* An error that this end found first stays the reason. */
	if (p->code)
		return;
	p->code = XIW_EXIT_PEER;
	xiw_stream_error_text(p->rdma, conn, peers, p->why, sizeof(p->why));
	p->state = XIW_RPING_CLOSING;
}

static void on_closed(struct xiw_rping *p, const struct xiw_completion *c)
{
	/*
	 * A reset by the client between two iterations is an end, if not an orderly one; a client that vanished, or a
	 * connection that cannot go on here, is a failure. After this end has closed, nothing is a failure any more.
	 */
	bool between = p->server && p->state == XIW_RPING_SOURCE && p->iterations &&
		       (c->status == -ECONNRESET || c->status == -EPIPE);

	if (c->status && !p->code && !between && p->state < XIW_RPING_CLOSING) {
		p->code = XIW_EXIT_PEER;
		snprintf(p->why, sizeof(p->why), "the connection failed: %s", strerror(-c->status));
	}
	p->state = XIW_RPING_CLOSED;
}

void xiw_rping_completion(struct xiw_rping *p, const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_CONNECTED:
		p->first_ns = p->last_ns = xiw_now_ns();
		p->state = XIW_RPING_SOURCE;
		if (!p->server)
			next_ping(p);
		break;
	case XIW_EV_RECEIVED:
		on_received(p, c);
		break;
	case XIW_EV_SENT:
		on_sent(p, c);
		break;
	case XIW_EV_READ:
		if (p->state == XIW_RPING_READ)
			server_read(p);
		break;
	case XIW_EV_EOF:
		on_eof(p);
		break;
	case XIW_EV_ERROR:
		on_ended(p, c->conn, false);
		break;
	case XIW_EV_TERMINATED:
		on_ended(p, c->conn, true);
		break;
	case XIW_EV_CLOSED:
		on_closed(p, c);
		break;
	default:
		break;
	}
}
