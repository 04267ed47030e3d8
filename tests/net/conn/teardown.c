// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * teardown - how connections end, with both ends on one engine over loopback: RFC 5041 section 6.2,
 * RFC 5044 section 7.3. Prints PASS and FAIL lines.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#define LEN (1u << 20)
#define MESSAGES 16

/* What happened at one end. */
struct end {
	struct xiw_conn *conn;
	unsigned int written, received, sent, flushed, errors;
	uint64_t octets;
	bool eof, closed;
	int status;
};

static struct xiw_engine *engine;
static struct xiw_listener *listener;
static struct xiw_region *region;
static struct end a, b; /* Initiator and Responder */
static uint8_t *sink, *source;
static const uint32_t stag = 0x77;

static void handle(const struct xiw_completion *c)
{
	struct end *e = c->conn == a.conn ? &a : &b;

	switch (c->event) {
	case XIW_EV_REQUEST:
		b.conn = c->conn;
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_WRITTEN:
		e->written++;
		e->octets += c->length;
		break;
	case XIW_EV_RECEIVED:
		e->received++;
		break;
	case XIW_EV_SENT:
		e->sent++;
		break;
	case XIW_EV_FLUSHED:
		e->flushed += c->status == -ECANCELED;
		break;
	case XIW_EV_ERROR:
		e->errors++;
		break;
	case XIW_EV_EOF:
		e->eof = true;
		break;
	case XIW_EV_CLOSED:
		e->closed = true;
		e->status = c->status;
		break;
	default:
		break;
	}
}

/* Runs the engine until `done` is true; false after two seconds. */
static bool run_until(bool (*done)(void))
{
	struct xiw_completion c;

	for (int i = 0; i < 200; i++) {
		if (xiw_engine_run(engine, 10) < 0)
			return false;
		while (xiw_engine_next(engine, &c))
			handle(&c);
		if (done())
			return true;
	}
	return false;
}

static bool open_now(void)
{
	return b.conn && a.sent;
}

static bool b_eof(void)
{
	return b.eof;
}

static bool both_closed(void)
{
	return a.closed && b.closed;
}

static bool a_written(void)
{
	return a.written == MESSAGES;
}

static int send_tagged(struct xiw_conn *c, uint64_t len)
{
	struct xiw_message m = { .buf = source, .len = len, .tagged = true, .stag = stag };

	return xiw_conn_send(c, &m);
}

/* A connection over which the Initiator has sent one message, so that either end may send. */
static bool connect_ends(void)
{
	struct xiw_conn_opts opts = { .size = sizeof(opts), .send_depth = 2 * MESSAGES };
	struct sockaddr_storage addr;
	struct xiw_completion c;
	socklen_t len;

	a = b = (struct end){};
	if (xiw_listener_addr(listener, &addr, &len) ||
	    xiw_connect(engine, (struct sockaddr *)&addr, len, &opts, &a.conn))
		return false;
	for (int i = 0; i < 200 && !b.conn; i++) {
		xiw_engine_run(engine, 10);
		while (xiw_engine_next(engine, &c))
			handle(&c);
	}
	for (int i = 0; i < 200 && send_tagged(a.conn, 1) == -ENOTCONN; i++)
		xiw_engine_run(engine, 10);
	return run_until(open_now);
}

static void free_ends(void)
{
	xiw_conn_free(a.conn);
	xiw_conn_free(b.conn);
	for (int i = 0; i < 10; i++)
		xiw_engine_run(engine, 10);
}

static int failures;

static void verdict(const char *name, bool ok)
{
	if (ok) {
		printf("PASS %s\n", name);
	} else {
		printf("FAIL %s: a: written %u received %u sent %u flushed %u eof %d closed %d "
		       "status %d; "
		       "b: written %u received %u sent %u flushed %u eof %d closed %d status %d\n",
		       name, a.written, a.received, a.sent, a.flushed, a.eof, a.closed, a.status,
		       b.written, b.received, b.sent, b.flushed, b.eof, b.closed, b.status);
		failures++;
	}
}

/* RFC 5041 section 6.2.1: queued messages go out before the half is closed. */
static bool close_sends_all(void)
{
	for (int i = 0; i < MESSAGES; i++)
		if (send_tagged(a.conn, LEN))
			return false;
	xiw_conn_close(a.conn);
	if (!run_until(b_eof) || b.written != MESSAGES + 1 ||
	    b.octets != (uint64_t)MESSAGES * LEN + 1 || a.sent != MESSAGES + 1)
		return false;
	xiw_conn_close(b.conn);
	return run_until(both_closed) && !a.status && !b.status;
}

static bool send_after_close(void)
{
	xiw_conn_close(a.conn);
	return send_tagged(a.conn, 1) == -EPIPE;
}

/* An end that has closed its half still receives until the peer closes. */
static bool half_close_receives_on(void)
{
	xiw_conn_close(a.conn);
	if (!run_until(b_eof))
		return false;
	for (int i = 0; i < MESSAGES; i++)
		if (send_tagged(b.conn, LEN))
			return false;
	xiw_conn_close(b.conn);
	return run_until(a_written) && run_until(both_closed) && !a.status && !b.status;
}

/* Abortive: unsent messages and posted buffers come back, and the end is reported as an error. */
static bool flushed_when_lost(void)
{
	struct xiw_conn_info info;
	static uint8_t buf[64];

	for (int i = 0; i < MESSAGES; i++)
		if (send_tagged(a.conn, 64 << 20))
			return false;
	if (xiw_conn_post_recv(a.conn, 0, buf, sizeof(buf), 1))
		return false;
	xiw_conn_abort(b.conn);
	if (!run_until(both_closed))
		return false;
	xiw_conn_info(a.conn, &info, sizeof(info));
	return a.status && a.flushed >= 2 && a.flushed + a.sent == MESSAGES + 2 &&
	       info.mpa_error == XIW_MPA_ERR_CLOSED;
}

int main(void)
{
	static const struct {
		const char *name;
		bool (*fn)(void);
	} tests[] = {
		{ "close-sends-all", close_sends_all },
		{ "send-after-close", send_after_close },
		{ "half-close-receives-on", half_close_receives_on },
		{ "flushed-when-lost", flushed_when_lost },
	};
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct xiw_region_opts ro = { .size = sizeof(ro), .stag = &stag };
	struct xiw_conn_opts opts = { .size = sizeof(opts), .send_depth = 2 * MESSAGES };

	sink = malloc(64 << 20);
	source = calloc(1, 64 << 20);
	if (!sink || !source || xiw_engine_create(NULL, &engine) ||
	    xiw_region_register(engine, sink, 64 << 20, &ro, &region) ||
	    xiw_listen(engine, (struct sockaddr *)&any, sizeof(any), &opts, &listener))
		return 1;
	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		verdict(tests[i].name, connect_ends() && tests[i].fn());
		free_ends();
	}
	xiw_region_free(region);
	xiw_engine_destroy(engine);
	free(sink);
	free(source);
	return !!failures;
}
