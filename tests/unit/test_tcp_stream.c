// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Compares random streams with a model that knows for every octet how many kept segments hold it. Segments are chosen
 * at random, which gives duplication, reordering, loss, and retransmission with other boundaries. The stream ends with
 * a FIN.
 */
#include <stdlib.h>

#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/tcp_rig.h"

#define STREAM 20000
#define NODES 300
#define ROUNDS 240

struct node {
	struct xiw_tcp_keep keep; /* first member: the machine returns pointers to it */
	struct node *free;
};

struct world {
	struct xiw_tcp_rx rx;
	struct node pool[NODES], *free;
	uint8_t held[STREAM +
		     1]; /* kept segments that hold each number; the last number is the FIN */
	uint32_t iss, rnd, seed;
	uint32_t edge; /* highest edge on the wire, relative to iss */
	uint32_t acked;
	uint32_t front;	 /* highest number the sender has sent */
	uint32_t newest; /* a number within the segment that was kept last, or 0 */
	uint64_t now;
	bool finished, sack, ts;
};

static uint32_t rnd(struct world *w, uint32_t below)
{
	w->rnd = w->rnd * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)(w->rnd >> 4) * below) >> 28);
}

static uint32_t at(const struct world *w)
{
	return w->rx.rcv_nxt - w->iss;
}

static void hold(struct world *w, const struct xiw_tcp_keep *n, int by)
{
	uint32_t from = n->seq - w->iss, len = n->len + !!(n->flags & XIW_TCP_FIN);

	for (uint32_t i = 0; i < len; i++)
		w->held[from + i] = (uint8_t)(w->held[from + i] + by);
}

static void give_back(struct world *w, struct xiw_tcp_keep *keep)
{
	struct node *n = (struct node *)keep;

	hold(w, keep, -1);
	n->free = w->free;
	w->free = n;
}

/* Octets consumed: the right ones, once, in order. */
static void consume(struct world *w, uint32_t from, const struct xiw_tcp_take *take)
{
	uint32_t before = w->rx.rcv_nxt;

	cr_assert_eq(from + take->off, at(w), "seed %u: took %u at %u", w->seed, from + take->off,
		     at(w));
	cr_assert_gt(take->len, 0, "seed %u", w->seed);
	cr_assert_leq(at(w) + take->len, STREAM, "seed %u", w->seed);
	xiw_tcp_rx_advance(&w->rx, take->len);
	cr_assert_eq(w->rx.rcv_nxt, before + take->len, "seed %u", w->seed);
}

static void control(struct world *w, const struct xiw_tcp_take *take)
{
	cr_assert(take->flags & XIW_TCP_FIN, "seed %u", w->seed);
	cr_assert_eq(at(w) + take->len, STREAM, "seed %u: FIN at %u", w->seed, at(w) + take->len);
	w->finished = true;
}

static void drain(struct world *w)
{
	struct xiw_tcp_take take;
	struct xiw_tcp_keep *n;
	enum xiw_tcp_action act;

	while (!w->finished && (n = xiw_tcp_rx_next(&w->rx))) {
		act = xiw_tcp_rx_turn(&w->rx, n, &take);
		/* Sometimes the CRC is wrong: the segment is lost and will be sent again. */
		if (act == XIW_TCP_TAKE && rnd(w, 30))
			consume(w, n->seq - w->iss, &take);
		else if (act == XIW_TCP_CONTROL)
			control(w, &take);
		else if (act == XIW_TCP_DROP)
			cr_assert_leq(n->seq + n->len - w->iss, at(w), "seed %u", w->seed);
		give_back(w, n);
	}
}

static bool all_held(const struct world *w, uint32_t from, uint32_t to)
{
	for (; from < to; from++)
		if (!w->held[from])
			return false;
	return true;
}

static void keep(struct world *w, const struct xiw_tcp_take *take)
{
	struct node *n = w->free;
	uint32_t from = take->seq - w->iss;
	uint32_t to = from + take->len + !!(take->flags & XIW_TCP_FIN);
	bool known = all_held(w, from, to);
	enum xiw_tcp_action act;

	cr_assert_gt(from, at(w), "seed %u", w->seed);
	if (!n) {
		cr_assert_eq(xiw_tcp_rx_keep(&w->rx, NULL), XIW_TCP_DROP);
		return;
	}
	w->newest = from;
	xiw_tcp_keep_set(&n->keep, take);
	act = xiw_tcp_rx_keep(&w->rx, &n->keep);
	cr_assert_eq(act, known ? XIW_TCP_DROP : XIW_TCP_KEEP, "seed %u: %u to %u", w->seed, from,
		     to);
	if (act == XIW_TCP_KEEP) {
		w->free = n->free;
		hold(w, &n->keep, 1);
	}
}

