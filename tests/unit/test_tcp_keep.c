// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Many kept segments: the list and its runs are right, and none costs more because there are many. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tcp/keep.h"
#include "tests/unit/tcp_rig.h"

static uint64_t steps; /* comparisons of numbers: each node that is looked at takes one */

#define xiw_seq_after(a, b) (steps++, (xiw_seq_after)(a, b))
#define xiw_seq_before(a, b) (steps++, (xiw_seq_before)(a, b))

#include "tcp/keep.c"

#define BASE 0xffffe000u /* numbers wrap among the runs */
#define MANY 8192u
#define FEW 16u

static struct xiw_tcp_rx rx;
static struct xiw_tcp_keep *nodes;
static unsigned int used;
static uint32_t seed;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)seed * n >> 32);
}

static void begin(void)
{
	const struct xiw_tcp_rx_conf conf = {
		.rcv_nxt = BASE,
		.right_edge = BASE + (1 << 20),
		.window = 1 << 20,
		.buffer = 1 << 20,
		.last_ack_sent = BASE,
		.mss = RIG_MSS,
		.rcv_wscale = 7,
		.sack_ok = true,
		.max_keep = UINT32_MAX,
	};

	xiw_tcp_rx_init(&rx, &conf);
	free(nodes);
	nodes = calloc(2 * MANY + 1, sizeof(*nodes));
	cr_assert_not_null(nodes);
	used = 0;
	seed = 1;
}

static void end(void)
{
	free(nodes);
	nodes = NULL;
}

TestSuite(tcp_keep, .init = begin, .fini = end);

/* Keeps [at, at + len) behind BASE. */
static enum xiw_tcp_action keep(uint32_t at, uint32_t len)
{
	const struct xiw_tcp_take take = { .seq = BASE + at, .len = len };
	enum xiw_tcp_action act;

	cr_assert_lt(used, 2 * MANY + 1);
	xiw_tcp_keep_set(&nodes[used], &take);
	act = xiw_tcp_rx_keep(&rx, &nodes[used]);
	used += act == XIW_TCP_KEEP;
	return act;
}

/* The octets up to `at` come in order. */
static void fill(uint32_t at)
{
	struct xiw_tcp_keep *n;
	struct xiw_tcp_take t;

	xiw_tcp_rx_advance(&rx, BASE + at - rx.rcv_nxt);
	while ((n = xiw_tcp_rx_next(&rx)))
		if (xiw_tcp_rx_turn(&rx, n, &t) == XIW_TCP_TAKE)
			xiw_tcp_rx_advance(&rx, t.len);
}

static void acknowledge(void)
{
	uint8_t ack[XIW_TCP_MAX];

	cr_assert_gt(xiw_tcp_rx_build_ack(&rx, 0, ack, sizeof(ack)), 0);
}

/* ---- what it costs ------------------------------------------------------------------------------- */

/* One octet each, in any order. */
static void scatter(uint32_t runs)
{
	const uint32_t step = runs / 2 - 1; /* has no divisor in common with a power of two */

	for (uint32_t i = 0; i < runs; i++)
		cr_assert_eq(keep(2 + 2 * (i * step % runs), 1), XIW_TCP_KEEP);
}

/* Duplicates of the first run, of the last one, and of any. */
static void duplicates(uint32_t runs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t which[] = { 0, runs - 1, rnd(runs) };

		cr_assert_eq(keep(2 + 2 * which[i % 3], 1), XIW_TCP_DROP);
	}
}

static void acknowledged_duplicates(uint32_t runs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		duplicates(runs, 3);
		acknowledge();
	}
}

static void early_ones(uint32_t runs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		cr_assert_eq(xiw_tcp_rx_keeps_any(&rx, BASE + 1 + 2 * rnd(runs), 1), false);
}

static uint64_t cost(void (*action)(uint32_t runs, uint32_t n), uint32_t runs)
{
	begin();
	scatter(runs);
	steps = 0;
	action(runs, 4000);
	return steps;
}

/* With 512 times as many runs, a tree is nine levels deeper. A walk takes hundreds of times as many steps. */
#define DEARER 10

static void expect_cheap(void (*action)(uint32_t runs, uint32_t n))
{
	const uint64_t few = cost(action, FEW), many = cost(action, MANY);

	cr_expect_lt(many, DEARER * few, "%ju steps among %u runs, %ju among %u", (uintmax_t)few,
		     FEW, (uintmax_t)many, MANY);
}

Test(tcp_keep, a_duplicate_among_many_runs_is_cheap)
{
	expect_cheap(duplicates);
}

Test(tcp_keep, an_ack_of_many_runs_is_cheap)
{
	expect_cheap(acknowledged_duplicates);
}

Test(tcp_keep, a_look_among_many_runs_is_cheap)
{
	expect_cheap(early_ones);
}

