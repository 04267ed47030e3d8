// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How much of what peers cause is shown, and that what is not shown is counted. */
#include <criterion/criterion.h>

#include "tools/xiwarp/exit.c"
#include "tools/xiwarp/telling.c"
#include "tools/xiwarp/text.c"

#define BEGIN 1000000000000ull

static unsigned int shown(struct xiw_telling *t, unsigned int n, uint64_t now_ns)
{
	unsigned int shows = 0;

	while (n--)
		shows += xiw_telling_take(t, now_ns);
	return shows;
}

Test(tool_telling, a_few_are_shown_at_once)
{
	struct xiw_telling t = {};

	cr_expect_eq(xiw_telling_rest(&t, BEGIN, false), 0);
	cr_expect_eq(shown(&t, MOST, BEGIN), MOST);
	cr_expect_eq(xiw_telling_rest(&t, BEGIN + SPAN_NS, false), 0);
	cr_expect_eq(shown(&t, MOST, BEGIN + SPAN_NS), MOST);
}

Test(tool_telling, the_rest_is_counted)
{
	struct xiw_telling t = {};

	cr_expect_eq(shown(&t, 300, BEGIN), MOST);
	cr_expect_eq(xiw_telling_rest(&t, BEGIN + SPAN_NS - 1, false), 0);
	cr_expect_eq(shown(&t, 1, BEGIN + SPAN_NS - 1), 0);
	cr_expect_eq(xiw_telling_rest(&t, BEGIN + SPAN_NS, false), 301 - MOST);
	cr_expect_eq(xiw_telling_rest(&t, BEGIN + SPAN_NS, true), 0);
}

/* The time counts from the first that is shown, however long nothing came before. */
Test(tool_telling, a_minute_has_a_hundred)
{
	struct xiw_telling t = {};
	unsigned int shows = 0, left_out = 0;

	for (uint64_t ms = 0; ms < 60000; ms++) {
		left_out += xiw_telling_rest(&t, BEGIN + ms * 1000000, false);
		shows += shown(&t, 1, BEGIN + ms * 1000000);
	}
	left_out += xiw_telling_rest(&t, BEGIN + 60000000000ull, true);
	cr_expect_eq(shows, 100);
	cr_expect_eq(left_out, 60000 - 100);
}

Test(tool_telling, the_end_says_all)
{
	struct xiw_telling t = {};

	shown(&t, MOST + 1, BEGIN);
	cr_expect_eq(xiw_telling_rest(&t, BEGIN, true), 1);
}
