/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random messages from the Data Source's code to the Data Sink's. Segments are placed in any order that a window
 * allows, some of them twice (RFC 5041 section 5.3), and delivered in order. Memory and messages are compared with
 * plain arrays.
 */

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "ddp/recv.h"
#include "ddp/tx.h"

enum { SEED = 0x5eed1234, ROUNDS = 300, MSGS = 24, MAX_LEN = 6000, MAX_SEGS = MSGS * 200 };
enum { REGIONS = 3, REGION = 64 * 1024, QUEUES = 3, DEPTH = 2, WINDOW = 16, PIECES = 6 };

struct message {
	struct xiw_ddp_tx_msg tx;
	bool tagged;
	uint32_t region, len;
	uint64_t to;
	uint8_t ulp[5];
	uint8_t data[MAX_LEN];
};

struct segment {
	struct xiw_ddp_hdr h; /* as decoded from its octets */
	uint32_t off, len;
	int msg;
	bool placed;
};

static const uint32_t stags[REGIONS] = { 0, 0xffffffff, 0x1234 };
static uint8_t memory[REGIONS][REGION], model[REGIONS][REGION];
static uint32_t used[REGIONS];
static uint64_t bases[REGIONS] = { 0, UINT64_MAX - REGION, 1ull << 40 };
static uint8_t bufs[QUEUES][DEPTH]
		   [MAX_LEN + 1]; /* with one octet after the buffer, which must not change */
/* Every other buffer is posted in pieces, which lie in it from its end to its start. */
static struct xiw_ddp_piece pieces[QUEUES][DEPTH][PIECES];
static struct message msgs[MSGS];
static struct segment segs[MAX_SEGS];
static int nsegs, delivered, messages_done;
static uint32_t posted[QUEUES];
static unsigned long n_predicted, n_early, n_refused, n_twice, n_split;

static struct xiw_ddp_table table;
static struct xiw_ddp_rx *rx;
static struct xiw_ddp_tx tx;

static uint32_t rnd(void)
{
	static uint32_t x = SEED;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x;
}

static int post_pieces(uint32_t qn, uint8_t *buf, struct xiw_ddp_piece *piece)
{
	struct xiw_ddp_buf b;
	uint32_t at = 0;

	for (int i = 0; i < PIECES; i++) {
		uint32_t len = i == PIECES - 1 ? MAX_LEN - at : 1 + rnd() % 500;

		at += len;
		piece[i] = (struct xiw_ddp_piece){ buf + MAX_LEN - at, len };
	}
	b = xiw_ddp_buf_of(piece, PIECES, posted[qn]);
	return xiw_ddp_rx_post_buf(rx, qn, &b);
}

static int post_one(uint32_t qn, uint8_t *buf)
{
	if (posted[qn] & 1 && rx->queues[qn].count < DEPTH)
		return post_pieces(qn, buf, pieces[qn][posted[qn] % DEPTH]);
	return xiw_ddp_rx_post(rx, qn, buf, MAX_LEN, posted[qn]);
}

static void post_all(void)
{
	for (uint32_t qn = 0; qn < QUEUES; qn++) {
		for (;;) {
			uint8_t *buf = bufs[qn][posted[qn] % DEPTH];

			if (post_one(qn, buf))
				break;
			memset(buf, 0xee, MAX_LEN + 1);
			posted[qn]++;
		}
	}
}

/* Tagged messages of one round do not overlap, so they may be placed in any order. */
static void make_message(int i)
{
	struct message *m = &msgs[i];

	m->len = rnd() % 4 ? rnd() % MAX_LEN : rnd() % 3;
	m->region = rnd() % REGIONS;
	m->tagged = rnd() % 2 && used[m->region] + m->len <= REGION;
	for (uint32_t k = 0; k < m->len; k++)
		m->data[k] = rnd();
	for (int k = 0; k < 5; k++)
		m->ulp[k] = rnd();
	if (m->tagged) {
		m->to = bases[m->region] + used[m->region];
		memcpy(model[m->region] + used[m->region], m->data, m->len);
		used[m->region] += m->len + rnd() % 2;
		cr_assert_eq(xiw_ddp_tx_tagged(&m->tx, stags[m->region], m->to, m->len, m->ulp[0]),
			     0);
	} else {
		cr_assert_eq(xiw_ddp_tx_untagged(&tx, &m->tx, rnd() % QUEUES, m->len, m->ulp), 0);
	}
}

