// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The limits of a close, of the last message and of a hold, on a TCP connection over loopback. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn/limits.h"
#include "core/timer.h"
#include "path/hold.h"

#define QUARTERS 4
#define CLOSES 3 /* closes, of close_timeout_ms, that one may take whatever moves */
#define CQ_ENTRIES 4096u

static struct xiw_engine *e;
static struct xiw_conn *c;
static int peer;

static void make_connection(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t len = sizeof(in);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(bind(l, (struct sockaddr *)&in, sizeof(in)), 0);
	cr_assert_eq(listen(l, 1), 0);
	cr_assert_eq(getsockname(l, (struct sockaddr *)&in, &len), 0);
	peer = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(connect(peer, (struct sockaddr *)&in, sizeof(in)), 0);
	c->fd = accept(l, NULL, NULL);
	cr_assert(c->fd >= 0);
	close(l);
}

static void setup(void)
{
	e = calloc(1, sizeof(*e));
	c = aligned_alloc(64, (sizeof(*c) + 63) & ~63ul);
	cr_assert(e && c);
	memset(c, 0, sizeof(*c));
	e->wheel.next_ms = e->wheel.collect_ms = XIW_NEVER;
	e->cq.mask = CQ_ENTRIES - 1;
	c->engine = e;
	c->state = XIW_OPEN;
	c->timer.deadline_ms = c->timer.ack_ms = c->timer.hold_ms = XIW_NEVER;
	c->timer.ulp_ms = c->progress.due_ms = c->progress.output.look_ms = XIW_NEVER;
	c->opts.close_timeout_ms = 4000;
	c->opts.terminate_timeout_ms = 3000;
	make_connection();
}

static void teardown(void)
{
	close(c->fd);
	close(peer);
	free(c);
	free(e);
}

TestSuite(conn_limits, .init = setup, .fini = teardown);

/* A quarter of the time of a close is over. */
static void quarter(void)
{
	cr_assert_eq(c->timer.limit, XIW_LIMIT_CLOSE);
	xiw_conn_limit(c, XIW_LIMIT_CLOSE);
}

static void peer_sends(void)
{
	char octet;

	cr_assert_eq(send(peer, "x", 1, 0), 1);
	cr_assert_eq(recv(c->fd, &octet, 1, 0), 1);
}

Test(conn_limits, a_close_in_which_nothing_moves_ends)
{
	xiw_conn_ask_close(c);
	cr_expect(c->end.closing);
	for (int i = 1; i < QUARTERS; i++) {
		quarter();
		cr_assert(!c->end.asked, "quarter %d", i);
	}
	quarter();
	cr_expect(c->end.asked && c->end.at_once);
	cr_expect_eq(c->end.asked_error, ETIMEDOUT);
}

Test(conn_limits, a_close_in_which_octets_move_goes_on)
{
	xiw_conn_ask_close(c);
	for (int i = 0; i < CLOSES * QUARTERS - 1; i++) {
		if (i % 3 == 0)
			peer_sends();
		quarter();
	}
	cr_expect(!c->end.asked);
}

Test(conn_limits, a_close_in_which_octets_move_for_ever_ends)
{
	xiw_conn_ask_close(c);
	for (int i = 0; i < CLOSES * QUARTERS; i++) {
		peer_sends();
		quarter();
	}
	cr_expect(c->end.asked);
}

Test(conn_limits, after_an_error_the_peer_s_octets_are_no_reason_to_wait)
{
	c->rx_dead = true;
	xiw_conn_ask_close(c);
	for (int i = 0; i < QUARTERS; i++) {
		peer_sends();
		quarter();
	}
	cr_expect(c->end.asked);
}

Test(conn_limits, a_close_that_waits_for_the_application_goes_on)
{
	xiw_conn_ask_close(c);
	c->recv.held_n = 1;
	for (int i = 0; i < 2 * QUARTERS; i++)
		quarter();
	c->recv.held_n = 0;
	e->cq.tail = CQ_ENTRIES - XIW_CQ_RESERVE;
	for (int i = 0; i < 2 * QUARTERS; i++)
		quarter();
	cr_expect(!c->end.asked);
}

Test(conn_limits, the_last_message_is_limited_whatever_moves)
{
	xiw_conn_limit_last(c);
	cr_assert_eq(c->timer.limit, XIW_LIMIT_LAST);
	cr_expect_eq(c->timer.deadline_ms, e->now_ms + 3000);
	xiw_conn_ask_close(c);
	cr_expect_eq(c->timer.limit, XIW_LIMIT_LAST, "a close does not make it longer");
	peer_sends();
	xiw_conn_limit(c, XIW_LIMIT_LAST);
	cr_expect(c->end.asked && c->end.at_once);
	cr_expect_eq(c->end.asked_error, ETIMEDOUT);
}

