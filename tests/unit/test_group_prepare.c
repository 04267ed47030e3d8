// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Engines of a group open their interfaces one after the other. What that comes to is made up here. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <xiwarp/engine.h>

static int prepare(struct xiw_engine *e, const struct sockaddr *addr, char *why, size_t len);

#define xiw_engine_prepare prepare
#include "group/group.c"

#define ENGINES 4

static uint32_t waited[ENGINES];
static unsigned int prepared;

/* Each one waits for 300 ms, in vain. */
static int prepare(struct xiw_engine *e, const struct sockaddr *addr, char *why, size_t len)
{
	(void)addr;
	snprintf(why, len, "busy");
	waited[prepared++] = e->unready.waited_ms;
	e->unready.waited_ms += 300;
	return -EBUSY;
}

/* Many engines would make the start slow. */
Test(group_prepare, what_one_has_waited_for_the_others_do_not)
{
	struct xiw_group *g = calloc(1, sizeof(*g));
	char why[64];

	cr_assert(g);
	g->n = ENGINES;
	for (int i = 0; i < ENGINES; i++) {
		/* One has been destroyed. */
		g->engines[i] = i == 1 ? NULL : calloc(1, sizeof(*g->engines[i]));
		cr_assert(i == 1 || g->engines[i]);
	}
	for (int again = 0; again < 2; again++) {
		prepared = 0;
		cr_expect_eq(xiw_group_prepare(g, NULL, why, sizeof(why)), -EBUSY);
		cr_expect_eq(prepared, ENGINES - 1);
		for (uint32_t i = 0; i < prepared; i++)
			cr_expect_eq(waited[i], i * 300);
	}
	for (int i = 0; i < ENGINES; i++)
		free(g->engines[i]);
	free(g);
}
