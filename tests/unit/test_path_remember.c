// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A connection that has stood still is kept off the direct path, and so are others, until one tries again. */
#include <criterion/criterion.h>
#include <string.h>

#include "handoff/obstacles.h"
#include "path/arm.h"
#include "path/direct.c"
#include "path/remember.h"
#include "tests/unit/stretch_rig.h"

static struct stretch t;
static struct xiw_engine *const e = &t.e;
static struct xiw_conn *const c = &t.c;
static struct xiw_flow *const flow = &t.flow;
static struct xiw_obstacle obstacles[XIW_OBSTACLES];

static void setup(void)
{
	stretch_begin(&t);
	memset(obstacles, 0, sizeof(obstacles));
	t.netif.table.obstacles = obstacles;
}

TestSuite(path_remember, .init = setup);

static void fails_for(enum xiw_reason reason)
{
	for (int i = 0; i < 2; i++, e->now_ms += 250) {
		struct xiw_segment s = stretch_segment(&t, AT, LEN);

		damaged(c, &s, &(struct xiw_tcp_seg){}, reason);
	}
	cr_assert(c->stretch.state == XIW_STRETCH_ENDS);
}

/* Segments with bad headers end the stretch. */
static void fails(void)
{
	fails_for(XIW_REASON_REFUSED);
}

static void is_the_kernels(void)
{
	c->stretch.state = XIW_STRETCH_OFF;
	c->state = XIW_OPEN;
	c->progress.inject_works = true;
	flow->lo_segs = (uint32_t)c->counts.injected;
	flow->owner = xiw_owner_pack(0, c->stretch.epoch + 1, XIW_PATH_KERNEL);
	e->agenda.falling_back = NULL;
}

static bool arms(void)
{
	xiw_try_arm(c, 1);
	return xiw_owner_path(xiw_flow_owner(flow)) == XIW_PATH_ARMED;
}

static void goes_direct(void)
{
	c->stretch.state = XIW_STRETCH_RUNS;
	c->counts.went_direct++;
	flow->owner = xiw_owner_pack(AT, c->stretch.epoch, XIW_PATH_DIRECT);
	xiw_progress_begin(c);
}

/* A connection whose direct path has never carried keeps itself and others of its peer off, until one tries again. */
Test(path_remember, a_cause_that_was_there_from_the_start)
{
	fails();
	cr_assert_eq(flow->barred, XIW_REASON_NONE);
	is_the_kernels();
	cr_assert(!arms());
	cr_assert(strstr(c->no_direct, "(found before)"), "%s", c->no_direct);
	e->now_ns += XIW_OBSTACLE_NS;
	cr_assert(arms(), "it never tries again");
	cr_assert_str_eq(c->no_direct, "");
}

Test(path_remember, one_that_has_carried_is_forgiven_an_accident)
{
	xiw_remember_carries(c);
	fails();
	is_the_kernels();
	cr_assert(arms());
	goes_direct();
	e->now_ns += 3 * XIW_OBSTACLE_SECOND;
	fails();
	is_the_kernels();
	cr_assert(!arms(), "it has not carried since");
}

/* A bad wire damages one segment twice now and then. */
Test(path_remember, damage_is_an_accident)
{
	fails_for(XIW_REASON_CHECKSUM);
	is_the_kernels();
	cr_assert(arms());
}

/* The rest of a connection's life may be short. */
Test(path_remember, one_that_tries_and_ends_without_a_fault)
{
	fails();
	e->now_ns += XIW_OBSTACLE_NS;
	is_the_kernels();
	cr_assert(arms());
	xiw_remember_end(c);
	cr_assert(xiw_obstacle_against(obstacles, flow->key.remote_addr), "it was not direct");
	goes_direct();
	xiw_remember_end(c);
	cr_assert(!xiw_obstacle_against(obstacles, flow->key.remote_addr));
}

Test(path_remember, one_that_tries_and_fails)
{
	fails();
	e->now_ns += XIW_OBSTACLE_NS;
	is_the_kernels();
	cr_assert(arms());
	goes_direct();
	fails();
	xiw_remember_end(c);
	is_the_kernels();
	e->now_ns += XIW_OBSTACLE_NS;
	cr_assert(!arms(), "the next attempt is as soon as the last one");
	e->now_ns += XIW_OBSTACLE_NS;
	cr_assert(arms());
}