static void cut_message(int i)
{
	uint32_t total = 0;
	struct xiw_ddp_seg s;

	for (;;) {
		uint32_t mulpdu = 64 + rnd() % 1400;
		struct segment *g = &segs[nsegs];
		uint8_t wire[XIW_DDP_HDR_MAX];
		uint32_t n;

		if (!xiw_ddp_tx_next(&msgs[i].tx, mulpdu, &s))
			break;
		n = xiw_ddp_hdr_encode(&s.hdr, wire);
		cr_assert_leq(n + s.len, mulpdu);
		cr_assert_eq(s.off, total);
		cr_assert_eq(xiw_ddp_hdr_decode(&g->h, wire, n, n + s.len), 0);
		*g = (struct segment){ .h = g->h, .off = s.off, .len = s.len, .msg = i };
		total += s.len;
		cr_assert_lt(++nsegs, MAX_SEGS);
	}
	cr_assert_eq(total, msgs[i].len);
}

/* Copies a payload to its place. */
static void copy(const struct xiw_ddp_place *p, const uint8_t *from, uint32_t len)
{
	const struct xiw_ddp_piece *piece = p->pieces;
	uint8_t *to = p->dst, *end = p->npieces ? piece->base + piece->len : to + len;

	cr_assert(!p->npieces || (!p->predicted && to == piece->base + p->piece_off));
	for (uint32_t i = 0; i < len; i++) {
		if (to == end) {
			to = (++piece)->base;
			end = to + piece->len;
		}
		*to++ = from[i];
	}
	cr_assert(piece < p->pieces + p->npieces || !p->npieces);
}

/* in_turn: all earlier segments were placed, and each moved the prediction on. */
static bool place(int i, bool in_turn)
{
	struct segment *g = &segs[i];
	struct xiw_ddp_place p;
	enum xiw_ddp_error err = xiw_ddp_rx_place(rx, &g->h, g->len, &p);
	bool continues = i && segs[i - 1].msg == g->msg && g->len;

	if (err) {
		/* Only an early segment can need a buffer that is posted by a later Delivery. */
		cr_assert(i > delivered, "%s", xiw_ddp_error_name(err));
		cr_assert(err == XIW_DDP_UNTAGGED_NO_BUFFER || err == XIW_DDP_UNTAGGED_MSN_RANGE);
		n_refused++;
		return false;
	}
	cr_assert(!p.predicted || (in_turn && continues), "segment %d", i);
	n_predicted += p.predicted;
	n_early += !in_turn;
	n_twice += g->placed;
	if (g->len)
		copy(&p, msgs[g->msg].data + g->off, g->len);
	n_split += p.npieces > 1;
	g->placed = true;
	return true;
}

static void check_message(const struct xiw_ddp_msg *m, const struct segment *g)
{
	const struct message *want = &msgs[g->msg];
	static uint8_t got[MAX_LEN];
	uint64_t to = want->to;

	cr_assert_eq(g->msg, messages_done++, "in order, each once");
	cr_assert_eq(m->tagged, want->tagged);
	cr_assert_eq(m->len, want->len);
	if (m->tagged) {
		cr_assert(m->stag == stags[want->region] && m->rsvdulp[0] == want->ulp[0]);
		cr_assert_eq(m->contiguous, want->len != 0);
		cr_assert(!m->contiguous || (m->to == to && m->to_end == to + want->len));
		return;
	}
	cr_assert_arr_eq(m->rsvdulp, want->ulp, 5);
	cr_assert(m->qn == g->h.qn && m->msn == g->h.msn);
	cr_assert_eq(m->buf.npieces, m->buf.user_data & 1 ? PIECES : 0);
	cr_assert_eq(m->buf.len, MAX_LEN);
	xiw_ddp_buf_read(&m->buf, got, MAX_LEN);
	cr_assert_eq(memcmp(got, want->data, want->len), 0);
	for (uint32_t k = want->len; k < MAX_LEN; k++)
		cr_assert_eq(got[k], 0xee, "stray octet at %u", k);
	cr_assert_eq(bufs[m->qn][m->buf.user_data % DEPTH][MAX_LEN], 0xee, "stray octet");
}

