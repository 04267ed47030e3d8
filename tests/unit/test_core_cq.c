// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Events that come while the completion queue is full, and the memory that they take. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/cq.h"

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
	cr_assert_eq(xiw_cq_init(&e->cq, e, ENTRIES), 0);
}

static void teardown(void)
{
	free(e->cq.overflow);
	free(e->cq.entries);
	free(conn);
	free(e);
}

TestSuite(core_cq, .init = setup, .fini = teardown);

static void make(uint32_t n)
{
	struct xiw_completion c = { .conn = conn, .event = XIW_EV_WRITTEN };

	while (n--) {
		c.user_data = made++;
		xiw_complete(e, &c);
	}
	cr_assert(!e->cqs.lost);
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
		xiw_cqs_refill(e);
		while (xiw_engine_next(e, &c))
			cr_assert_eq(c.user_data, taken++);
	} while (e->cq.overflow_n);
	cr_assert_eq(taken, made);
}

Test(core_cq, what_overflowed_comes_in_order)
{
	/* In a circle: more events come while the first ones are taken. */
	make(ENTRIES + 100);
	for (uint32_t i = 0; i < 5000; i++) {
		make(i % 7);
		take(i % 5);
		xiw_cqs_refill(e);
	}
	drain();
}

Test(core_cq, memory_of_a_bad_moment_is_given_back)
{
	uint64_t before = e->budget.used;

	make(ENTRIES + MANY);
	cr_assert_geq(e->cq.overflow_room, MANY);
	cr_assert_geq(e->budget.used - before, MANY * sizeof(*e->cq.overflow));
	drain();
	cr_assert_leq(e->cq.overflow_room, 256, "%zu entries are kept", e->cq.overflow_room);
	cr_assert_leq(e->budget.used - before, 256 * sizeof(*e->cq.overflow));
	make(ENTRIES + 10);
	drain();
}

Test(core_cq, an_event_is_never_refused_for_the_budgets_sake)
{
	e->budget.limit = 1000;
	make(ENTRIES + MANY);
	cr_assert(!xiw_budget_take(&e->budget, 1), "others are");
	drain();
}

/* ---- what is freed ------------------------------------------------------------------------------- */

#define CONNS 3u

static struct xiw_conn *several[CONNS];

static void make_several(void)
{
	for (uint32_t i = 0; i < CONNS; i++) {
		several[i] = aligned_alloc(64, (sizeof(*conn) + 63) & ~63ul);
		cr_assert(several[i]);
		memset(several[i], 0, sizeof(*conn));
		several[i]->engine = e;
	}
}

static void free_several(void)
{
	for (uint32_t i = 0; i < CONNS; i++)
		free(several[i]);
}

static void tell(uint32_t i, enum xiw_event event)
{
	struct xiw_completion c = { .conn = several[i], .event = event, .user_data = made++ };

	xiw_complete(e, &c);
}

/*
 * Events of a freed connection disappear, in the queue and beyond it. The events of the others stay, in order.
 */
Test(core_cq, none_of_what_is_freed)
{
	static const uint32_t numbers[] = { 1,		 100,	      ENTRIES - 7, ENTRIES,
					    ENTRIES + 1, 2 * ENTRIES, 20000 };
	struct xiw_completion c;

	make_several();
	for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
		uint64_t from = made, left = 0, next = from;

		for (uint32_t i = 0; i < numbers[k]; i++)
			tell(i % CONNS, XIW_EV_WRITTEN);
		for (uint32_t i = 0; i < numbers[k]; i++)
			left += i % CONNS != 1;
		cr_assert(numbers[k] < 2 || !xiw_cq_heard(several[1]));
		xiw_cq_forget_conn(several[1]);
		do {
			while (xiw_engine_next(e, &c)) {
				cr_assert_neq(c.conn, several[1]);
				cr_assert_geq(c.user_data, next);
				cr_assert_eq(c.conn, several[(c.user_data - from) % CONNS]);
				next = c.user_data + 1;
				left--;
			}
			xiw_cqs_refill(e);
		} while (e->cq.overflow_n || e->cq.head != e->cq.tail);
		cr_assert_eq(left, 0, "%u: %lu left", numbers[k], (unsigned long)left);
		cr_assert(xiw_cq_heard(several[0]));
		/* As new connections at the same addresses. */
		for (uint32_t i = 0; i < CONNS; i++)
			several[i]->end.first_told =
				several[i]->uses.outlets[XIW_OUTLET_EVENTS].last_told = 0;
	}
	free_several();
}

/* A listener's event has only its number. */
Test(core_cq, none_of_a_freed_listener)
{
	struct xiw_listener a = { .engine = e }, b = { .engine = e };
	const struct xiw_completion for_a = { .user_data = 1, .event = XIW_EV_NOT_ACCEPTED };
	const struct xiw_completion for_b = { .user_data = 2, .event = XIW_EV_NOT_ACCEPTED };
	struct xiw_completion c;

	for (int i = 0; i < 3; i++) {
		xiw_complete_for(e, &a, &for_a);
		xiw_complete_for(e, &b, &for_b);
	}
	xiw_cq_forget(&e->cq, &a);
	for (int i = 0; i < 3; i++)
		cr_assert(xiw_engine_next(e, &c) && c.user_data == 2);
	cr_assert(!xiw_engine_next(e, &c));
}

/* For an event after the last one, a library built for tests stops the program; otherwise it drops the event. */
#ifdef XIW_CHECKS
Test(core_cq, nothing_after_closed, .signal = SIGABRT)
#else
Test(core_cq, nothing_after_closed)
#endif
{
	struct xiw_completion c;

	make_several();
	tell(0, XIW_EV_ERROR);
	tell(0, XIW_EV_CLOSED);
	tell(0, XIW_EV_ERROR);
	tell(1, XIW_EV_WRITTEN);
	for (int i = 0; i < 2; i++)
		cr_assert(xiw_engine_next(e, &c) && c.conn == several[0]);
	cr_assert_eq(c.event, XIW_EV_CLOSED);
	cr_assert(xiw_engine_next(e, &c) && c.conn == several[1]);
	cr_assert(!xiw_engine_next(e, &c));
	free_several();
}

/* No event is reported for a connection that the application has freed. */
Test(core_cq, nothing_of_a_freed_connection)
{
	struct xiw_completion c;

	make_several();
	several[0]->end.freed = true;
	tell(0, XIW_EV_CLOSED);
	cr_assert(!xiw_engine_next(e, &c));
	free_several();
}
