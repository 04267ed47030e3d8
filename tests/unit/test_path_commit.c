// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which ACKs of the direct path wait for the application's answer, and what becomes of them. */
#include <criterion/criterion.h>

#include "core/agenda.h"
#include "path/acks.h"
#include "path/direct.c"
#include "tests/unit/direct_rig.h"

/* So many segments come, each of the message that repeats. */
static void come(uint32_t n)
{
	for (; n; n--) {
		rig_lay();
		cr_assert(!packet(&w.q, &packet_now, &w.line));
		sent = (sent + PAYLOAD) % OCTETS;
		segments++;
		rig_build();
	}
	xiw_straight_end(&w.line);
}

/* An application that has answered at once is told of something. */
static void start(void)
{
	shape = (struct shape){ .ts = true, .frags = 1 };
	rig_open();
	rig_build();
	/* The first segments have been acknowledged. */
	come(2);
	xiw_commit(&w.c);
	cr_assert_eq(w.c.counts.acks_sent, 1);
	cr_assert(!w.c.handoff.telling_at);
	rig_rings();
	w.e.ready.pace.prompt = true;
	w.e.cqs.news = true;
}

static void expect_wait(const char *what)
{
	xiw_commit(&w.c);
	cr_assert_eq(w.c.counts.acks_sent, 1, "%s", what);
	cr_assert(w.c.handoff.telling_at, "%s", what);
}

static void expect_ack(const char *what)
{
	xiw_commit(&w.c);
	cr_assert_eq(w.c.counts.acks_sent, 2, "%s", what);
	cr_assert(!w.c.handoff.telling_at, "%s", what);
}

/* The answer is a segment of the socket's, to which xiw_egress has given our acknowledgement and window. */
static void answer(void)
{
	w.flow.acked = w.c.tcp.rcv_nxt;
	w.flow.direct_edge = w.c.tcp.rcv_nxt + w.c.tcp.window;
}

static void late(void)
{
	xiw_tell_socket_no_more(&w.c);
	xiw_acknowledge_late(&w.c);
}

Test(path_commit, answer_carries_ack)
{
	start();
	come(3);
	expect_wait("told");
	/* The application has taken its completions, and the engine looks again before it sends the answer. */
	w.e.cqs.news = false;
	expect_wait("answers");
	answer();
	late();
	cr_assert_eq(w.c.counts.acks_sent, 1);
	cr_assert_eq(w.c.tcp.pending, 0);
	cr_assert_eq(w.c.timer.ack_ms, XIW_NEVER);
	rig_close();
}

/* What the answer has not said of the window is said by an ACK. */
Test(path_commit, answer_without_window)
{
	start();
	w.c.tcp.buffer = 2 * PAYLOAD;
	come(3);
	expect_wait("told");
	w.flow.acked = w.c.tcp.rcv_nxt;
	late();
	cr_assert_eq(w.c.counts.acks_sent, 2);
	rig_close();
}

Test(path_commit, ack_without_answer)
{
	start();
	come(3);
	expect_wait("told");
	cr_assert_eq(w.c.timer.ack_ms, NOW_MS + w.c.tcp.delack_ms);
	late();
	cr_assert_eq(w.c.counts.acks_sent, 2);
	cr_assert_eq(w.flow.acks_sent, 2, "other processes read it there");
	cr_assert_eq(w.c.tcp.pending, 0);
	rig_close();
}

/* An answer that left before the last segments came has acknowledged only the first of them. */
Test(path_commit, answer_to_a_part)
{
	start();
	come(2);
	answer();
	come(2);
	expect_wait("told");
	late();
	cr_assert_eq(w.c.counts.acks_sent, 2);
	rig_close();
}

/* The delayed ACK of a single segment stays one. */
Test(path_commit, single_segment)
{
	start();
	come(1);
	xiw_commit(&w.c);
	cr_assert_eq(w.c.counts.acks_sent, 1);
	cr_assert(!w.c.handoff.telling_at);
	cr_assert_eq(w.c.timer.ack_ms, NOW_MS + w.c.tcp.delack_ms);
	xiw_acknowledge_late(&w.c);
	cr_assert_eq(w.c.counts.acks_sent, 1);
	rig_close();
}

Test(path_commit, acks_that_do_not_wait)
{
	start();
	come(3);
	rig_rings();
	w.e.cqs.news = false;
	expect_ack("nobody was told");
	rig_close();

	start();
	come(3);
	w.e.ready.pace.prompt = false;
	expect_ack("the application was slow");
	rig_close();

	start();
	come(5);
	expect_ack("many segments");
	rig_close();

	start();
	come(3);
	w.c.tcp.ack_flags |= XIW_TCP_ACK_SOON;
	expect_ack("an ACK that says more");
	rig_close();

	start();
	come(3);
	w.e.now_ms += w.c.tcp.delack_ms;
	expect_ack("too late");
	rig_close();
}