static void deliver(void)
{
	struct segment *g = &segs[delivered];
	struct xiw_ddp_msg m;

	cr_assert_eq(xiw_ddp_rx_deliver(rx, &g->h, g->len, &m), XIW_DDP_OK);
	cr_assert_eq(m.complete, g->h.last);
	if (m.complete) {
		check_message(&m, g);
		post_all();
	}
	delivered++;
}

/* Place any segment of the window, then deliver what is in order. */
static void step_random(void)
{
	int i = delivered + rnd() % WINDOW;

	if (i < nsegs)
		place(i, i == delivered);
	while (delivered < nsegs && segs[delivered].placed && rnd() % 8)
		deliver();
}

/* Like the engine: place and deliver each segment in its turn. */
static void step_batch(void)
{
	int want = 1 + rnd() % WINDOW;

	while (want-- && delivered < nsegs && place(delivered, true))
		deliver();
}

static void start(void)
{
	struct xiw_ddp_rx_opts o = {
		.table = &table,
		.pd = 1,
		.stream = 1,
		.nqueues = QUEUES,
		.depth = DEPTH,
	};

	xiw_ddp_table_init(&table, NULL, NULL);
	for (int i = 0; i < REGIONS; i++) {
		struct xiw_ddp_region_opts r = {
			.ptr = memory[i],
			.len = REGION,
			.base = bases[i],
			.pd = 1,
			.access = XIW_DDP_REMOTE_WRITE,
			.fixed = true,
			.stag = stags[i],
		};
		uint32_t stag;

		cr_assert_eq(xiw_ddp_region_register(&table, &r, &stag), 0);
	}
	cr_assert_eq(xiw_ddp_rx_create(&rx, &o), 0);
	cr_assert_eq(xiw_ddp_tx_init(&tx, QUEUES, 0), 0);
	for (int i = 0; i < QUEUES; i++) /* each queue's MSN wraps */
		tx.next_msn[i] = rx->queues[i].next_msn = -20 * (i + 1);
	post_all();
}

Test(ddp_model, random)
{
	start();
	for (int round = 0; round < ROUNDS; round++) {
		bool batches = rnd() % 2;

		nsegs = delivered = messages_done = 0;
		memset(used, 0, sizeof(used));
		for (int i = 0; i < MSGS; i++) {
			make_message(i);
			cut_message(i);
		}
		while (delivered < nsegs) {
			if (batches)
				step_batch();
			else
				step_random();
		}
		cr_assert_eq(messages_done, MSGS, "seed %x round %d", SEED, round);
		cr_assert_eq(memcmp(memory, model, sizeof(model)), 0, "seed %x round %d", SEED,
			     round);
	}
	/* The run met the cases that it is for. */
	cr_expect_gt(n_predicted, 1000);
	cr_expect_gt(n_early, 1000);
	cr_expect_gt(n_refused, 100);
	cr_expect_gt(n_twice, 1000);
	cr_expect_gt(n_split, 1000);
	for (int i = 0; i < QUEUES; i++)
		cr_expect_lt(rx->queues[i].next_msn, 0x80000000, "queue %d passed the wrap", i);
	xiw_ddp_tx_free(&tx);
	xiw_ddp_rx_free(rx);
	xiw_ddp_table_free(&table);
}
