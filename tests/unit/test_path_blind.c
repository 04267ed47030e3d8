// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Segments of somebody who knows the addresses alone, on the direct path. They must not end the stretch, whatever
 * sequence number they guess. A peer that does not hear our ACKs repeats segments that differ from these in one point
 * each.
 */
#include <criterion/criterion.h>

/* The functions under test are static. */
#include "path/direct.c"
#include "path/fpdu.h"
#include "tests/unit/direct_rig.h"

enum { TRIES = 20, APART_MS = 150, FAR = 0x7fff0000 };

struct guess {
	uint32_t behind; /* how far its sequence number is behind the stream's */
	uint32_t ack;
	bool ts, ts_old;
};

/* The peer's segment that came last, as somebody else would send it. */
static void forge(const struct guess *g)
{
	uint8_t *tcp = frame + sizeof(struct xiw_meta) + l4;

	shape.ts = g->ts;
	rig_build();
	xiw_put_be32(tcp + XIW_TCP_OFF_SEQ, SEQ - g->behind);
	xiw_put_be32(tcp + XIW_TCP_OFF_ACK, g->ack);
	if (g->ts_old)
		xiw_put_be32(tcp + XIW_TCP_MIN + 4, TSVAL - 1000);
	rig_repair(true);
	rig_lay();
}

/* How often such a segment came before the stretch ended. */
static int endures(struct guess g)
{
	int n = 0;

	shape = (struct shape){ .frags = 1, .ts = true };
	rig_open();
	rig_build();
	rig_lay();
	packet(&w.q, &packet_now, &w.line);
	xiw_commit(&w.c);
	cr_assert_neq(w.c.tcp.rcv_nxt, SEQ);
	for (; n < TRIES && w.c.stretch.state == XIW_STRETCH_RUNS; n++) {
		w.e.now_ms += APART_MS;
		w.e.batch++;
		rig_rings();
		forge(&g);
		packet(&w.q, &packet_now, &w.line);
		xiw_commit(&w.c);
	}
	rig_close();
	return n;
}

Test(path_blind, sequence_numbers)
{
	cr_expect_eq(endures((struct guess){ .ack = 0xdeadbeef, .ts = true }), TRIES);
	cr_expect_eq(endures((struct guess){ .ack = SND }), TRIES);
	cr_expect_eq(endures((struct guess){ .ack = SND, .ts = true, .ts_old = true }), TRIES);
	cr_expect_eq(endures((struct guess){ .behind = FAR, .ack = SND, .ts = true }), TRIES);
}

Test(path_blind, the_peer_itself)
{
	cr_expect_lt(endures((struct guess){ .ack = SND, .ts = true }), TRIES);
}
