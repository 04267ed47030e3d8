// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the socket gets of the frames that are not, or no longer, the direct path's. */
#include <criterion/criterion.h>

#include "tests/unit/direct_rig.h"

static uint64_t
	meanwhile; /* XDP's owner word from the moment at which kernel_high is raised; 0: as before */

/* This stands in front of xiw_inject_raise_high(). */
static void raise_high(struct xiw_conn *c, const struct xiw_packet *p, const struct xiw_meta *meta);

#include "path/inject.h"
#define xiw_inject_raise_high raise_high
#include "path/fallback.c"
#undef xiw_inject_raise_high

static void raise_high(struct xiw_conn *c, const struct xiw_packet *p, const struct xiw_meta *meta)
{
	xiw_inject_raise_high(c, p, meta);
	if (meanwhile)
		w.flow.owner = meanwhile;
}

static void start(void)
{
	shape = (struct shape){ .ts = true, .frags = 1 };
	rig_open();
	rig_build();
	rig_lay();
}

/* The packet that comes next has met congestion. */
static void mark_ce(void)
{
	frame[sizeof(struct xiw_meta) + l3 + XIW_IP4_OFF_TOS] |= XIW_ECN_CE;
	rig_repair(true);
	rig_lay();
}

/* A frame of another epoch comes while the owner word is this one, and then `then`. Returns whether it is injected. */
static bool is_injected(uint64_t owner, uint64_t then)
{
	uint64_t injected, dropped;

	start();
	mark_ce();
	w.c.stretch.state = XIW_STRETCH_OFF;
	w.flow.owner = owner;
	meanwhile = then;
	xiw_stale_segment(&w.c, &packet_now, xiw_packet_meta(&packet_now, NFLOWS));
	injected = w.c.counts.injected;
	dropped = w.c.counts.segs_dropped;
	cr_expect_eq(injected + dropped, 1);
	cr_expect_eq(xiw_ece_of(w.flow.ece) == XIW_ECE_ON, injected);
	cr_expect(!injected || w.flow.kernel_high == SEQ + fpdu_len);
	rig_close();
	meanwhile = 0;
	return injected;
}

/*
 * XDP begins a stretch while the engine looks at the frame, at a kernel_high that does not cover it. If the socket got
 * the frame, it would have octets of the stretch.
 */
Test(path_fallback, stale_frames)
{
	const uint64_t armed = xiw_owner_pack(0, EPOCH + 2, XIW_PATH_ARMED),
		       kernel = xiw_owner_pack(0, EPOCH + 1, XIW_PATH_KERNEL),
		       direct = xiw_owner_pack(SEQ, EPOCH + 3, XIW_PATH_DIRECT);

	cr_expect(is_injected(kernel, 0));
	cr_expect(is_injected(armed, 0));
	cr_expect(!is_injected(direct, 0));
	cr_expect(!is_injected(armed, direct));
}

/* RFC 3168 section 6.1.3: xiw_egress echoes the mark, which the receiver of the direct path has not seen. */
Test(path_fallback, marks_of_frames_that_wait)
{
	const struct xiw_segment s = { &packet_now, (struct xiw_meta *)(void *)frame };

	start();
	mark_ce();
	w.c.stretch.state = XIW_STRETCH_WAITS;
	w.c.stretch.rxq = &w.q;
	w.q.out = &w.q.xsk;
	w.c.recv.nxt = SEQ - 100;
	w.c.keeps.waiting_end = &w.c.keeps.waiting;
	cr_assert(xiw_patience_keep(&w.c, &s));
	cr_expect_eq(w.flow.ece, 0);
	xiw_fall_back(&w.c, XIW_REASON_WATCHDOG, NULL);
	cr_expect_null(w.c.keeps.waiting);
	cr_expect_eq(w.c.counts.injected, 1);
	cr_expect_eq(w.flow.ece, xiw_ece_pack(EPOCH, XIW_ECE_ON));
	rig_close();
}