/* A block is a whole range of kept numbers, with no kept number on either side. */
static void check_block(const struct world *w, const struct xiw_tcp_sack *b)
{
	uint32_t from = b->start - w->iss, to = b->end - w->iss;

	cr_assert(from > at(w) && from < to && to <= STREAM + 1, "seed %u: block %u to %u", w->seed,
		  from, to);
	cr_assert(all_held(w, from, to), "seed %u: block %u to %u", w->seed, from, to);
	cr_assert_eq(w->held[from - 1], 0, "seed %u: %u is kept too", w->seed, from - 1);
	cr_assert(to > STREAM || !w->held[to], "seed %u: %u is kept too", w->seed, to);
}

static unsigned int runs(const struct world *w)
{
	unsigned int n = 0;

	for (uint32_t i = at(w); i <= STREAM; i++)
		n += w->held[i] && (i == at(w) || !w->held[i - 1]);
	return n;
}

static void check_sack(const struct world *w, const struct xiw_tcp_seg *ack,
		       const struct xiw_tcp_sack *dsack)
{
	unsigned int i = 0, max = w->ts ? 3 : 4, want = runs(w);
	const struct xiw_tcp_sack *b = ack->sack;

	if (!w->sack) {
		cr_assert_eq(ack->nsack, 0);
		return;
	}
	if (dsack->start != dsack->end) {
		cr_assert_eq(b[0].start, dsack->start, "seed %u", w->seed);
		cr_assert_eq(b[0].end, dsack->end, "seed %u", w->seed);
		i++;
	}
	if (want > max - i)
		want = max - i;
	cr_assert_eq(ack->nsack - i, want, "seed %u: %u blocks, not %u", w->seed, ack->nsack - i,
		     want);
	if (want && w->newest)
		cr_assert(b[i].start - w->iss <= w->newest && b[i].end - w->iss > w->newest,
			  "seed %u: newest is %u", w->seed, w->newest);
	for (; i < ack->nsack; i++) {
		check_block(w, &b[i]);
		for (unsigned int j = i + 1; j < ack->nsack; j++)
			cr_assert_neq(b[i].start, b[j].start, "seed %u", w->seed);
	}
}

static void acknowledge(struct world *w)
{
	struct xiw_tcp_sack dsack = w->rx.dsack;
	struct xiw_tcp_seg ack;
	uint8_t out[XIW_TCP_MAX];
	uint32_t edge;
	int len;

	len = xiw_tcp_rx_build_ack(&w->rx, 1, out, sizeof(out));
	cr_assert_geq(len, XIW_TCP_MIN);
	cr_assert_eq(xiw_tcp_parse(out, sizeof(out), (size_t)len, &ack), len);
	cr_assert_eq(ack.ack - w->iss, at(w), "seed %u", w->seed);
	cr_assert_geq(at(w), w->acked, "seed %u", w->seed);
	w->acked = at(w);
	edge = ack.ack + ((uint32_t)ack.wnd << w->rx.rcv_wscale);
	cr_assert_eq(edge, w->rx.right_edge, "seed %u", w->seed);
	cr_assert_geq(edge - w->iss, w->edge, "seed %u: edge from %u to %u", w->seed, w->edge,
		      edge - w->iss);
	w->edge = edge - w->iss;
	check_sack(w, &ack, &dsack);
	cr_assert_not(xiw_tcp_rx_ack_due(&w->rx, w->now, true), "seed %u: due again", w->seed);
	cr_assert_eq(xiw_tcp_rx_deadline(&w->rx), XIW_TCP_NEVER, "seed %u", w->seed);
}

/* New data, the oldest missing data, or anything between; sometimes beyond the edge. */
static struct xiw_tcp_seg choose(struct world *w)
{
	uint32_t from, len = 1 + rnd(w, rnd(w, 3) ? 300 : 1500);
	uint32_t limit = w->edge < STREAM ? w->edge : STREAM;
	uint32_t how = rnd(w, 10);

