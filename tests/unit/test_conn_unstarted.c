// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Limits of unstarted connections: per peer, per listener and per engine, and who makes way for whom. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "conn/listener.h"
#include "conn/unstarted.h"
#include "core/cq.h"
#include "core/peer.h"

#define CONNS 8
#define GRACE_MS 1000u

static struct xiw_engine *e;
static struct xiw_listener *l, *other;
static struct xiw_conn *conns[CONNS];
static int made;

static struct xiw_listener *new_listener(void)
{
	struct xiw_listener *n = aligned_alloc(64, (sizeof(*n) + 63) & ~63ul);

	cr_assert(n);
	memset(n, 0, sizeof(*n));
	n->engine = e;
	n->fd = -1;
	n->opts.max_unstarted = n->opts.max_unstarted_peer = 100;
	return n;
}

static void setup(void)
{
	e = calloc(1, sizeof(*e));
	cr_assert(e);
	e->now_ms = 50000;
	e->opts.max_unstarted = 100;
	e->unstarted.secret = 0x1234567;
	l = new_listener();
	other = new_listener();
}

static void teardown(void)
{
	for (int i = 0; i < made; i++)
		free(conns[i]);
	free(l);
	free(other);
	free(e);
}

TestSuite(conn_unstarted, .init = setup, .fini = teardown);

static struct sockaddr_storage address(const char *text)
{
	struct sockaddr_storage ss = {};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;

	ss.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	cr_assert_eq(inet_pton(ss.ss_family, text,
			       ss.ss_family == AF_INET ? (void *)&in->sin_addr
						       : (void *)&in6->sin6_addr),
		     1);
	return ss;
}

static int admit(struct xiw_listener *at, const char *peer)
{
	struct sockaddr_storage ss = address(peer);

	return xiw_unstarted_admit(at, &ss);
}

static uint8_t place_of(const char *peer)
{
	const struct sockaddr_storage ss = address(peer);

	return xiw_peer_place(e->unstarted.secret, xiw_peer_key(&ss));
}

static struct xiw_conn *accepted(struct xiw_listener *at, const char *peer)
{
	struct xiw_conn *c = aligned_alloc(64, (sizeof(*c) + 63) & ~63ul);

	cr_assert(c && made < CONNS);
	memset(c, 0, sizeof(*c));
	c->engine = e;
	c->fd = -1;
	c->state = XIW_LISTENING;
	c->addr.remote = address(peer);
	xiw_unstarted_add(c, at);
	conns[made++] = c;
	return c;
}

static void was_reset(const struct xiw_conn *c)
{
	cr_assert(c->end.asked);
	cr_assert_eq(c->end.asked_error, EUSERS);
	cr_assert(c->end.at_once);
	cr_assert_null(c->unstarted.chain_at);
	cr_assert_null(c->unstarted.listener);
}

Test(conn_unstarted, a_peer_has_its_own_limit)
{
	struct xiw_conn *first, *second;

	l->opts.max_unstarted_peer = 2;
	first = accepted(l, "10.0.0.1");
	cr_expect_eq(admit(l, "10.0.0.1"), 0);
	second = accepted(l, "10.0.0.1");
	cr_expect_eq(admit(l, "10.0.0.2"), 0, "another peer");
	cr_expect_eq(admit(other, "10.0.0.1"), 0, "another listener");
	cr_expect_eq(admit(l, "10.0.0.1"), -EUSERS);
	was_reset(first);
	cr_expect(!second->end.asked);
	cr_expect_eq(e->unstarted.resets, 1);
	cr_expect_eq(l->unstarted, 1);
	cr_expect_eq(e->unstarted.n, 1);
}

/* By default it is half of the listener's, which may be as large as it can be said. */
Test(conn_unstarted, a_peer_may_have_half)
{
	const struct sockaddr_storage peer = address("192.0.2.1");
	const unsigned int limits[][2] = { { 1, 1 }, { 9, 5 }, { UINT32_MAX, 1u << 31 } };

	for (int i = 0; i < 3; i++) {
		const struct xiw_conn_opts o = { .max_unstarted = limits[i][0] };
		struct xiw_listener *n = xiw_listener_new(e, &o, NULL);

		cr_assert(n);
		cr_expect_eq(n->opts.max_unstarted_peer, limits[i][1]);
		cr_expect_eq(xiw_unstarted_admit(n, &peer), 0);
		free(n);
	}
}

