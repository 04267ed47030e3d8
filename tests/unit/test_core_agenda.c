// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The agenda of the turn: ends and errors are noted once, and only an end that is not at once stops receiving. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/agenda.h"

#define CONNS 3

static struct xiw_engine *e;
static struct xiw_conn *conns[CONNS], *c;
static int peer;

static void setup(void)
{
	int fds[2];

	e = calloc(1, sizeof(*e));
	cr_assert(e);
	e->now_ms = 5000;
	e->wheel.next_ms = e->watch.look_ms = XIW_NEVER;
	for (int i = 0; i < CONNS; i++) {
		conns[i] = aligned_alloc(64, (sizeof(*c) + 63) & ~63ul);
		cr_assert(conns[i]);
		memset(conns[i], 0, sizeof(*c));
		conns[i]->engine = e;
		conns[i]->state = XIW_OPEN;
		conns[i]->fd = -1;
	}
	c = conns[0];
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	c->fd = fds[0];
	peer = fds[1];
}

static void teardown(void)
{
	close(c->fd);
	close(peer);
	for (int i = 0; i < CONNS; i++)
		free(conns[i]);
	free(e);
}

TestSuite(core_agenda, .init = setup, .fini = teardown);

static bool receives(void)
{
	char octet;

	return recv(c->fd, &octet, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

Test(core_agenda, an_end_is_noted_once_and_keeps_the_first_error)
{
	xiw_conn_ask_end(c, ETIMEDOUT, false);
	xiw_conn_ask_end(c, ENOMEM, false);
	cr_expect(c->end.asked);
	cr_expect_eq(c->end.asked_error, ETIMEDOUT);
	cr_expect_eq(e->agenda.ending, c);
	cr_expect_null(c->end.next_ending, "it is on the list once");
	cr_expect(!c->end.at_once);
}

/* Linux has the last ICMP or ARP error for a time-out's, where there was one. */
Test(core_agenda, a_peer_that_is_gone_is_a_time_out)
{
	static const int gone[] = { ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ENETDOWN };

	for (unsigned int i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		c->state = XIW_OPEN;
		c->end.asked = false;
		e->agenda.ending = NULL;
		xiw_conn_broken(c, gone[i]);
		cr_expect_eq(c->end.asked_error, ETIMEDOUT);
	}
	/* A connection that is not open yet has its own words for them. */
	c->state = XIW_CONNECTING;
	c->end.asked = false;
	e->agenda.ending = NULL;
	xiw_conn_broken(c, EHOSTUNREACH);
	cr_expect_eq(c->end.asked_error, EHOSTUNREACH);
}

Test(core_agenda, a_later_request_may_make_an_end_immediate)
{
	xiw_conn_ask_end(c, ETIMEDOUT, false);
	xiw_conn_ask_end(c, ENOMEM, true);
	cr_expect(c->end.at_once);
	xiw_conn_ask_end(c, ENOMEM, false);
	cr_expect(c->end.at_once, "an end stays immediate");
	cr_expect_eq(c->end.asked_error, ETIMEDOUT);
}

Test(core_agenda, an_end_stops_receiving)
{
	cr_assert(receives());
	xiw_conn_ask_end(c, ETIMEDOUT, false);
	cr_expect(!receives());
}

Test(core_agenda, an_end_at_once_leaves_the_socket_alone)
{
	xiw_conn_ask_end(c, ENOMEM, true);
	cr_expect(receives());
}

Test(core_agenda, an_end_after_the_peer_s_leaves_the_socket_alone)
{
	c->end.eof = true;
	xiw_conn_ask_end(c, ETIMEDOUT, false);
	cr_expect(receives());
}

Test(core_agenda, a_dead_connection_ends_no_more)
{
	c->state = XIW_DEAD;
	xiw_conn_ask_end(c, ETIMEDOUT, true);
	cr_expect(!c->end.asked);
	cr_expect_null(e->agenda.ending);
}

/* RFC 5044 section 8: MPA reports a lost connection, unless the stream was in error before. */
Test(core_agenda, a_broken_connection_is_an_error_of_mpa)
{
	xiw_conn_broken(c, ECONNRESET);
	cr_expect_eq(c->end.mpa_error, XIW_MPA_ERR_CLOSED);
	cr_expect_eq(c->end.asked_error, ECONNRESET);
	conns[1]->end.mpa_error = XIW_MPA_ERR_CRC;
	xiw_conn_broken(conns[1], ECONNRESET);
	cr_expect_eq(conns[1]->end.mpa_error, XIW_MPA_ERR_CRC);
}

Test(core_agenda, any_end_can_be_forgotten)
{
	for (int gone = 0; gone < CONNS; gone++) {
		int left = 0;

		e->agenda.ending = NULL;
		for (int i = 0; i < CONNS; i++) {
			conns[i]->end.asked = false;
			xiw_conn_ask_end(conns[i], EPROTO, true);
		}
		xiw_ends_forget(conns[gone]);
		for (struct xiw_conn *at = e->agenda.ending; at; at = at->end.next_ending, left++)
			cr_expect_neq(at, conns[gone]);
		cr_expect_eq(left, CONNS - 1);
	}
	xiw_ends_forget(conns[CONNS - 1]);
}

Test(core_agenda, the_first_error_of_a_stream_stays)
{
	xiw_conn_stream_error(c, XIW_MPA_ERR_CRC, 0);
	xiw_conn_stream_error(c, XIW_MPA_ERR_CLOSED, 0);
	cr_expect(c->rx_dead && c->end.failing);
	cr_expect_eq(c->end.mpa_error, XIW_MPA_ERR_CRC);
	cr_expect_eq(e->agenda.dirty, c);
	c->end.failing = false; /* as after the batch */
	xiw_conn_stream_error(c, XIW_MPA_ERR_CLOSED, 0);
	cr_expect(!c->end.failing, "it is reported once");
}

Test(core_agenda, a_connection_is_dirty_once)
{
	xiw_dirty(c);
	xiw_dirty(conns[1]);
	xiw_dirty(c);
	cr_expect_eq(e->agenda.dirty, conns[1]);
	cr_expect_eq(conns[1]->next_dirty, c);
	cr_expect_null(c->next_dirty);
}

Test(core_agenda, the_engine_wakes_at_the_earliest_time)
{
	xiw_wake_at(e, 7000);
	xiw_wake_at(e, 9000);
	cr_expect_eq(e->wheel.next_ms, 7000);
	xiw_watch_soon(e);
	cr_expect_eq(e->watch.look_ms, e->now_ms);
	cr_expect_eq(e->wheel.next_ms, e->now_ms);
}

Test(core_agenda, a_connection_is_charged_for_what_the_budget_has)
{
	e->budget.limit = 100;
	cr_expect(xiw_conn_charge(c, 60));
	cr_expect(!xiw_conn_charge(c, 60));
	cr_expect_eq(c->memory, 60);
	cr_expect_eq(e->budget.used, 60);
}