/* The first octets of a stretch come again, after several acknowledgements. */
Test(path_remember, a_peer_that_has_heard_nothing)
{
	struct xiw_segment s = stretch_segment(&t, AT, LEN);

	goes_direct();
	c->tcp.rcv_nxt += 3 * LEN;
	c->counts.acks_sent++;
	e->now_ms += 200;
	xiw_progress_unheard(c, &s, AT, AT + LEN);
	cr_assert(c->stretch.state == XIW_STRETCH_RUNS, "one may be lost");
	c->progress.unheard.n = 0;
	c->counts.acks_sent++;
	xiw_progress_unheard(c, &s, AT + LEN, AT + 2 * LEN);
	cr_assert(c->stretch.state == XIW_STRETCH_RUNS, "it has heard of what was before");
	xiw_progress_unheard(c, &s, AT, AT + LEN);
	cr_assert(c->stretch.state == XIW_STRETCH_ENDS);
	cr_assert_eq(obstacles[XIW_REASON_UNHEARD].count, 1);
	is_the_kernels();
	cr_assert(!arms(), "the peer's connections are kept off");
}

/* The socket's segments carry the same acknowledgement, and have been lost as well. */
Test(path_remember, a_peer_that_hears_neither_the_socket)
{
	struct xiw_segment s = stretch_segment(&t, AT, LEN);

	goes_direct();
	c->tcp.rcv_nxt += 3 * LEN;
	c->counts.acks_sent += 2;
	flow->egress_segs++;
	e->now_ms += 200;
	xiw_progress_unheard(c, &s, AT, AT + LEN);
	cr_assert(c->stretch.state == XIW_STRETCH_RUNS);
	cr_assert(!obstacles[XIW_REASON_UNHEARD].count);
}

/* Between segments of the socket, the echo of a later ACK shows that the peer hears AF_XDP. */
Test(path_remember, a_peer_that_hears_between_segments_of_the_socket)
{
	struct xiw_tcp_seg seg = {.has_ts = true, .tsecr = 1001};

	goes_direct();
	for (uint32_t tsval = 1000; tsval < 1002; tsval++) {
		c->counts.acks_sent++;
		xiw_remember_acks(c, tsval);
		flow->egress_segs++;
	}
	xiw_remember_tsecr(c, &seg);
	cr_assert(!c->progress.memory.heard, "it may be the socket's");
	c->counts.acks_sent++;
	xiw_remember_acks(c, 1001);
	xiw_remember_tsecr(c, &seg);
	cr_assert(!c->progress.memory.heard, "that is not newer");
	seg.tsecr = 1002;
	xiw_remember_tsecr(c, &seg);
	cr_assert(c->progress.memory.heard);
	cr_assert(c->progress.memory.told);
}

/* The engine has stood still, and what it had sent by then may have left as late. */
static void is_repeated_to_a_late_engine(void)
{
	struct xiw_segment s = stretch_segment(&t, AT, LEN);

	goes_direct();
	c->progress.ended = 0;
	c->tcp.rcv_nxt = AT + 3 * LEN;
	c->counts.acks_sent += 2;
	e->now_ms += 250;
	e->now_ns += 250000000;
	xiw_pace_absent(&e->ready.pace, XIW_PACE_STILL_NS, e->now_ns);
	xiw_progress_unheard(c, &s, AT, AT + LEN);
	cr_assert(c->stretch.state == XIW_STRETCH_RUNS);
	e->now_ms += 400;
	e->now_ns += 400000000;
	xiw_progress_unheard(c, &s, AT, AT + LEN);
	cr_assert(c->stretch.state == XIW_STRETCH_ENDS, "the stream stands still");
	is_the_kernels();
}

Test(path_remember, a_peer_that_has_heard_nothing_of_a_late_engine)
{
	is_repeated_to_a_late_engine();
	cr_assert_eq(obstacles[XIW_REASON_UNHEARD].count, 1);
	cr_assert(arms(), "once may be an accident");
	is_repeated_to_a_late_engine();
	cr_assert(!arms());
}

Test(path_remember, peers_that_have_been_carried_since)
{
	for (int i = 0; i < 5; i++, e->now_ns += 10000000000) {
		is_repeated_to_a_late_engine();
		cr_assert(arms(), "accident %d", i);
		xiw_obstacle_carries(obstacles, flow->key.remote_addr, e->now_ns + 1000000000);
	}
}

Test(path_remember, an_engine_that_was_late_long_ago)
{
	struct xiw_segment s = stretch_segment(&t, AT, LEN);

	e->now_ns = 1;
	xiw_pace_absent(&e->ready.pace, XIW_PACE_STILL_NS, e->now_ns);
	e->now_ns += XIW_PACE_AFTER_NS;
	goes_direct();
	c->tcp.rcv_nxt += 3 * LEN;
	c->counts.acks_sent += 2;
	e->now_ms += 200;
	xiw_progress_unheard(c, &s, AT, AT + LEN);
	cr_assert(c->stretch.state == XIW_STRETCH_ENDS);
	is_the_kernels();
	cr_assert(!arms());
}