Test(conn_unstarted, a_peer_of_ipv6_is_a_64)
{
	l->opts.max_unstarted_peer = 1;
	accepted(l, "2001:db8:0:1::1");
	cr_expect_eq(admit(l, "2001:db8:0:2::1"), 0);
	cr_expect_eq(admit(l, "2001:db8:0:1:ffff::9"), -EUSERS);
}

Test(conn_unstarted, a_mapped_address_is_that_of_ipv4)
{
	l->opts.max_unstarted_peer = 1;
	accepted(l, "10.0.0.1");
	cr_expect_eq(admit(l, "::ffff:10.0.0.2"), 0);
	cr_expect_eq(admit(l, "::ffff:10.0.0.1"), -EUSERS);
}

Test(conn_unstarted, a_listener_has_its_own_limit)
{
	struct xiw_conn *elsewhere = accepted(other, "10.0.0.9"), *first;

	l->opts.max_unstarted = 2;
	first = accepted(l, "10.0.0.1");
	accepted(l, "10.0.0.2");
	cr_expect_eq(admit(other, "10.0.0.3"), 0);
	cr_expect_eq(admit(l, "10.0.0.3"), -EUSERS);
	was_reset(first);
	cr_expect(!elsewhere->end.asked, "it is older, but another listener's");
}

Test(conn_unstarted, the_engine_has_a_limit)
{
	struct xiw_conn *first = accepted(other, "10.0.0.9");

	e->opts.max_unstarted = 2;
	cr_expect_eq(admit(l, "10.0.0.1"), 0);
	accepted(l, "10.0.0.1");
	cr_expect_eq(admit(l, "10.0.0.2"), -EUSERS);
	was_reset(first);
	cr_expect_eq(other->unstarted, 0);
}

/* A host with three addresses, each within its share, pushes nobody else's connection out. */
Test(conn_unstarted, who_has_most_makes_way)
{
	struct xiw_conn *honest, *host[2][2];

	l->opts.max_unstarted = 5;
	honest = accepted(l, "192.0.2.1");
	for (int i = 0; i < 2; i++) {
		host[i][0] = accepted(l, "10.0.0.1");
		host[i][1] = accepted(l, "10.0.0.2");
	}
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(admit(l, "10.0.0.3"), -EUSERS);
		was_reset(host[0][i]);
		accepted(l, "10.0.0.3");
	}
	cr_expect(!honest->end.asked && !host[1][0]->end.asked && !host[1][1]->end.asked);
}

/* The peers of one place are told apart, as an honest one may share its place with a crowd. */
Test(conn_unstarted, who_has_most_of_a_place_makes_way)
{
	struct xiw_conn *honest, *first;
	char beside[32];
	int i = 0;

	do
		snprintf(beside, sizeof(beside), "10.1.%d.%d", i / 250, i % 250);
	while (++i && place_of(beside) != place_of("10.0.0.1"));
	l->opts.max_unstarted = 4;
	honest = accepted(l, beside);
	first = accepted(l, "10.0.0.1");
	accepted(l, "10.0.0.1");
	accepted(l, "192.0.2.1");
	cr_expect_eq(admit(l, "192.0.2.2"), -EUSERS);
	was_reset(first);
	cr_expect(!honest->end.asked);
}