/* A stretch that XDP has ended sends no ACK, and the next turn learns of it. */
Test(path_commit, ownership_lost)
{
	start();
	come(3);
	expect_wait("told");
	w.flow.owner = 0;
	late();
	cr_assert_eq(w.c.counts.acks_sent, 1);
	cr_assert_eq(w.c.timer.ack_ms, 0);
	rig_close();
}

/* XDP has ended a stretch that has nothing to commit. A delayed ACK of it must not follow. */
Test(path_commit, ownership_lost_without_movement)
{
	start();
	come(1);
	xiw_commit(&w.c);
	cr_assert_eq(w.c.counts.acks_sent, 1, "the ACK is delayed");
	w.flow.owner = xiw_owner_pack(0, EPOCH + 1, XIW_PATH_KERNEL);
	w.e.now_ms += w.c.tcp.delack_ms;
	w.e.batch++;
	xiw_commit(&w.c);
	cr_assert_eq(w.c.stretch.state, XIW_STRETCH_OFF);
	cr_assert_eq(w.c.counts.went_kernel, 1);
	cr_assert_eq(w.c.counts.acks_sent, 1);
	cr_assert_eq(w.c.timer.ack_ms, XIW_NEVER);
	cr_assert_eq(w.c.recv.nxt, w.c.tcp.rcv_nxt);
	cr_assert_eq(w.c.recv.skip, 0);
	rig_close();
}

/* The engine looks again between the answer and the ACK, and what is left to say is the window alone. */
Test(path_commit, window_after_another_look)
{
	start();
	w.c.tcp.buffer = 2 * PAYLOAD;
	come(3);
	expect_wait("told");
	w.flow.acked = w.c.tcp.rcv_nxt;
	w.e.cqs.news = false;
	expect_wait("looks again");
	late();
	cr_assert_eq(w.c.counts.acks_sent, 2);
	rig_close();
}

/* The socket has not seen the octets, so it would not acknowledge them before the peer sends them again. */
Test(path_commit, falls_back)
{
	start();
	come(3);
	expect_wait("told");
	xiw_fall_back(&w.c, XIW_REASON_NO_BUFFER, NULL);
	cr_assert_eq(w.c.counts.acks_sent, 2);
	cr_assert_eq(w.c.tcp.pending, 0);
	rig_close();
}

/*
 * A stretch begins while more than 64 KiB of ours are in flight. The socket is told what the peer has acknowledged,
 * and no octet more: it would never send that one again.
 */
Test(path_commit, stretch_with_much_in_flight)
{
	start();
	w.flow.snd_nxt = SND + 200000;
	w.c.reg.sock.snd_wscale = 7;
	w.c.stretch.state = XIW_STRETCH_WAITS;
	w.c.stretch.committed = w.c.recv.nxt = w.c.tcp.rcv_nxt;
	w.flow.kernel_high = w.c.tcp.rcv_nxt;
	w.c.timer.alive_ms = NOW_MS; /* the socket is to hear that the peer is alive */
	come(1);
	cr_assert_eq(w.c.stretch.state, XIW_STRETCH_RUNS);
	cr_assert_eq(w.c.tcp.snd_una, SND);
	cr_assert(w.c.tcp.feedback_due & XIW_TCP_FEEDBACK_ACK);
	xiw_commit(&w.c);
	cr_assert_eq(w.c.tcp.feedback.ack, SND);
	rig_close();
}

/*
 * XDP takes the stream back while it falls back, and a new stretch begins and falls back in the same turn: the
 * connection is on the list of those that do once.
 */
Test(path_commit, falls_back_twice)
{
	start();
	come(1);
	xiw_fall_back(&w.c, XIW_REASON_MISALIGNED, NULL);
	cr_assert_eq(w.e.agenda.falling_back, &w.c);
	w.flow.owner = xiw_owner_pack(0, EPOCH + 1, XIW_PATH_KERNEL);
	xiw_ownership_lost(&w.c);
	cr_assert_eq(w.e.agenda.falling_back, NULL);
	w.c.stretch.epoch = EPOCH + 3;
	w.c.stretch.state = XIW_STRETCH_RUNS;
	w.flow.owner = xiw_owner_pack(w.c.stretch.committed, EPOCH + 3, XIW_PATH_DIRECT);
	xiw_fall_back(&w.c, XIW_REASON_MISALIGNED, NULL);
	cr_assert_eq(w.e.agenda.falling_back, &w.c);
	cr_assert_eq(w.c.handoff.next_falling_back, NULL);
	xiw_fall_back_finish(&w.c);
	cr_assert_eq(w.e.agenda.falling_back, NULL);
	cr_assert_eq(w.c.stretch.state, XIW_STRETCH_OFF);
	rig_close();
}
