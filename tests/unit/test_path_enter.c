// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where the TCP receiver of a stretch begins: which timestamp counts as the newest one. */
#include <criterion/criterion.h>

#include "path/direct.c"
#include "tests/unit/direct_rig.h"

/* A stretch begins with a segment whose timestamp is so much older than the last stretch's newest one. */
static uint32_t begins_with(uint32_t older)
{
	struct xiw_tcp_seg seg = { .seq = SEQ, .has_ts = true, .tsval = TSVAL - older };

	w.c.tcp.ts_recent = TSVAL;
	w.c.stretch.state = XIW_STRETCH_WAITS;
	rig_build();
	rig_lay();
	cr_assert(enter(&w.c, &packet_now, (const struct xiw_meta *)(const void *)frame, &seg));
	cr_assert_eq(w.c.stretch.state, XIW_STRETCH_RUNS);
	return TSVAL - w.c.tcp.ts_recent;
}

static void setup(void)
{
	shape = (struct shape){ .ts = true, .frags = 1 };
	rig_open();
}

TestSuite(path_enter, .init = setup, .fini = rig_close);

/* An old duplicate's timestamp must not become the newest one, or others as old as it pass for new segments. */
Test(path_enter, an_older_timestamp_does_not_count)
{
	cr_expect_eq(begins_with(1u << 12), 0);
	cr_expect_eq(begins_with((1u << 12) + (1u << 24) - 1), 0);
}

/* Segments may overtake each other. */
Test(path_enter, one_that_is_a_little_older_counts)
{
	cr_expect_eq(begins_with(0), 0);
	cr_expect_eq(begins_with((1u << 12) - 1), (1u << 12) - 1);
	cr_expect_eq(begins_with(-7u), -7u);
}

/* After a long time in the kernel's hands the last stretch's timestamp is too old to say anything. */
Test(path_enter, one_that_is_an_age_older_counts)
{
	cr_expect_eq(begins_with((1u << 12) + (1u << 24)), (1u << 12) + (1u << 24));
}

/* No stretch was there before: there is no newest timestamp. */
Test(path_enter, the_first_one_counts)
{
	w.c.tcp = (struct xiw_tcp_rx){};
	cr_expect_eq(begins_with(1u << 20), 1u << 20);
}
