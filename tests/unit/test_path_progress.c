// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Repeated refusals end the direct path, however rarely the peer sends and whatever place the segments have. */
#include <criterion/criterion.h>

#include "path/arm.h"
#include "path/direct.c"
#include "path/kernel.h"
#include "tests/unit/stretch_rig.h"

static struct stretch t;
static struct xiw_engine *const e = &t.e;
static struct xiw_conn *const c = &t.c;
static struct xiw_flow *const flow = &t.flow;
static struct xiw_segment s;
static struct xiw_tcp_seg seg;

static void setup(void)
{
	stretch_begin(&t);
}

TestSuite(path_progress, .init = setup);

static void comes(uint32_t seq, uint32_t len)
{
	s = stretch_segment(&t, seq, len);
	seg = (struct xiw_tcp_seg){ .seq = seq };
}

static void is_damaged(uint32_t seq, uint32_t len)
{
	comes(seq, len);
	damaged(c, &s, &seg, XIW_REASON_CHECKSUM);
}

static void waits_for_socket(uint32_t seq, uint32_t len)
{
	comes(seq, len);
	wait_for_socket(c, &s, &seg);
}

static void is_refused(uint32_t seq, uint32_t len)
{
	comes(seq, len);
	c->tcp.last_drop = XIW_TCP_DROP_DUP;
	refused(c, &s, &seg);
}

static void begins_to_drain(uint32_t read)
{
	c->stretch.state = XIW_STRETCH_WAITS;
	c->recv.nxt = read;
	c->keeps.waiting_end = &c->keeps.waiting;
}

static void ends(void (*how)(uint32_t, uint32_t), uint32_t seq, uint32_t len, enum xiw_reason why)
{
	how(seq, len);
	cr_assert(c->stretch.state != XIW_STRETCH_ENDS, "at the first time");
	e->now_ms += 250;
	how(seq, len);
	cr_assert(c->stretch.state == XIW_STRETCH_ENDS, "seq %u, reason %d: not at the second time",
		  seq, why);
	cr_assert_eq(c->handoff.reason, why);
}

static void is_the_kernels(void)
{
	c->stretch.state = XIW_STRETCH_OFF;
	c->state = XIW_OPEN;
	c->progress.inject_works = true;
	flow->lo_segs = (uint32_t)c->counts.injected;
	flow->owner = xiw_owner_pack(0, c->stretch.epoch + 1, XIW_PATH_KERNEL);
}

static bool arms(void)
{
	xiw_try_arm(c, 1);
	return xiw_owner_path(xiw_flow_owner(flow)) == XIW_PATH_ARMED;
}

Test(path_progress, damaged_segments_that_the_stream_waits_for)
{
	ends(is_damaged, AT, LEN, XIW_REASON_CHECKSUM);
}

Test(path_progress, damaged_segments_that_the_peer_has_heard_nothing_of)
{
	ends(is_damaged, AT - LEN, LEN, XIW_REASON_CHECKSUM);
}

Test(path_progress, damaged_segments_of_a_stretch_that_is_not_entered)
{
	begins_to_drain(AT - LEN);
	ends(is_damaged, AT - 3 * LEN, LEN, XIW_REASON_CHECKSUM);
}

/* The pseudo header's sum in the field is no accident, so one such segment is enough, if it is in its place. */
static void is_unfinished(uint32_t seq, uint32_t len)
{
	uint64_t pseudo;
	uint16_t sum;

	comes(seq, len);
	pseudo = xiw_packet_pseudo(&t.packet, &t.meta);
	sum = xiw_csum_fold(pseudo);
	memcpy(t.frame + t.meta.l4_off + XIW_TCP_OFF_CSUM, &sum, sizeof(sum));
	damaged(c, &s, &seg, XIW_REASON_CHECKSUM);
}

Test(path_progress, an_unfinished_checksum)
{
	is_unfinished(AT + LEN, LEN);
	cr_assert(c->stretch.state == XIW_STRETCH_RUNS, "anybody can send that");
	is_unfinished(AT, LEN);
	cr_assert(c->stretch.state == XIW_STRETCH_ENDS);
	cr_assert_eq(flow->barred, XIW_REASON_CHECKSUM);
	cr_assert_eq(c->counts.injected, 0, "nobody has verified it");
}

Test(path_progress, an_unfinished_checksum_at_the_start_of_a_stretch)
{
	begins_to_drain(AT - LEN);
	is_unfinished(AT, LEN);
	cr_assert(c->stretch.state == XIW_STRETCH_ENDS);
	cr_assert_eq(flow->barred, XIW_REASON_CHECKSUM);
}

