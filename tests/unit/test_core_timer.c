// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <criterion/criterion.h>
#include <stdlib.h>

#include "core/timer.h"

#define SEED 0x7431u
#define CONNS 300

static uint64_t rng;
static struct xiw_engine *e;
static struct xiw_conn *conns[CONNS];

static uint32_t rnd(uint32_t below)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng >> 33) % below;
}

/* Dead connections: a deadline that comes does nothing but pass. */
static void setup(void)
{
	rng = SEED;
	e = calloc(1, sizeof(*e));
	cr_assert(e);
	e->wheel.next_ms = e->wheel.collect_ms = XIW_NEVER;
	e->now_ms = 123456789;
	for (unsigned int i = 0; i < CONNS; i++) {
		conns[i] = aligned_alloc(64, (sizeof(**conns) + 63) & ~63ul);
		cr_assert(conns[i]);
		memset(conns[i], 0, sizeof(**conns));
		conns[i]->engine = e;
		conns[i]->state = XIW_DEAD;
		conns[i]->timer.deadline_ms = conns[i]->timer.ack_ms = XIW_NEVER;
		conns[i]->timer.hold_ms = conns[i]->timer.ulp_ms = XIW_NEVER;
		conns[i]->progress.due_ms = conns[i]->progress.output.look_ms = XIW_NEVER;
	}
}

static void teardown(void)
{
	for (unsigned int i = 0; i < CONNS; i++)
		free(conns[i]);
	free(e);
}

TestSuite(core_timer, .init = setup, .fini = teardown);

static void run_at(uint64_t ms)
{
	struct xiw_conn *c;

	e->now_ms = ms;
	while ((c = xiw_timer_due(e))) {
		if (c->timer.deadline_ms <= ms)
			c->timer.deadline_ms = XIW_NEVER;
		xiw_timer(c);
	}
	e->wheel.next_ms = XIW_NEVER;
	xiw_timer_wake(e);
}

static void set_deadline(struct xiw_conn *c, uint64_t at_ms)
{
	c->timer.deadline_ms = at_ms;
	xiw_timer(c);
}

Test(core_timer, a_deadline_is_kept_to_the_millisecond)
{
	for (uint32_t wait = 1; wait < 3 * XIW_WHEEL; wait += 37) {
		uint64_t due = e->now_ms + wait;

		set_deadline(conns[0], due);
		while (e->wheel.next_ms < due) {
			cr_assert_gt(e->wheel.next_ms, e->now_ms);
			run_at(e->wheel.next_ms);
			cr_assert_eq(conns[0]->timer.deadline_ms, due, "%u ms: too early", wait);
		}
		cr_assert_eq(e->wheel.next_ms, due);
		run_at(due);
		cr_assert_eq(conns[0]->timer.deadline_ms, XIW_NEVER, "%u ms: not at its time",
			     wait);
		cr_assert_eq(e->wheel.next_ms, XIW_NEVER);
		cr_assert_eq(e->wheel.n, 0);
	}
}

Test(core_timer, an_engine_that_was_not_run_for_long_catches_up)
{
	for (unsigned int i = 0; i < CONNS; i++) {
		set_deadline(conns[i], e->now_ms + 1 + i * 7);
	}
	run_at(e->now_ms + 1000000);
	for (unsigned int i = 0; i < CONNS; i++)
		cr_expect_eq(conns[i]->timer.deadline_ms, XIW_NEVER, "%u", i);
	cr_assert_eq(e->wheel.n, 0);
}

/* Compares with a plain list: all that is due fires, nothing else does, and no wait is too long. */
Test(core_timer, many_at_random)
{
	for (unsigned int step = 0; step < 20000; step++) {
		struct xiw_conn *c = conns[rnd(CONNS)];
		uint64_t next = XIW_NEVER;

		switch (rnd(4)) {
		case 0:
			set_deadline(c, e->now_ms + 1 + rnd(rnd(4) ? 60 : 12000));
			break;
		case 1: /* as at the end of a connection, which stays on the wheel */
			set_deadline(c, XIW_NEVER);
			break;
		case 2: /* as when a connection is freed */
			set_deadline(c, XIW_NEVER);
			xiw_timer_stop(c);
			cr_assert_null(c->timer.at);
			break;
		default:
			run_at(e->now_ms + rnd(rnd(8) ? 4 : 900));
		}
		for (unsigned int i = 0; i < CONNS; i++)
			if (conns[i]->timer.deadline_ms < next)
				next = conns[i]->timer.deadline_ms;
		cr_assert_leq(e->wheel.next_ms, next, "step %u, seed %#x", step, SEED);
		if (e->now_ms >= e->wheel.next_ms)
			run_at(e->now_ms);
		for (unsigned int i = 0; i < CONNS; i++)
			cr_assert(conns[i]->timer.deadline_ms == XIW_NEVER ||
					  (conns[i]->timer.deadline_ms > e->now_ms &&
					   conns[i]->timer.at),
				  "step %u, seed %#x", step, SEED);
	}
}
