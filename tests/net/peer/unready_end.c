// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The library's end of unready.c: an application on RDMAP that posts buffers late, only when the stream is held.
 *
 *   unready_end CONTROL-PORT kernel|direct
 *
 * A line is `key=value ...`: see struct line. The first answer is `ready`, with tell=1 the next is `held`, and the last
 * is the result. Exit codes: 0 the control connection was closed, 1 not so, 2 usage.
 */
#include "tests/net/peer/end.h"

#define BUFS 64
#define BUF_SIZE 2048
#define REGION_SIZE 65536
#define BASE 0x10000
#define DEPTH 4
#define PATIENCE_MS 60000

static struct end {
	struct xiw_engine *engine;
	enum xiw_use_path path;
	struct xiw_listener *listener;
	struct xiw_conn *conn;
	struct xiw_rdma *rdma;
	struct xiw_region *region;
	struct xiw_srq *srq; /* NULL: the stream has buffers of its own */

	struct line {
		int port;
		char role;  /* r, i */
		int hold;   /* hold_ms */
		int bunch;  /* buffers that are posted when the stream is held */
		int after;  /* ms that a hold lasts before they are */
		int limit;  /* keepalive_ms and user_timeout_ms */
		int tell;   /* of the first hold */
		int shared; /* the buffers are those of a shared queue */
		int max;    /* srq_max */
		char act;   /* at the first hold: a abort, f free */
	} line;

	bool closed, told;
	unsigned int posted, received, bad;
	uint64_t holds, held_ms; /* that were answered; since when the next one lasts */
	int status;
	struct xiw_conn_info info;
	struct xiw_rdma_info rinfo;
	char sent[64];
} e;

static uint8_t bufs[BUFS][BUF_SIZE], memory[REGION_SIZE];

static void take_word(void *ctx, const char *key, const char *value)
{
	(void)ctx;
	if (!strcmp(key, "role"))
		e.line.role = *value;
	else if (!strcmp(key, "act"))
		e.line.act = *value;
	else
		die("no key %s", key);
}

static bool take_line(void)
{
	static const struct number numbers[] = {
		{ "port", &e.line.port },     { "hold", &e.line.hold },
		{ "bunch", &e.line.bunch },   { "after", &e.line.after },
		{ "limit", &e.line.limit },   { "tell", &e.line.tell },
		{ "shared", &e.line.shared }, { "max", &e.line.max },
	};

	e.line = (struct line){ .role = 'r', .hold = 30000 };
	return take_words(numbers, sizeof(numbers) / sizeof(numbers[0]), take_word, NULL);
}

static void attach(struct xiw_conn *c)
{
	struct xiw_rdma_opts o = { .size = sizeof(o),
				   .ird = DEPTH,
				   .ord = DEPTH,
				   .srq = e.srq,
				   .srq_max = (uint32_t)e.line.max };

	e.conn = c;
	if (xiw_rdma_attach(c, &o, &e.rdma))
		exit(1);
}

static void post(int n)
{
	for (; n; n--, e.posted++) {
		uint8_t *buf = bufs[e.posted % BUFS];

		if (e.srq ? xiw_srq_post(e.srq, buf, BUF_SIZE, e.posted)
			  : xiw_rdma_post_recv(e.rdma, buf, BUF_SIZE, e.posted))
			exit(1);
	}
}

static void check(const struct xiw_completion *c)
{
	const uint8_t *octets = bufs[c->user_data % BUFS];

	e.bad += c->user_data != e.received || c->msn != e.received + 1;
	for (uint64_t i = 0; i < c->length; i++)
		if (octets[i] != octet(i)) {
			e.bad++;
			break;
		}
	e.received++;
}

static void note(void)
{
	if (!e.conn || e.closed)
		return;
	xiw_conn_info(e.conn, &e.info, sizeof(e.info));
	if (e.rdma)
		xiw_rdma_info(e.rdma, &e.rinfo, sizeof(e.rinfo));
}