Test(conn_unstarted, one_that_waits_for_the_application_stays)
{
	struct xiw_conn *deciding = accepted(l, "10.0.0.1"), *next;

	deciding->state = XIW_DECIDING;
	e->opts.max_unstarted = l->opts.max_unstarted = 2;
	next = accepted(l, "10.0.0.2");
	cr_expect_eq(admit(l, "10.0.0.3"), -EUSERS);
	was_reset(next);
	cr_expect(!deciding->end.asked);
	e->opts.max_unstarted = 1;
	cr_expect_eq(admit(l, "10.0.0.3"), -EBUSY, "the engine's limit");
	l->opts.max_unstarted = 1;
	cr_expect_eq(admit(l, "10.0.0.3"), -EBUSY, "the listener's limit");
	l->opts.max_unstarted_peer = 1;
	cr_expect_eq(admit(l, "10.0.0.1"), -EBUSY, "the peer's limit");
	cr_expect(!deciding->end.asked);
}

/* A peer at its limit does not push out others. */
Test(conn_unstarted, a_peer_makes_way_for_itself_alone)
{
	struct xiw_conn *honest = accepted(l, "10.0.0.1"), *deciding = accepted(l, "10.0.0.2");

	deciding->state = XIW_DECIDING;
	l->opts.max_unstarted_peer = 1;
	l->opts.max_unstarted = 2;
	cr_expect_eq(admit(l, "10.0.0.2"), -EBUSY);
	cr_expect(!honest->end.asked);
}

Test(conn_unstarted, for_want_of_descriptors_only_an_old_one_makes_way)
{
	struct xiw_conn *first = accepted(l, "10.0.0.1");

	e->now_ms += GRACE_MS - 1;
	cr_expect(!xiw_unstarted_make_way(e));
	cr_expect(!first->end.asked);
	e->now_ms++;
	cr_expect(xiw_unstarted_make_way(e));
	was_reset(first);
	cr_expect(!xiw_unstarted_make_way(e), "there is no other");
}

Test(conn_unstarted, any_place_can_be_left)
{
	for (int gone = 0; gone < 3; gone++) {
		struct xiw_conn *three[3];

		for (int i = 0; i < 3; i++)
			three[i] = accepted(l, "10.0.0.1");
		xiw_unstarted_remove(three[gone]);
		xiw_unstarted_remove(three[gone]);
		cr_expect_eq(e->unstarted.n, 2);
		cr_expect_eq(l->unstarted, 2);
		cr_expect_eq(e->unstarted.first, three[gone == 0]);
		cr_expect_eq(e->unstarted.last, three[gone == 2 ? 1 : 2]);
		for (int i = 0; i < 3; i++) {
			xiw_unstarted_remove(three[i]);
			free(three[i]);
		}
		made = 0;
		cr_expect_eq(e->unstarted.n, 0);
		cr_expect_null(e->unstarted.first);
		cr_expect_null(e->unstarted.last);
		for (unsigned int i = 0; i < XIW_PEER_PLACES; i++)
			cr_expect_null(e->unstarted.chains[i]);
	}
}

Test(conn_unstarted, a_listener_may_go_first)
{
	struct xiw_conn *mine = accepted(l, "10.0.0.1"), *others = accepted(other, "10.0.0.1");

	xiw_unstarted_orphan(l);
	cr_expect_null(mine->unstarted.listener);
	cr_expect_eq(others->unstarted.listener, other);
	xiw_unstarted_remove(mine);
	cr_expect_eq(e->unstarted.n, 1);
}

/* The application is told again when there has been room for as long as a startup may take, and not before. */
Test(conn_unstarted, that_it_is_crowded_is_told_once_in_a_row)
{
	const uint64_t timeout = 5000;
	struct xiw_completion c;

	cr_assert_eq(xiw_cq_init(&e->cq, e, 8), 0);
	e->cq.app_ring_fd = -1;
	l->opts.startup_timeout_ms = (unsigned int)timeout;
	e->now_ms = timeout / 2;
	for (int i = 0; i < 3; i++, e->now_ms += timeout)
		xiw_listener_crowded(l);
	cr_assert(xiw_engine_next(e, &c));
	cr_expect_eq(c.event, XIW_EV_NOT_ACCEPTED);
	cr_expect_eq(c.status, -EUSERS);
	cr_expect_eq(xiw_completions(e), 0);
	e->now_ms++;
	xiw_listener_crowded(l);
	cr_expect_eq(xiw_completions(e), 1);
	free(e->cq.entries);
}
