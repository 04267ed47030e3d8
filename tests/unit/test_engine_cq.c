// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Events that find the completion queue full, and the memory that they take. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "engine/internal.h"

#define ENTRIES 4096u
#define MANY 200000u

static struct xiw_engine *e;
static struct xiw_conn *conn;
static uint64_t made, taken;

static void setup(void)
{
	made = taken = 0;
	e = calloc(1, sizeof(*e));
	conn = aligned_alloc(64, (sizeof(*conn) + 63) & ~63ul);
	cr_assert(e && conn);
	memset(conn, 0, sizeof(*conn));
	conn->engine = e;
	e->opts.app_ring_fd = -1;
	e->cq = calloc(ENTRIES, sizeof(*e->cq));
	e->cq_mask = ENTRIES - 1;
	cr_assert(e->cq);
}

static void teardown(void)
{
	free(e->overflow);
	free(e->cq);
	free(conn);
	free(e);
}

TestSuite(engine_cq, .init = setup, .fini = teardown);

static void make(uint32_t n)
{
	struct xiw_completion c = { .conn = conn };

	while (n--) {
		c.user_data = made++;
		xiw_complete(e, &c);
	}
	cr_assert(!e->lost_event);
}

static void take(uint32_t n)
{
	struct xiw_completion c;

	while (n--) {
		cr_assert(xiw_engine_next(e, &c));
		cr_assert_eq(c.user_data, taken++);
	}
}

static void drain(void)
{
	struct xiw_completion c;

	do {
		xiw_cq_drain(e);
		while (xiw_engine_next(e, &c))
			cr_assert_eq(c.user_data, taken++);
	} while (e->overflow_n);
	cr_assert_eq(taken, made);
}

Test(engine_cq, what_overflowed_comes_in_order)
{
	/* Round and round: more come while the first ones are taken. */
	make(ENTRIES + 100);
	for (uint32_t i = 0; i < 5000; i++) {
		make(i % 7);
		take(i % 5);
		xiw_cq_drain(e);
	}
	drain();
}

Test(engine_cq, memory_of_a_bad_moment_is_given_back)
{
	uint64_t before = e->budget.used;

	make(ENTRIES + MANY);
	cr_assert_geq(e->overflow_room, MANY);
	cr_assert_geq(e->budget.used - before, MANY * sizeof(*e->overflow));
	drain();
	cr_assert_leq(e->overflow_room, 256, "%zu entries are kept", e->overflow_room);
	cr_assert_leq(e->budget.used - before, 256 * sizeof(*e->overflow));
	make(ENTRIES + 10);
	drain();
}

Test(engine_cq, an_event_is_never_refused_for_the_budgets_sake)
{
	e->budget.limit = 1000;
	make(ENTRIES + MANY);
	cr_assert(!xiw_budget_take(&e->budget, 1), "others are");
	drain();
}