Test(conn_limits, without_a_limit_a_socket_that_nobody_reads_is_looked_at)
{
	struct linger reset = { 1, 0 };

	c->opts.close_timeout_ms = XIW_NO_LIMIT;
	xiw_conn_ask_close(c);
	cr_expect_eq(c->timer.limit, XIW_LIMIT_NONE, "a receive is under way");
	c->end.eof = true;
	xiw_conn_poll_socket(c);
	cr_assert_eq(c->timer.limit, XIW_LIMIT_POLL);
	xiw_conn_limit(c, XIW_LIMIT_POLL);
	cr_expect(!c->end.asked);
	setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(peer);
	peer = -1;
	xiw_conn_limit(c, XIW_LIMIT_POLL);
	cr_expect(c->end.asked);
	cr_expect_eq(c->end.asked_error, ECONNRESET);
}

/* ---- a hold ---------------------------------------------------------------------------------------- */

static void hold(unsigned int ms)
{
	c->opts.hold_ms = ms;
	xiw_hold_begin(c);
	cr_assert(c->hold.on && c->hold.waits);
}

/* The turn in which the time to look at the hold comes. */
static void look_at_hold(void)
{
	cr_assert_neq(c->timer.hold_ms, XIW_NEVER);
	e->now_ms = c->timer.hold_ms;
	xiw_conn_limit_hold(c);
}

Test(conn_limits, a_hold_is_over_at_its_time)
{
	const uint64_t begin = e->now_ms;

	hold(2500);
	look_at_hold();
	look_at_hold();
	cr_expect(c->hold.waits);
	look_at_hold();
	cr_expect_eq(e->now_ms, begin + 2500);
	cr_expect(c->hold.over && !c->hold.waits && !c->end.asked);
	cr_expect_eq(e->agenda.holders, c, "the turn goes on with it");
	cr_expect_eq(c->timer.hold_ms, XIW_NEVER);
	cr_expect_eq(c->counts.holds, 1);
	cr_expect_eq(c->counts.holds_expired, 1);
}

Test(conn_limits, a_hold_whose_buffer_another_one_got_does_not_begin_anew)
{
	hold(2500);
	look_at_hold();
	xiw_hold_posted(c);
	cr_expect(!c->hold.waits && !c->hold.over);
	hold(2500);
	look_at_hold();
	look_at_hold();
	cr_expect(c->hold.over);
	cr_expect_eq(c->counts.holds, 1);
	xiw_hold_forget(c);
	c->counts.fpdus++;
	hold(2500);
	look_at_hold();
	cr_expect(c->hold.waits);
	cr_expect_eq(c->counts.holds, 2);
}

/* The turn could not go on when the time was up, as the completion queue was full. The next Send may wait again. */
Test(conn_limits, a_buffer_that_comes_just_after_the_time_is_one)
{
	hold(500);
	look_at_hold();
	cr_assert(c->hold.over);
	xiw_hold_posted(c);
	c->counts.fpdus++;
	hold(500);
	cr_expect(!c->hold.over);
	cr_expect_eq(c->hold.until_ms, e->now_ms + 500);
}

Test(conn_limits, a_hold_ends_with_the_peer)
{
	struct linger reset = { 1, 0 };

	hold(60000);
	look_at_hold();
	cr_expect(!c->end.asked);
	setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(peer);
	peer = -1;
	look_at_hold();
	cr_expect(c->end.asked);
	cr_expect_eq(c->end.asked_error, ECONNRESET);
}

/* Each Send has the time that is left to the one in front of which the peer has closed. */
Test(conn_limits, a_hold_ends_behind_a_peer_that_has_closed)
{
	hold(60000);
	shutdown(peer, SHUT_WR);
	look_at_hold();
	look_at_hold();
	cr_expect(!c->end.asked, "the option is not set");
	c->opts.hold_closed_ms = 2500;
	xiw_hold_forget(c);
	c->counts.fpdus++;
	hold(60000);
	look_at_hold();
	look_at_hold();
	cr_expect(!c->end.asked && c->hold.waits);
	look_at_hold();
	cr_expect(c->end.asked);
	cr_expect_eq(c->end.asked_error, ECONNRESET);
	cr_expect_eq(c->counts.holds_expired, 1);
}

Test(conn_limits, a_close_during_a_hold_goes_on)
{
	hold(60000);
	xiw_conn_ask_close(c);
	for (int i = 0; i < 2 * QUARTERS; i++)
		quarter();
	cr_expect(!c->end.asked && c->hold.waits);
}

Test(conn_limits, a_hold_keeps_octets_within_the_budget)
{
	static const uint8_t octets[3000];

	hold(60000);
	cr_expect(xiw_hold_keep(c, octets, 1000));
	e->budget.limit = 2500;
	cr_expect(!xiw_hold_keep(c, octets, 2000));
	cr_expect(xiw_hold_keep(c, octets, 1500));
	cr_expect_eq(e->budget.used, 2500);
	xiw_hold_posted(c);
	cr_expect(!xiw_hold_taken(c, 2499));
	cr_expect(c->hold.on);
	cr_expect(xiw_hold_taken(c, 1));
	cr_expect(!c->hold.on);
	cr_expect_eq(e->budget.used, 0);
}
