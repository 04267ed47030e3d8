// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The memory budget of an engine counts each octet once, in and out. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/budget.h"

static struct xiw_budget b;

static void setup(void)
{
	b = (struct xiw_budget){ .limit = 1000 };
}

TestSuite(core_budget, .init = setup);

Test(core_budget, the_limit_itself_is_to_be_had)
{
	cr_expect(xiw_budget_take(&b, 1000));
	cr_expect(!xiw_budget_take(&b, 1));
	cr_expect_eq(b.used, 1000);
	cr_expect_eq(b.refused, 1);
	xiw_budget_give(&b, 400);
	cr_expect(!xiw_budget_take(&b, 401));
	cr_expect(xiw_budget_take(&b, 400));
}

Test(core_budget, without_a_limit_nothing_is_refused)
{
	b.limit = 0;
	cr_expect(xiw_budget_take(&b, 1u << 30));
	cr_expect_eq(b.refused, 0);
}

Test(core_budget, a_size_that_would_wrap_is_refused)
{
	cr_expect(xiw_budget_take(&b, 10));
	cr_expect(!xiw_budget_take(&b, SIZE_MAX));
	cr_expect_eq(b.used, 10);
}

Test(core_budget, what_is_forced_makes_others_fail)
{
	xiw_budget_force(&b, 1500);
	cr_expect_eq(b.used, 1500);
	cr_expect(!xiw_budget_take(&b, 1));
	xiw_budget_give(&b, 600);
	cr_expect(xiw_budget_take(&b, 100));
	cr_expect_eq(b.most, 1500, "the most that was ever used");
}

Test(core_budget, memory_is_zero_and_counted)
{
	static const uint8_t zero[600];
	uint8_t *p = xiw_budget_alloc(&b, sizeof(zero));

	cr_assert(p);
	cr_expect_eq(memcmp(p, zero, sizeof(zero)), 0);
	cr_expect_eq(b.used, sizeof(zero));
	cr_expect_null(xiw_budget_alloc(&b, sizeof(zero)));
	xiw_budget_free(&b, NULL, 77);
	cr_expect_eq(b.used, sizeof(zero));
	xiw_budget_free(&b, p, sizeof(zero));
	cr_expect_eq(b.used, 0);
}

Test(core_budget, a_resize_counts_the_difference)
{
	uint8_t *p = xiw_budget_alloc(&b, 400), *q;

	cr_assert(p);
	p[0] = 9;
	q = xiw_budget_resize(&b, p, 400, 900);
	cr_assert(q);
	cr_expect_eq(b.used, 900);
	cr_expect_null(xiw_budget_resize(&b, q, 900, 1001));
	cr_expect_eq(b.used, 900);
	cr_expect_eq(q[0], 9, "a failure leaves the memory as it was");
	q = xiw_budget_resize(&b, q, 900, 100);
	cr_assert(q);
	cr_expect_eq(b.used, 100);
	xiw_budget_free(&b, q, 100);
	cr_expect_eq(b.used, 0);
}
