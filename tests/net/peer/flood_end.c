// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The library's end of flood.c: RDMAP Streams on one shared receive queue. A Send with octets is answered; what is
 * empty, or Immediate Data, is a flood's.
 *
 *   flood_end CONTROL-PORT kernel|direct
 *
 * A line is `key=value ...`: see struct line. The first answer is `ready`, the second the result, when so many honest
 * streams have ended in order, or after a time limit. Exit codes: 0 the control connection was closed, 1 not so, 2
 * usage.
 */
#include "tests/net/peer/end.h"

#define BUFS 64
#define BUF_SIZE 2048
#define DEPTH 4
#define PATIENCE_MS 40000

static struct end {
	struct xiw_engine *engine;
	enum xiw_use_path path;
	struct xiw_listener *listener;
	struct xiw_srq *srq;

	struct line {
		int port;
		char role;  /* r */
		int honest; /* streams */
		int hold;   /* hold_ms */
		int max;    /* srq_max */
		int ended;  /* says whether streams were ended */
	} line;

	int ended;
	uint64_t bad, flooded;
} e;

static uint8_t bufs[BUFS][BUF_SIZE], reply[10];

/* A connection, as its user data names it. */
struct stream {
	struct xiw_rdma *rdma;
	uint64_t answered;
};

static void take_word(void *ctx, const char *key, const char *value)
{
	(void)ctx;
	if (strcmp(key, "role"))
		die("no key %s", key);
	e.line.role = *value;
}

static bool take_line(void)
{
	static const struct number numbers[] = {
		{ "port", &e.line.port },
		{ "honest", &e.line.honest },
		{ "hold", &e.line.hold },
		{ "max", &e.line.max },
		{ "ended", &e.line.ended },
	};

	return take_words(numbers, sizeof(numbers) / sizeof(numbers[0]), take_word, NULL);
}

static struct stream *stream_of(const struct xiw_completion *c)
{
	return (struct stream *)(uintptr_t)xiw_conn_user_data(c->conn);
}

static void attach(struct xiw_conn *c)
{
	struct xiw_rdma_opts o = { .size = sizeof(o),
				   .ird = DEPTH,
				   .ord = DEPTH,
				   .extended = true,
				   .srq = e.srq,
				   .srq_max = (uint32_t)e.line.max };
	struct stream *s = calloc(1, sizeof(*s));

	if (!s || xiw_rdma_attach(c, &o, &s->rdma))
		exit(1);
	xiw_conn_set_user_data(c, (uintptr_t)s);
	xiw_conn_accept(c, NULL, 0);
}

static void post(uint64_t i)
{
	if (xiw_srq_post(e.srq, bufs[i], BUF_SIZE, i))
		exit(1);
}

static void received(const struct xiw_completion *c)
{
	const struct xiw_rdma_op op = {
		.kind = XIW_RDMA_SEND, .buf = reply, .len = sizeof(reply), .user_data = BUFS
	};
	struct stream *s = stream_of(c);
	const uint8_t *octets = bufs[c->user_data];
	uint64_t value;

	if (xiw_rdma_immediate(c, &value) || !c->length) {
		e.flooded++;
	} else {
		s->answered++;
		e.bad += c->msn != s->answered || c->length != 100 + s->answered * 7 % 1300;
		for (uint64_t i = 0; i < c->length; i++)
			e.bad += octets[i] != octet(i);
		e.bad += xiw_rdma_post(s->rdma, &op) != 0;
	}
	post(c->user_data);
}

static void handle(const struct xiw_completion *c)
{
	struct stream *s;

	switch (c->event) {
	case XIW_EV_REQUEST:
		attach(c->conn);
		break;
	case XIW_EV_RECEIVED:
		received(c);
		break;
	case XIW_EV_FLUSHED:
		if (c->user_data < BUFS)
			post(c->user_data);
		break;
	case XIW_EV_EOF:
		xiw_rdma_close(stream_of(c)->rdma);
		break;
	case XIW_EV_CLOSED:
		s = stream_of(c);
		if (s && s->answered) {
			e.ended++;
			e.bad += c->status != 0;
		}
		free(s);
		xiw_conn_free(c->conn);
		break;
	default:
		break;
	}
}

static void serve(void)
{
	const uint64_t until = now_ms() + PATIENCE_MS;
	const struct line line = e.line;
	struct xiw_conn_opts o = { .size = sizeof(o),
				   .path = e.path,
				   .hold_ms = (unsigned int)line.hold,
				   .ird = DEPTH,
				   .ord = DEPTH };
	struct xiw_srq_info info;
	struct xiw_completion c;

	e = (struct end){ .engine = e.engine, .path = e.path, .line = line };
	if (xiw_srq_create(e.engine, NULL, &e.srq))
		exit(1);
	for (uint64_t i = 0; i < BUFS; i++)
		post(i);
	(void)open_as(line.role, line.port, e.engine, &o, &e.listener);
	while (e.ended < line.honest && now_ms() < until) {
		xiw_engine_run(e.engine, 20);
		while (xiw_engine_next(e.engine, &c) > 0)
			handle(&c);
	}
	xiw_srq_info(e.srq, &info, sizeof(info));
	say("honest=%d bad=%llu flooded=%d floods=%llu slow=%d", e.ended,
	    (unsigned long long)e.bad, e.flooded > 0, (unsigned long long)e.flooded,
	    info.ended > 0);
	xiw_listener_free(e.listener);
	/* The attackers' connections end when their processes have. */
	while (xiw_srq_free(e.srq) && now_ms() < until) {
		xiw_engine_run(e.engine, 20);
		while (xiw_engine_next(e.engine, &c) > 0)
			handle(&c);
	}
}

int main(int argc, char **argv)
{
	struct xiw_engine_opts o = { .size = sizeof(o), .app_ring_fd = -1 };

	e.path = await_control(argc, argv);
	for (size_t i = 0; i < sizeof(reply); i++)
		reply[i] = octet(i);
	if (xiw_engine_create(&o, &e.engine))
		return 1;
	while (take_line())
		serve();
	xiw_engine_destroy(e.engine);
	close(control);
	return 0;
}
