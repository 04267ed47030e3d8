// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The start of a stretch: its frames wait until the socket has been read, and then it begins unless XDP has erred. */
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