/* Each gap that is filled leaves the runs behind it as they were, also if the segments of the first overlapped. */
static uint64_t fills(uint32_t pairs)
{
	begin();
	for (uint32_t i = 0; i < pairs; i++) {
		keep(8 * i + 4, 3);
		keep(8 * i + 6, 2);
	}
	/* The first ones pay for the order in which the segments came: what n cost is limited, not each. */
	for (uint32_t i = 0; i < FEW; i++) {
		steps = i == FEW / 2 ? 0 : steps;
		fill(8 * i + 4);
		acknowledge();
	}
	cr_expect_eq(rx.rcv_nxt, BASE + 8 * FEW);
	return steps;
}

Test(tcp_keep, a_gap_in_front_of_many_runs_is_filled_cheaply)
{
	const uint64_t few = fills(2 * FEW), many = fills(MANY);

	cr_expect_lt(many, DEARER * few, "%ju steps, and %ju", (uintmax_t)many, (uintmax_t)few);
}

/* One that covers very many kept ones is not kept: it would take its place among them. TCP sends it again. */
Test(tcp_keep, one_that_covers_many_is_not_kept)
{
	for (uint32_t i = 0; i < 100; i++)
		cr_assert_eq(keep(10 + i, 1), XIW_TCP_KEEP);
	cr_expect_eq(keep(10, 101), XIW_TCP_DROP);
	cr_expect_eq(rx.drops[XIW_TCP_DROP_FULL], 1);
	cr_expect_eq(rx.kept, 100);
	cr_expect(xiw_tcp_rx_ack_due(&rx, 0, false), "a duplicate ACK");
	cr_expect_eq(keep(80, 31), XIW_TCP_KEEP);
	cr_expect_eq(keep(10, 100), XIW_TCP_DROP);
	cr_expect_eq(rx.drops[XIW_TCP_DROP_DUP], 1);
	fill(10);
	cr_expect_eq(rx.rcv_nxt, BASE + 111);
	cr_expect_null(rx.keep_head);
}

/* ---- what it says -------------------------------------------------------------------------------- */

#define SPAN 6000u

static bool have[2 * SPAN + 100];

/* Does the block say a whole run? */
static void check_block(const struct xiw_tcp_sack *b)
{
	const uint32_t from = b->start - BASE, to = b->end - BASE;

	cr_assert(from < to && to < sizeof(have) && !have[from - 1] && !have[to], "[%u, %u)", from,
		  to);
	for (uint32_t i = from; i < to; i++)
		cr_assert(have[i]);
}

static void check(uint32_t last)
{
	struct xiw_tcp_sack block[XIW_TCP_MAX_SACK];
	const uint32_t at = rx.rcv_nxt - BASE;
	unsigned int n = xiw_keep_blocks(&rx, block, XIW_TCP_MAX_SACK), runs = 0;
	uint32_t look = at + 1 + rnd(SPAN), len = 1 + rnd(3);
	bool any = false;

	for (uint32_t i = at + 1; i < 2 * SPAN && runs < XIW_TCP_MAX_SACK; i++)
		runs += have[i] && !have[i - 1];
	cr_assert_eq(n, runs, "%u blocks, not %u", n, runs);
	for (unsigned int i = 0; i < n; i++) {
		check_block(&block[i]);
		for (unsigned int k = 0; k < i; k++)
			cr_assert_neq(block[i].start, block[k].start);
	}
	if (last > at && n)
		cr_assert_lt(BASE + last - block[0].start, block[0].end - block[0].start,
			     "the newest comes first");
	for (uint32_t i = look; i < look + len; i++)
		any |= have[i];
	cr_assert_eq(xiw_tcp_rx_keeps_any(&rx, BASE + look, len), any);
}

/* Anything comes in any order, and now and then the first gap is filled. */
Test(tcp_keep, runs_are_as_the_octets)
{
	for (unsigned int round = 0; round < 20; round++) {
		begin();
		memset(have, 0, sizeof(have));
		seed = round + 1;
		while (rx.rcv_nxt - BASE < SPAN - 100 && used < 2 * MANY) {
			const uint32_t at = rx.rcv_nxt - BASE, from = at + 1 + rnd(SPAN - 1 - at),
				       len = 1 + rnd(round % 2 ? 3 : 40);
			uint32_t fresh = 0, stop;

			for (uint32_t i = from; i < from + len; i++) {
				fresh += !have[i];
				have[i] = true;
			}
			cr_assert_eq(keep(from, len), fresh ? XIW_TCP_KEEP : XIW_TCP_DROP);
			check(from);
			if (rnd(4))
				continue;
			for (stop = at; !have[stop + 1] && stop < SPAN;)
				stop++;
			/* Not all of the gap, all, or more. */
			stop += 1 + rnd(3) - rnd(2);
			fill(stop);
			for (uint32_t i = at; i < rx.rcv_nxt - BASE; i++)
				have[i] = true;
			check(0);
		}
	}
}
