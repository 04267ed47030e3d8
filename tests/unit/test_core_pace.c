// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When an engine looks on before it sleeps (user/core/pace.h). */
#include <criterion/criterion.h>

#include "core/pace.h"

static struct xiw_pace p;

/* The engine has waited: for a message that came after `ns`. */
static void ping(uint64_t ns)
{
	xiw_pace_slept(&p, ns);
	p.took = 1;
}

Test(core_pace, an_engine_sleeps_until_a_sleep_was_short)
{
	cr_assert(!xiw_pace_look(&p));
	ping(XIW_PACE_SOON_NS);
	cr_assert(!xiw_pace_look(&p));
	ping(XIW_PACE_SOON_NS - 1);
	cr_assert(xiw_pace_look(&p));
	xiw_pace_looked(&p, true, 1000);
	cr_assert(xiw_pace_look(&p), "it found something, and sleeps");
}

Test(core_pace, where_many_packets_come_it_sleeps)
{
	ping(1000);
	p.took = XIW_PACE_FEW + 1;
	cr_assert(!xiw_pace_look(&p));
	p.took = XIW_PACE_FEW;
	cr_assert(xiw_pace_look(&p), "it remembers packets from before the last wait");
}

/* What comes after 40 us never comes during a look. At most one wait in 65 is then preceded by one. */
Test(core_pace, looks_in_vain_become_rare)
{
	unsigned int looks = 0;

	for (int i = 0; i < 6500; i++) {
		ping(40000);
		if (xiw_pace_look(&p)) {
			xiw_pace_looked(&p, false, XIW_PACE_LOOK_NS);
			looks++;
		}
	}
	cr_expect_geq(looks, 90, "%u looks", looks);
	cr_expect_leq(looks, 110, "%u looks", looks);

	/* One that finds something is followed by others. */
	for (ping(1000); !xiw_pace_look(&p);)
		;
	xiw_pace_looked(&p, true, 1000);
	for (int i = 0; i < 100; i++) {
		cr_assert(xiw_pace_look(&p), "wait %d", i);
		xiw_pace_looked(&p, true, 1000);
	}
}

static unsigned int looks_that_take(uint64_t ns, int waits)
{
	unsigned int looks = 0;

	for (int i = 0; i < waits; i++) {
		ping(1000);
		if (xiw_pace_look(&p)) {
			xiw_pace_looked(&p, true, ns);
			looks++;
		}
	}
	return looks;
}

/* What came only when another thread had had the core for a while would have woken the engine sooner. */
Test(core_pace, looks_are_rare_where_others_want_the_core)
{
	unsigned int looks = looks_that_take(XIW_PACE_SOON_NS, 650);

	cr_expect_leq(looks, 20, "%u looks", looks);
}

Test(core_pace, looks_are_rarer_where_they_lose_the_core)
{
	unsigned int looks = looks_that_take(XIW_PACE_LOST_NS, 41000);

	cr_expect_geq(looks, 10, "%u looks", looks);
	cr_expect_leq(looks, 11, "%u looks", looks);
}

/* An application that answers some messages at once and is away for long with others is not relied on. */
Test(core_pace, prompt_only_if_never_late)
{
	xiw_pace_called(&p, XIW_PACE_PROMPT_NS - 1, true);
	cr_assert(p.prompt);
	xiw_pace_called(&p, XIW_PACE_PROMPT_NS, true);
	cr_assert(!p.prompt);
	xiw_pace_called(&p, 1000, true);
	cr_assert(p.prompt, "that was not long");
	xiw_pace_called(&p, XIW_PACE_LATE_NS, true);
	for (int i = 1; i < XIW_PACE_DOUBT; i++) {
		xiw_pace_called(&p, 1000, true);
		cr_assert(!p.prompt);
	}
	xiw_pace_called(&p, 1000, true);
	cr_assert(p.prompt);
}

/* Whoever was away for a moment is not late, and who was late is so for a while. */
Test(core_pace, late_after_it_has_stood_still)
{
	const uint64_t now = 123456789;

	xiw_pace_absent(&p, XIW_PACE_STILL_NS - 1, now);
	cr_assert(!xiw_pace_late(&p, now));
	xiw_pace_absent(&p, XIW_PACE_STILL_NS, now);
	cr_assert(xiw_pace_late(&p, now + XIW_PACE_AFTER_NS - 1));
	xiw_pace_absent(&p, XIW_PACE_STILL_NS - 1, now + 1000000);
	cr_assert(!xiw_pace_late(&p, now + XIW_PACE_AFTER_NS));
}

/* A program that polls memory keeps a core that it is offered for its time slice. */
Test(core_pace, after_a_long_yield_the_core_is_kept)
{
	p = (struct xiw_pace){};
	for (int i = 0; i < 100; i++) {
		cr_assert(xiw_pace_yield(&p));
		xiw_pace_yielded(&p, XIW_PACE_LOST_NS - 1);
	}
	cr_assert(xiw_pace_yield(&p));
	xiw_pace_yielded(&p, XIW_PACE_LOST_NS);
	for (int i = 0; i < XIW_PACE_LOST_SKIP; i++)
		cr_assert_not(xiw_pace_yield(&p), "%d", i);
	cr_assert(xiw_pace_yield(&p));
}