/* Refusals for another cause do not count: anybody can send such segments, as often as they like. */
Test(path_progress, other_causes_in_between)
{
	for (int i = 0; i < 2; i++) {
		is_refused(AT, LEN);
		e->now_ms += 100;
		is_damaged(AT, LEN);
		e->now_ms += 100;
	}
	cr_assert(c->stretch.state == XIW_STRETCH_ENDS);
}

/* That far back the peer has nothing that is not acknowledged. */
Test(path_progress, damaged_segments_from_far_away)
{
	for (int i = 0; i < 3; i++, e->now_ms += 250)
		is_damaged(AT - 200000, LEN);
	cr_assert(c->stretch.state != XIW_STRETCH_ENDS);
}

/* A third host guesses a place in the window, but not the clocks of both ends. */
Test(path_progress, damaged_segments_with_timestamps_that_are_not_the_peers)
{
	static const struct {
		bool has_ts;
		int32_t tsval, tsecr; /* from the last one that was accepted, and from ours, on */
		bool peers;
	} cases[] = {
		{ false, 0, 0, false }, { true, -1, 0, false },
		{ true, 0, 1, false },	{ true, 0, -(1 << 28), false },
		{ true, 0, 0, true },	{ true, 1000, -100000, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		setup();
		c->tcp.flags |= XIW_TCP_RX_TS;
		for (int n = 0; n < 2; n++, e->now_ms += 250) {
			comes(AT - LEN, LEN);
			seg.has_ts = cases[i].has_ts;
			seg.tsval = c->tcp.ts_recent + (uint32_t)cases[i].tsval;
			seg.tsecr =
				xiw_sock_tsval(&c->reg.sock, e->now_ns) + (uint32_t)cases[i].tsecr;
			damaged(c, &s, &seg, XIW_REASON_CHECKSUM);
		}
		cr_expect_eq(c->stretch.state == XIW_STRETCH_ENDS, cases[i].peers, "%zu", i);
	}
}

/* A segment without octets has a place too. */
Test(path_progress, a_damaged_fin)
{
	ends(is_damaged, AT, 0, XIW_REASON_CHECKSUM);
}

Test(path_progress, injected_octets_that_the_socket_waits_for)
{
	begins_to_drain(AT - LEN);
	ends(waits_for_socket, AT - LEN, LEN, XIW_REASON_INJECT);
}

Test(path_progress, injected_octets_that_the_socket_has_acknowledged)
{
	begins_to_drain(AT - LEN);
	ends(waits_for_socket, AT - 2 * LEN, LEN, XIW_REASON_INJECT);
}

Test(path_progress, octets_that_come_again_after_they_were_acknowledged)
{
	ends(is_refused, AT - LEN, LEN, XIW_REASON_UNHEARD);
}

/* A peer may cut its oldest octets differently each time. */
Test(path_progress, octets_that_come_again_in_other_segments)
{
	is_refused(AT - 3 * LEN, LEN);
	e->now_ms += 250;
	is_refused(AT - 3 * LEN, 2 * LEN);
	cr_assert(c->stretch.state == XIW_STRETCH_ENDS);
}

Test(path_progress, old_segments_of_any_place_show_nothing)
{
	for (uint32_t i = 0; i < 10; i++, e->now_ms += 250)
		is_refused(AT - 5 * LEN + i % 3 * LEN, LEN);
	cr_assert(c->stretch.state != XIW_STRETCH_ENDS);
}

Test(path_progress, what_is_ahead_of_the_stream_shows_nothing)
{
	for (int i = 0; i < 10; i++, e->now_ms += 250)
		is_damaged(AT + 1, LEN);
	cr_assert(c->stretch.state != XIW_STRETCH_ENDS);
}

/* The peer's timeout doubles each time, so the time between two refusals may be long. */
Test(path_progress, however_rarely_it_comes)
{
	for (uint64_t gap = 250; gap <= 120000; gap *= 2) {
		setup();
		is_damaged(AT, LEN);
		e->now_ms += gap;
		is_damaged(AT, LEN);
		cr_assert(c->stretch.state == XIW_STRETCH_ENDS, "%lu ms after the first time",
			  (unsigned long)gap);
	}
}

/* RFC 9293 section 3.8.4: a keep-alive may carry an octet that came before. */
Test(path_progress, a_keepalive_repeats_nothing)
{
	for (int i = 0; i < 10; i++, e->now_ms += 30000)
		is_refused(AT - 1, 1);
	cr_assert(c->stretch.state != XIW_STRETCH_ENDS);
}

Test(path_progress, a_stream_that_moves_goes_on)
{
	for (uint32_t i = 0; i < 10; i++, e->now_ms += 250) {
		is_damaged(AT + i * LEN, LEN);
		c->tcp.rcv_nxt += LEN;
	}
	cr_assert(c->stretch.state != XIW_STRETCH_ENDS);
}

/* The socket is read only as fast as the application makes room. Until then nobody acknowledges. */
Test(path_progress, the_start_of_a_stretch_that_waits_for_a_slow_application)
{
	begins_to_drain(AT - LEN);
	waits_for_socket(AT, LEN);
	c->recv.nxt++; /* the engine does read on */
	waits_for_socket(AT + LEN, LEN);
	cr_assert(c->stretch.state != XIW_STRETCH_ENDS);
	ends(waits_for_socket, AT, LEN, XIW_REASON_WATCHDOG);
}

Test(path_progress, the_start_of_a_stretch_that_waits_for_lost_octets)
{
	begins_to_drain(AT - 2 * LEN);
	for (int i = 0; i < 2; i++, e->now_ms += 250) {
		waits_for_socket(AT - 2 * LEN + (uint32_t)i * LEN, LEN);
		c->recv.nxt += LEN;
		waits_for_socket(AT, LEN);
	}
	cr_assert(c->stretch.state != XIW_STRETCH_ENDS);
}

/* Nobody acknowledges what waits, so a peer may send nothing more for a long time. */
Test(path_progress, the_start_of_a_stretch_that_waits_for_octets_that_do_not_come)
{
	begins_to_drain(AT - LEN);
	waits_for_socket(AT + LEN, LEN);
	cr_assert_lt(c->progress.due_ms, e->now_ms + 1000);
	e->now_ms = c->progress.due_ms;
	xiw_progress_due(c);
	cr_assert(c->stretch.state == XIW_STRETCH_ENDS);
	cr_assert_eq(c->handoff.reason, XIW_REASON_WATCHDOG);
}

Test(path_progress, the_start_of_a_stretch_that_waits_while_the_socket_is_read)
{
	begins_to_drain(AT - 5 * LEN);
	waits_for_socket(AT, LEN);
	for (int i = 0; i < 4; i++) {
		e->now_ms = c->progress.due_ms;
		c->recv.nxt += LEN;
		xiw_progress_due(c);
		cr_assert(c->stretch.state == XIW_STRETCH_WAITS);
		cr_assert_neq(c->progress.due_ms, XIW_NEVER, "it may wait for ever");
	}
	e->now_ms = c->progress.due_ms;
	xiw_progress_due(c);
	cr_assert(c->stretch.state == XIW_STRETCH_ENDS);
}

/* One or two failures may be accidents; three within a short time are not. */
Test(path_progress, accidents_and_what_lasts)
{
	static const uint64_t pauses[] = { 1000, 70000, 1000, 1000 };

	for (int i = 0; i < 5; i++) {
		ends(is_damaged, AT, LEN, XIW_REASON_CHECKSUM);
		cr_assert_eq(flow->barred, i < 4 ? XIW_REASON_NONE : XIW_REASON_CHECKSUM, "end %d",
			     i);
		c->stretch.state = XIW_STRETCH_RUNS;
		e->agenda.falling_back = NULL;
		e->now_ms += i < 4 ? pauses[i] : 0;
	}
}

/* ---- arming ---------------------------------------------------------------------------------------- */

Test(path_progress, octets_that_wait_for_room_keep_the_socket)
{
	is_the_kernels();
	c->recv.held_n = 1;
	cr_assert(!arms());
	/* For a long time nothing may come on the kernel path that would make the library try again. */
	c->recv.held_n = 0;
	xiw_stream_resume(c);
	cr_assert(c->handoff.want_arm);
	cr_assert(arms());
}

/* XDP has seen so many segments, and the last of them was the end of a run of @run aligned ones. */
static const char *told_at_the_end(uint32_t segs, uint32_t run, enum xiw_reason reason)
{
	setup();
	is_the_kernels();
	c->counts.armed = 1;
	flow->kernel_segs = segs;
	flow->run_end = flow->kernel_high = AT;
	flow->run_len = run;
	flow->reasons[reason] = !!reason;
	xiw_progress_end(c);
	return c->no_direct;
}

Test(path_progress, segments_of_no_whole_fpdus)
{
	cr_assert(strstr(told_at_the_end(64, 0, XIW_REASON_NONE), "whole FPDUs"));
	cr_assert_str_eq(told_at_the_end(63, 0, XIW_REASON_NONE), "", "few say nothing");
	cr_assert_str_eq(told_at_the_end(64, 1, XIW_REASON_NONE), "", "one was aligned");
	cr_assert_str_eq(told_at_the_end(64, 0, XIW_REASON_WATCHDOG), "", "there is another cause");
	flow->reasons[XIW_REASON_WATCHDOG] = 0;
	flow->kernel_high++;
	xiw_progress_end(c);
	cr_assert_str_eq(c->no_direct, "", "XDP has not judged the last one");
}

Test(path_progress, what_xdp_has_against_the_direct_path_is_told)
{
	is_the_kernels();
	snprintf(t.netif.ifname, sizeof(t.netif.ifname), "eth7");
	flow->barred = XIW_REASON_HEADROOM;
	cr_assert(!arms());
	cr_assert_str_eq(c->no_direct, "the driver of eth7 leaves no room in front of packets");
}

/* Some frames come, but not those that the stream waits for: XDP ends each stretch. */
static void a_stretch_is_given_up(bool frame_came_late)
{
	is_the_kernels();
	flow->seen += 3;
	flow->try_seen = flow->seen;
	flow->seen += frame_came_late;
	flow->reasons[XIW_REASON_UNSEEN]++;
	e->now_ms += 400;
}

Test(path_progress, large_frames_that_are_lost_while_small_ones_come)
{
	t.netif.frames_come = true;
	is_the_kernels();
	cr_assert(arms());
	for (int i = 0; i < 3; i++) {
		a_stretch_is_given_up(false);
		cr_assert(arms(), "%d times may be an accident", i + 1);
	}
	a_stretch_is_given_up(false);
	cr_assert(!arms());
	cr_assert_eq(flow->barred, XIW_REASON_UNSEEN);
}

/* The kernel had no room for frames: that is overload, and no lasting cause until it has happened very often. */
Test(path_progress, frames_that_are_lost_while_rings_overflow)
{
	int i;

	t.netif.frames_come = true;
	is_the_kernels();
	cr_assert(arms());
	for (i = 0; i < 12; i++) {
		t.netif.overflow_ms = e->now_ms;
		a_stretch_is_given_up(false);
		cr_assert(arms(), "%d times are overload", i + 1);
	}
	for (; i < 40 && (t.netif.overflow_ms = e->now_ms, a_stretch_is_given_up(false), arms());
	     i++)
		;
	cr_assert_lt(i, 40, "for ever");
	cr_assert_eq(flow->barred, XIW_REASON_UNSEEN);
}

Test(path_progress, an_engine_that_is_late_now_and_then)
{
	t.netif.frames_come = true;
	is_the_kernels();
	cr_assert(arms());
	for (int i = 0; i < 20; i++) {
		a_stretch_is_given_up(true);
		cr_assert(arms());
	}
}

Test(path_progress, frames_that_are_lost_now_and_then)
{
	t.netif.frames_come = true;
	is_the_kernels();
	cr_assert(arms());
	for (int i = 0; i < 20; i++, e->now_ms += 30000) {
		a_stretch_is_given_up(false);
		cr_assert(arms());
	}
}

/* Frames came and were committed, which alone does not tell XDP. Then the engine stood still for a while. */
Test(path_progress, stretches_that_end_by_the_watchdog)
{
	is_the_kernels();
	cr_assert(arms());
	for (int i = 0; i < 5; i++) {
		c->counts.went_direct++;
		is_the_kernels();
		flow->reasons[XIW_REASON_WATCHDOG]++;
		cr_assert(arms(), "after %d", i);
	}
}

/*
 * Steering to and fro ends each stretch. It bars nothing, but the next stretch needs more segments in a row each time,
 * until the steering has stayed as it is for a while.
 */
Test(path_progress, stretches_that_end_on_other_queues)
{
	uint32_t before = 0, run = 0;

	is_the_kernels();
	cr_expect_eq(xiw_progress_run(c, 1), 1, "nothing has ended yet");
	for (int i = 0; i < 30; i++, e->now_ms += 1000) {
		flow->reasons[i % 3 ? XIW_REASON_STEERED : XIW_REASON_NO_XSK]++;
		cr_assert(arms(), "after %d", i);
		run = xiw_progress_run(c, 8);
		cr_expect(run == before * 2 || (!before && run == 8) || run == 65536, "%u after %u",
			  run, before);
		cr_expect_eq(xiw_progress_run(c, 1), run, "counted once");
		before = run;
	}
	cr_expect_eq(run, 65536);
	flow->run_needed = run;
	xiw_progress_steady(c);
	cr_expect_eq(flow->run_needed, 65536);
	e->now_ms += 60000;
	xiw_progress_steady(c);
	cr_expect_eq(flow->run_needed, 8);
	cr_expect_eq(xiw_progress_run(c, 1), 8);
}
