// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where the TCP receiver of a stretch begins: which timestamp counts as the newest one. */
#include <criterion/criterion.h>

#include "path/direct.c"
#include "tests/unit/direct_rig.h"

#define LATER_MS 5000000ull
#define NOW_S (LATER_MS / 1000 + 1) /* as xiw_egress writes it */

/* A stretch begins with a segment whose timestamp is so much older than TSVAL. Returns how much TS.Recent is, then. */
static uint32_t begins_with(uint32_t older)
{
	struct xiw_tcp_seg seg = { .seq = SEQ, .has_ts = true, .tsval = TSVAL - older };

	w.c.stretch.state = XIW_STRETCH_WAITS;
	w.flow.kernel_high = SEQ;
	rig_build();
	rig_lay();
	cr_assert(enter(&w.c, &packet_now, (const struct xiw_meta *)(const void *)frame, &seg));
	cr_assert_eq(w.c.stretch.state, XIW_STRETCH_RUNS);
	return TSVAL - w.c.tcp.ts_recent;
}

/* What is known of the last stretch, and of the socket: how much older than TSVAL, and for how long. */
static void known(uint32_t last, uint64_t last_ms, uint32_t socket, uint64_t socket_s)
{
	w.c.tcp.ts_recent = TSVAL - last;
	w.c.tcp.ts_recent_ms = LATER_MS - last_ms;
	w.flow.echoed = socket_s ? (NOW_S - socket_s + 1) << 32 | (uint32_t)(TSVAL - socket) : 0;
}

static void setup(void)
{
	shape = (struct shape){ .ts = true, .frags = 1 };
	rig_open();
	w.e.now_ms = LATER_MS;
}

TestSuite(path_enter, .init = setup, .fini = rig_close);

#define AGE_MS (XIW_TCP_PAWS_IDLE_MS + 2000)

/* RFC 7323 section 5.3: no older timestamp becomes the newest one, or others as old as it pass for new segments. */
Test(path_enter, an_older_timestamp_does_not_count)
{
	static const uint32_t older[] = { 1, 1000, 1u << 12, 1u << 24, 1u << 29, 1u << 31 };

	for (unsigned int i = 0; i < sizeof(older) / sizeof(older[0]); i++) {
		known(0, 0, 5, 1);
		cr_expect_eq(begins_with(older[i]), 0, "the last stretch's, %u", older[i]);
		known(5, 0, 0, 1);
		cr_expect_eq(begins_with(older[i]), 0, "the socket's, %u", older[i]);
		w.c.tcp = (struct xiw_tcp_rx){};
		w.flow.echoed = NOW_S << 32 | TSVAL;
		cr_expect_eq(begins_with(older[i]), 0, "the socket's alone, %u", older[i]);
	}
}

/* The time for which it counts goes on from where it was. */
Test(path_enter, the_newest_one_is_as_old_as_it_was)
{
	known(0, 7000, 5, 1);
	begins_with(0);
	cr_expect_eq(w.c.tcp.ts_recent_ms, LATER_MS - 7000);
	known(5, 0, 0, 9);
	begins_with(0);
	cr_expect(LATER_MS - w.c.tcp.ts_recent_ms >= 8000 &&
		  LATER_MS - w.c.tcp.ts_recent_ms < 10000);
}

/* RFC 7323 section 5.5: after such a time it is too old to compare with. */
Test(path_enter, one_of_an_age_ago_does_not_count)
{
	known(0, AGE_MS, 5, AGE_MS / 1000);
	cr_expect_eq(begins_with(1u << 30), 1u << 30);
	known(0, AGE_MS, 5, 1);
	cr_expect_eq(begins_with(1u << 30), 5);
	known(5, 0, 0, AGE_MS / 1000);
	cr_expect_eq(begins_with(1u << 30), 5);
}

/* No stretch was there before, and the socket has sent nothing: there is no newest timestamp. */
Test(path_enter, the_first_one_counts)
{
	w.c.tcp = (struct xiw_tcp_rx){};
	w.flow.echoed = 0;
	cr_expect_eq(begins_with(1u << 20), 1u << 20);
}

/*
 * A segment in front of the stretch has come again, and advanced the socket's TS.Recent, while those of the stretch
 * waited: they may be as old as what was the newest when it began, of the socket or of the last stretch.
 */
Test(path_enter, those_that_wait_are_judged_by_when_they_came)
{
	known(90, 0, 0, 1);
	w.flow.began_ts = TSVAL - 50;
	cr_expect_eq(begins_with(40), 0);
	cr_expect_eq(TSVAL - w.c.tcp.ts_oldest, 50, "the socket's");
	known(30, 0, 0, 1);
	cr_expect_eq(begins_with(20), 0);
	cr_expect_eq(TSVAL - w.c.tcp.ts_oldest, 30, "the last stretch's");
	known(90, 0, 0, 1);
	w.flow.began_ts = 0;
	begins_with(40);
	cr_expect_eq(w.c.tcp.ts_oldest, w.c.tcp.ts_recent, "not known");
	w.flow.began_ts = TSVAL + 5;
	known(90, 0, 0, 1);
	begins_with(40);
	cr_expect_eq(w.c.tcp.ts_oldest, w.c.tcp.ts_recent, "newer");
}
