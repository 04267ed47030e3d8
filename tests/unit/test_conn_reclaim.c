// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When memory is short, the connection that has held it longest without going on is ended. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>

static int tcp_says(int fd, int level, int option, void *value, socklen_t *len);

#define getsockopt tcp_says
#include "conn/reclaim.c"

#define CONNS 20

static struct xiw_engine *e;
static struct xiw_conn *conns[CONNS];
static struct xiw_stage *stage;

static uint64_t acked; /* what each peer has acknowledged */
static unsigned int asked;

static int tcp_says(int fd, int level, int option, void *value, socklen_t *len)
{
	(void)fd;
	(void)len;
	cr_assert(level == IPPROTO_TCP && option == TCP_INFO);
	((struct tcp_info *)value)->tcpi_bytes_acked = acked;
	asked++;
	return 0;
}

static void setup(void)
{
	e = calloc(1, sizeof(*e));
	stage = calloc(1, sizeof(*stage));
	cr_assert(e && stage);
	e->now_ms = 100000;
	for (int i = 0; i < CONNS; i++) {
		struct xiw_conn *c = aligned_alloc(64, (sizeof(*c) + 63) & ~63ul);

		cr_assert(c);
		memset(c, 0, sizeof(*c));
		c->engine = e;
		c->state = XIW_OPEN;
		c->fd = -1;
		c->next = e->conns;
		e->conns = conns[i] = c;
	}
}

static void teardown(void)
{
	for (int i = 0; i < CONNS; i++)
		free(conns[i]);
	free(stage);
	free(e);
}

TestSuite(conn_reclaim, .init = setup, .fini = teardown);

/* An FPDU has begun, and nothing more of it has come for that long. */
static void stands_still(struct xiw_conn *c, uint64_t ms)
{
	c->mpa.room = 1000;
	c->recv.fpdu_ms = e->now_ms - ms;
}

static int ended(void)
{
	int n = 0;

	for (int i = 0; i < CONNS; i++)
		n += conns[i]->end.asked;
	return n;
}

static void reclaim(void)
{
	e->short_of_memory = true;
	xiw_reclaim(e);
	cr_assert(!e->short_of_memory);
}

Test(conn_reclaim, one_that_stands_still_is_ended)
{
	conns[3]->recv.hungry = true;
	stands_still(conns[5], STALE_MS);
	stands_still(conns[6], STALE_MS - 1);
	reclaim();
	cr_expect(conns[5]->end.asked);
	cr_expect_eq(conns[5]->end.asked_error, ENOMEM);
	cr_expect(conns[5]->end.at_once);
	cr_expect_eq(ended(), 1);
	cr_expect(!conns[3]->recv.hungry, "it asks again");
}

Test(conn_reclaim, a_peer_that_does_not_read_is_ended)
{
	conns[4]->send.stage = stage;
	conns[4]->send.stage_ms = e->now_ms - STALE_MS;
	conns[5]->send.stage = stage;
	conns[5]->send.stage_ms = e->now_ms;
	conns[6]->send.stage_ms = 0; /* without a stage */
	reclaim();
	cr_expect(conns[4]->end.asked);
	cr_expect_eq(ended(), 1);
}

/* A long send says nothing before its end, so the peer's ACKs tell: a run in that time, and not less. */
Test(conn_reclaim, a_slow_peer_goes_on)
{
	struct xiw_conn *c = conns[4];

	c->send.stage = stage;
	c->send.busy = true;
	c->send.stage_ms = e->now_ms - STALE_MS;
	acked = 10 * XIW_RUN_MAX;
	reclaim();
	cr_expect_eq(ended(), 0);

	e->now_ms += STALE_MS;
	acked += XIW_RUN_MAX;
	reclaim();
	cr_expect_eq(ended(), 0);

	e->now_ms += STALE_MS;
	acked += XIW_RUN_MAX - 1;
	reclaim();
	cr_expect(c->end.asked);
}

/* However many send slowly, TCP is asked for a few of them at a time. */
Test(conn_reclaim, few_are_asked_for)
{
	for (int i = 0; i < CONNS; i++) {
		conns[i]->send.stage = stage;
		conns[i]->send.busy = true;
		conns[i]->send.stage_ms = e->now_ms - STALE_MS;
	}
	acked = XIW_RUN_MAX;
	reclaim();
	cr_expect_eq(asked, VICTIMS);
	cr_expect_eq(ended(), 0);
	e->now_ms += LOOK_MS;
	reclaim();
	cr_expect_eq(asked, CONNS);
	cr_expect_eq(ended(), 0);
}

/* What is received stands still, whatever is sent. */
Test(conn_reclaim, sending_does_not_excuse_receiving)
{
	conns[4]->send.stage = stage;
	conns[4]->send.busy = true;
	conns[4]->send.stage_ms = e->now_ms;
	acked = XIW_RUN_MAX;
	stands_still(conns[4], STALE_MS);
	reclaim();
	cr_expect(conns[4]->end.asked);
	cr_expect_eq(asked, 0);
}

Test(conn_reclaim, the_ones_that_stand_still_longest_are_ended_first)
{
	for (int i = 0; i < CONNS; i++)
		stands_still(conns[i], STALE_MS + 1 + (uint64_t)(i * 7 % CONNS));
	reclaim();
	cr_expect_eq(ended(), VICTIMS);
	for (int i = 0; i < CONNS; i++)
		cr_expect_eq(conns[i]->end.asked, i * 7 % CONNS >= CONNS - VICTIMS, "%d", i);
}

Test(conn_reclaim, if_none_stands_still_those_that_ask_are_ended)
{
	conns[3]->recv.hungry = conns[7]->recv.hungry = true;
	stands_still(conns[5], STALE_MS - 1);
	reclaim();
	cr_expect(conns[3]->end.asked && conns[7]->end.asked);
	cr_expect_eq(ended(), 2);
}

/* A connection that waits for a stage asks in each turn, and is not ended for it. */
Test(conn_reclaim, without_a_hungry_one_it_looks_only_now_and_then)
{
	reclaim();
	cr_expect_eq(ended(), 0);
	stands_still(conns[5], STALE_MS);
	e->now_ms += LOOK_MS - 1;
	reclaim();
	cr_expect_eq(ended(), 0, "not yet");
	e->now_ms++;
	reclaim();
	cr_expect(conns[5]->end.asked);
}

Test(conn_reclaim, a_hungry_one_does_not_wait)
{
	reclaim();
	stands_still(conns[5], STALE_MS);
	conns[3]->recv.hungry = true;
	reclaim();
	cr_expect(conns[5]->end.asked);
}

Test(conn_reclaim, the_dead_and_the_ending_are_no_victims)
{
	stands_still(conns[5], 9 * STALE_MS);
	conns[5]->state = XIW_DEAD;
	stands_still(conns[6], 8 * STALE_MS);
	conns[6]->end.asked = true;
	conns[6]->end.asked_error = EPROTO;
	conns[3]->recv.hungry = true;
	reclaim();
	cr_expect(!conns[5]->end.asked);
	cr_expect_eq(conns[6]->end.asked_error, EPROTO);
	cr_expect(conns[3]->end.asked, "there was no victim");
}
