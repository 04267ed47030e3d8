// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The start of a stretch. Its frames wait until the socket has been read. Then it begins, unless the socket was given
 * octets of it.
 */
#include <criterion/criterion.h>

#include "path/direct.c"
#include "tests/unit/direct_rig.h"

/* XDP has begun a stretch at SEQ, and the engine has yet to read so many octets from the socket. */
static void start(uint32_t unread)
{
	shape = (struct shape){ .ts = true, .frags = 1 };
	rig_open();
	w.c.stretch.state = XIW_STRETCH_WAITS;
	w.c.recv.nxt = SEQ - unread;
	w.c.keeps.waiting_end = &w.c.keeps.waiting;
	rig_build();
}

/* The peer's segment comes at this place of the stream. Returns whether its frame is kept. */
static bool comes_at(uint32_t seq)
{
	xiw_put_be32(frame + sizeof(struct xiw_meta) + l4 + XIW_TCP_OFF_SEQ, seq);
	rig_repair(true);
	rig_lay();
	return packet(&w.q, &packet_now, &w.line);
}

/* Otherwise anybody who knows the addresses could use up the frames, at any sequence number. */
Test(path_stretch, frames_beyond_the_window_do_not_wait)
{
	start(100);
	w.flow.kernel_edge = SEQ + OCTETS;
	cr_expect(!comes_at(SEQ + 4 * OCTETS + 1));
	cr_expect_null(w.c.keeps.waiting);
	cr_expect_eq(w.c.counts.segs_dropped, 1);
	cr_expect(comes_at(SEQ + 4 * OCTETS), "the window's last");
	cr_expect_not_null(w.c.keeps.waiting);
	cr_expect_eq(w.c.counts.segs_dropped, 1);
	cr_expect_eq(w.c.stretch.state, XIW_STRETCH_WAITS);
	rig_close();
}

/* A CPU gave the kernel octets beyond SEQ while another one began the stretch there: the socket has them already. */
Test(path_stretch, the_kernel_has_octets_of_it)
{
	start(0);
	w.flow.kernel_high = SEQ + 100;
	cr_expect(!comes_at(SEQ));
	cr_expect_eq(w.c.stretch.state, XIW_STRETCH_ENDS);
	cr_expect_eq(w.c.handoff.reason, XIW_REASON_RACE);
	cr_expect_eq(w.c.counts.injected, 1, "the socket gets the frame");
	cr_expect_eq(w.c.counts.fpdus, 0);
	rig_close();

	start(0);
	cr_expect(!comes_at(SEQ));
	cr_expect_eq(w.c.stretch.state, XIW_STRETCH_RUNS);
	cr_expect_eq(w.c.counts.fpdus, 1);
	rig_close();
}

/* Its sender may have sent one segment alone, and waits for the ACK before it sends on. */
Test(path_stretch, its_first_segment_is_acknowledged_at_once)
{
	start(0);
	cr_expect(!comes_at(SEQ));
	cr_expect_eq(w.c.tcp.pending_segs, 1);
	cr_expect(xiw_tcp_rx_ack_due(&w.c.tcp, w.e.now_ms, true));
	rig_close();
}
