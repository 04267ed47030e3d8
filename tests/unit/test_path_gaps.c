// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* While frames are short, a stream that keeps some and stands still gives them to its socket. */
#include <criterion/criterion.h>
#include <string.h>

#include "path/gaps.h"
#include "path/progress.h"
#include "tests/unit/stretch_rig.h"

enum { KEPT = 4, LOOK_MS = 1000, LOOKS = 5, NOW_MS = 5000 };

static struct stretch t;
static struct xiw_kept kept[KEPT];
static struct xiw_rxq q;
static uint64_t free_frames[KEPT];

/* The stream stands at `at`, and the segments of `n` nodes are kept behind a gap of 10 segments. */
static void keep(uint32_t at, int n)
{
	struct xiw_segment s = stretch_segment(&t, at + 10 * LEN, LEN);

	t.c.tcp.rcv_nxt = at;
	t.c.tcp.keep_head = n ? &kept[1].node : NULL;
	for (int i = 1; i <= n; i++)
		kept[i] = (struct xiw_kept){
			.node = { .next = i < n ? &kept[i + 1].node : NULL,
				  .seq = at + (uint32_t)(9 + i) * LEN,
				  .len = LEN },
			.packet = *s.packet,
			.meta = *s.meta,
			.rxq = &q,
			.conn = &t.c,
			.frames = 1,
		};
}

static void setup(void)
{
	stretch_begin(&t);
	memset(kept, 0, sizeof(kept));
	q = (struct xiw_rxq){ .xsk.free = free_frames };
	t.c.keeps.gap_end = AT;
	t.e.pools.kept = kept;
	t.e.pools.kept_total = KEPT;
	t.e.now_ms = NOW_MS;
	keep(AT, 2);
}

TestSuite(path_gaps, .init = setup);

/* Somebody finds no room, and so much later the engine looks. */
static void look_after(unsigned int ms, bool is_short)
{
	t.e.now_ms += ms;
	t.e.pools.kept_short = is_short;
	xiw_gaps_look(&t.e);
}

static bool gave_way(void)
{
	return t.c.stretch.state == XIW_STRETCH_ENDS && t.c.handoff.reason == XIW_REASON_GAP;
}

Test(path_gaps, one_that_stands_still_gives_way)
{
	look_after(0, true);
	cr_expect(xiw_stretch_live(&t.c), "two frames of it are seen in one look");
	look_after(LOOK_MS - 1, true);
	cr_expect(xiw_stretch_live(&t.c));
	look_after(1, true);
	cr_expect(gave_way());
}

Test(path_gaps, one_that_moves_stays)
{
	for (uint32_t i = 0; i < 600; i++) {
		keep(AT + i * 12 * LEN, 2);
		look_after(LOOK_MS, true);
	}
	cr_expect(xiw_stretch_live(&t.c));
}

/* It gets nearer to the end of its gap with each look, and never there. */
Test(path_gaps, one_that_trickles_gives_way)
{
	look_after(0, true);
	for (int i = 1; i < LOOKS; i++) {
		t.c.tcp.rcv_nxt++;
		look_after(LOOK_MS, true);
		cr_expect(xiw_stretch_live(&t.c));
	}
	t.c.tcp.rcv_nxt++;
	look_after(LOOK_MS, true);
	cr_expect(gave_way());
}

Test(path_gaps, one_that_takes_some_looks_stays)
{
	for (uint32_t i = 0; i < 600; i++) {
		keep(AT + i * 12 * LEN, 2);
		for (int k = 1; k < LOOKS; k++) {
			t.c.tcp.rcv_nxt++;
			look_after(LOOK_MS, true);
		}
	}
	cr_expect(xiw_stretch_live(&t.c));
}

Test(path_gaps, no_gap_is_too_long_as_long_as_there_is_room)
{
	for (int i = 0; i < 600; i++)
		look_after(LOOK_MS, false);
	cr_expect(xiw_stretch_live(&t.c));
}

/* A peer that is refused now and then must not wait for those that stand still all the time. */
Test(path_gaps, what_was_seen_is_not_forgotten_between_two_shortages)
{
	look_after(0, true);
	look_after(LOOK_MS, false);
	look_after(5 * LOOK_MS, false);
	cr_expect(xiw_stretch_live(&t.c));
	look_after(1, true);
	cr_expect(gave_way());
}

Test(path_gaps, one_that_keeps_nothing_has_nothing_to_give)
{
	kept[1].frames = kept[2].frames = 0;
	look_after(0, true);
	look_after(LOOK_MS, true);
	cr_expect(xiw_stretch_live(&t.c));
}