/* As the peer, a Responder, may not send before it has an FPDU. */
static void send_first(void)
{
	static uint8_t octets[10];
	const struct xiw_rdma_op op = { .kind = XIW_RDMA_SEND,
					.buf = octets,
					.len = sizeof(octets) };

	for (size_t i = 0; i < sizeof(octets); i++)
		octets[i] = octet(i);
	if (xiw_rdma_post(e.rdma, &op))
		exit(1);
}

static void handle(const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_REQUEST:
		attach(c->conn);
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_CONNECTED:
		if (e.line.role == 'i')
			send_first();
		break;
	case XIW_EV_RECEIVED:
		check(c);
		break;
	case XIW_EV_EOF:
		xiw_rdma_close(e.rdma);
		break;
	case XIW_EV_CLOSED:
		note();
		e.status = c->status;
		e.closed = true;
		break;
	default:
		break;
	}
}

/* The stream is held, and this hold was not answered yet. */
static void answer(void)
{
	if (!e.held_ms)
		e.held_ms = now_ms();
	if (e.line.tell && !e.told) {
		e.told = true;
		say("held");
	}
	if (e.line.act == 'f') {
		xiw_conn_free(e.conn);
		e.conn = NULL;
		e.rdma = NULL;
		e.closed = true;
	} else if (e.line.act == 'a') {
		xiw_conn_abort(e.conn);
	}
	if (!e.conn || now_ms() < e.held_ms + (uint64_t)e.line.after)
		return;
	e.held_ms = 0;
	e.holds = e.info.holds;
	if (!e.line.act)
		post(e.line.bunch);
}

static void open_end(void)
{
	struct xiw_conn *c;
	struct xiw_conn_opts o = {
		.size = sizeof(o),
		.path = e.path,
		.hold_ms = (unsigned int)e.line.hold,
		.keepalive_ms = (unsigned int)e.line.limit,
		.user_timeout_ms = (unsigned int)e.line.limit,
		.ird = DEPTH,
		.ord = DEPTH,
		.enhanced = e.line.role == 'i',
		.rtr = e.line.role == 'i' ? XIW_RTR_NONE : 0, /* as the peer's Reply */
	};

	c = open_as(e.line.role, e.line.port, e.engine, &o, &e.listener);
	if (c)
		attach(c);
}

static void serve(void)
{
	const uint64_t until = now_ms() + PATIENCE_MS;
	const struct line line = e.line;
	struct xiw_completion c;

	e = (struct end){ .engine = e.engine, .path = e.path, .region = e.region, .line = line };
	if (line.shared && xiw_srq_create(e.engine, NULL, &e.srq))
		exit(1);
	open_end();
	while (!e.closed && now_ms() < until) {
		xiw_engine_run(e.engine, 20);
		while (xiw_engine_next(e.engine, &c) > 0)
			handle(&c);
		note();
		if (!e.closed && e.info.holds > e.holds)
			answer();
	}
	for (int i = 0; i < 5; i++)
		xiw_engine_run(e.engine, 1);
	terminate_text(e.sent, &e.rinfo.sent);
	say("status=%d received=%u bad=%u held=%d many=%d expired=%llu reason=%d direct=%d sent=%s "
	    "ddp=%x closed=%d",
	    e.status, e.received, e.bad, e.info.holds > 0, e.info.holds >= 10,
	    (unsigned long long)e.info.holds_expired, e.info.reasons[XIW_REASON_NO_BUFFER] > 0,
	    e.info.went_direct > 0, e.sent, e.info.ddp_error, e.closed);
	xiw_conn_free(e.conn);
	xiw_listener_free(e.listener);
	if (xiw_srq_free(e.srq))
		exit(1);
}

int main(int argc, char **argv)
{
	struct xiw_engine_opts o = { .size = sizeof(o), .app_ring_fd = -1 };
	const uint32_t stag = 0x2222;
	struct xiw_region_opts r = {
		.size = sizeof(r), .base_to = BASE, .stag = &stag, .access = XIW_ACCESS_WRITE
	};

	e.path = await_control(argc, argv);
	if (xiw_engine_create(&o, &e.engine) ||
	    xiw_region_register(e.engine, memory, sizeof(memory), &r, &e.region))
		return 1;
	while (take_line())
		serve();
	xiw_engine_destroy(e.engine);
	close(control);
	return 0;
}