	if (how < 4)
		from = w->front;
	else if (how < 7)
		from = at(w) - (at(w) < 400 ? rnd(w, at(w) + 1) : rnd(w, 400));
	else
		from = at(w) + rnd(w, 3000);
	if (from > limit && rnd(w, 20))
		from = limit;
	if (from > STREAM)
		from = STREAM;
	if (rnd(w, 20) && from < limit && from + len > limit)
		len = limit - from;
	if (len > STREAM - from)
		len = STREAM - from;
	if (w->front < from + len)
		w->front = from + len;
	return (struct xiw_tcp_seg){
		.seq = w->iss + from,
		.len = len,
		.ack = w->rx.snd_nxt,
		.wnd = 9,
		.flags = XIW_TCP_ACK | (from + len == STREAM ? XIW_TCP_FIN : 0),
		.has_ts = w->ts,
		.tsval = (uint32_t)w->now,
	};
}

static void step(struct world *w)
{
	struct xiw_tcp_seg seg = choose(w);
	uint32_t from = seg.seq - w->iss, before = at(w);
	struct xiw_tcp_take take;

	w->now += rnd(w, 3);
	seg.tsval = (uint32_t)w->now;
	switch (xiw_tcp_rx_segment(&w->rx, &seg, w->now, &take)) {
	case XIW_TCP_TAKE:
		if (rnd(w, 30)) {
			w->newest = 0;
			consume(w, from, &take);
			drain(w);
		}
		break;
	case XIW_TCP_KEEP:
		keep(w, &take);
		break;
	case XIW_TCP_CONTROL:
		cr_assert_eq(from + take.off, at(w), "seed %u", w->seed);
		control(w, &take);
		break;
	case XIW_TCP_DROP:
		/* It had nothing new within the window, or there was no room for it. */
		cr_assert(from + seg.len + !!(seg.flags & XIW_TCP_FIN) <= at(w) ||
				  from >= w->edge || w->edge == at(w) ||
				  (from > at(w) && w->rx.kept == w->rx.max_keep),
			  "seed %u: %u, length %u dropped", w->seed, from, seg.len);
		break;
	}
	cr_assert_geq(at(w), before, "seed %u", w->seed);
	if (!w->finished)
		cr_assert_leq(at(w), w->edge, "seed %u: taken past the edge", w->seed);
}

static void run(struct world *w, uint32_t seed)
{
	struct xiw_tcp_rx_conf conf;
	unsigned int steps = 0;

	memset(w, 0, sizeof(*w));
	w->seed = w->rnd = seed;
	rnd(w, 2);
	w->iss = seed % 3 ? 0u - rnd(w, STREAM) : rnd(w, 1u << 28) << 4;
	w->sack = seed % 4 != 1;
	w->ts = seed % 2;
	w->edge = 4000;
	w->now = 5000;
	conf = (struct xiw_tcp_rx_conf){
		.rcv_nxt = w->iss,
		.right_edge = w->iss + w->edge,
		.last_ack_sent = w->iss,
		.window = 4000,
		.buffer = 6000,
		.mss = 500,
		.rcv_wscale = (uint8_t)rnd(w, 8),
		.ts_ok = w->ts,
		.sack_ok = w->sack,
		.ts_recent = 4999,
		.now_ms = w->now,
		.max_keep = seed % 5 ? NODES : 6,
	};
	xiw_tcp_rx_init(&w->rx, &conf);
	for (unsigned int i = 0; i < NODES; i++) {
		w->pool[i].free = w->free;
		w->free = &w->pool[i];
	}
	while (!w->finished) {
		bool end = !rnd(w, 4);

		cr_assert_lt(++steps, 200000u, "seed %u: stuck at %u", seed, at(w));
		step(w);
		if (!rnd(w, 10))
			xiw_tcp_rx_set_window(&w->rx, rnd(w, 6000));
		if (w->finished)
			break;
		if (end && w->rx.pending >= 1000)
			cr_assert(xiw_tcp_rx_ack_due(&w->rx, w->now, true), "seed %u", seed);
		if (xiw_tcp_rx_ack_due(&w->rx, w->now, end))
			acknowledge(w);
	}
	for (struct xiw_tcp_keep *n = xiw_tcp_rx_flush(&w->rx), *next; n; n = next) {
		next = n->next;
		cr_assert(!next || (int32_t)(next->seq - n->seq) >= 0, "seed %u", seed);
		give_back(w, n);
	}
	for (uint32_t i = 0; i <= STREAM; i++)
		cr_assert_eq(w->held[i], 0, "seed %u: a node was lost at %u", seed, i);
}

Test(tcp_stream, random)
{
	struct world *w = malloc(sizeof(*w));

	cr_assert(w);
	for (uint32_t seed = 1; seed <= ROUNDS; seed++)
		run(w, seed);
	free(w);
}
