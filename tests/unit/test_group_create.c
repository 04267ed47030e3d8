// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Options of a group: how many engines there are, and how they share queues and limits. */
#include <errno.h>
#include <sched.h>

#include <criterion/criterion.h>
#include <xiwarp/xiwarp.h>

#include "core/engine.h"

static struct xiw_engine_opts eo;
static struct xiw_group_opts go;
static struct xiw_group *g;

static void set_up(void)
{
	eo = (struct xiw_engine_opts){ .size = sizeof(eo), .path = XIW_USE_KERNEL };
	go = (struct xiw_group_opts){ .size = sizeof(go), .engines = 4, .engine = &eo };
}

TestSuite(group, .init = set_up, .timeout = 60);

static const struct xiw_engine_opts *opts_of(unsigned int i)
{
	return &xiw_group_engine(g, i)->opts;
}

Test(group, queues_are_dealt_out)
{
	cr_assert(!xiw_group_create(&go, &g));
	cr_expect_eq(xiw_group_engines(g), 4);
	for (unsigned int i = 0; i < 4; i++)
		cr_expect_eq(opts_of(i)->queues, 0x1111111111111111ull << i);
	cr_expect_null(xiw_group_engine(g, 4));
	cr_expect(!xiw_group_destroy(g));
}

Test(group, queues_of_the_engines_options)
{
	eo.queues = 0xf0;
	go.engines = 2;
	cr_assert(!xiw_group_create(&go, &g));
	cr_expect_eq(opts_of(0)->queues, 0x50);
	cr_expect_eq(opts_of(1)->queues, 0xa0);
	cr_expect(!xiw_group_destroy(g));
}

Test(group, queues_given)
{
	const uint64_t queues[] = { 0x8, 0x7, 0xf0, 0x100 };

	go.queues = queues;
	cr_assert(!xiw_group_create(&go, &g));
	for (unsigned int i = 0; i < 4; i++)
		cr_expect_eq(opts_of(i)->queues, queues[i]);
	cr_expect(!xiw_group_destroy(g));
}

Test(group, one_engine_has_all)
{
	go.engines = 1;
	cr_assert(!xiw_group_create(&go, &g));
	cr_expect_eq(opts_of(0)->queues, 0);
	cr_expect(!xiw_group_destroy(g));
}

Test(group, limits_are_divided)
{
	eo.max_unstarted = 10;
	cr_assert(!xiw_group_create(&go, &g));
	for (unsigned int i = 0; i < 4; i++)
		cr_expect_eq(opts_of(i)->max_unstarted, 3);
	cr_expect(!xiw_group_destroy(g));
}

Test(group, no_more_engines_than_cpus)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	cr_assert(!sched_setaffinity(0, sizeof(one), &one));
	go.engines = 0;
	eo.queues = 0xff;
	cr_assert(!xiw_group_create(&go, &g));
	cr_expect_eq(xiw_group_engines(g), 1);
	cr_expect(!xiw_group_destroy(g));
}

Test(group, mistakes)
{
	const uint64_t twice[] = { 1, 2, 4, 6 }, none[] = { 1, 2, 0, 4 };

	go.queues = twice;
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	go.queues = none;
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	go.engines = 0;
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	set_up();
	go.engines = XIW_GROUP_ENGINES_MAX + 1;
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	set_up();
	go.size = 0;
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	set_up();
	go.reserved = 1;
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	set_up();
	eo.size = 1;
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	set_up();
	eo.queues = 3; /* fewer than engines */
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	cr_expect(!xiw_group_destroy(NULL));
}
