// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* May a connection be armed, for all that conntrack says of it? */
#include <criterion/criterion.h>
#include <string.h>

#include "netif/conntrack.h"

static enum xiw_conntrack says(const struct xiw_conntrack_tuple *tuple);

#define xiw_conntrack_ask says
#include "path/apart.c"
#undef xiw_conntrack_ask

static _Alignas(64) struct xiw_conn one, other;
static _Alignas(64) struct xiw_flow flows[2];
static struct xiw_netif netif;
static struct xiw_engine *e;
static enum xiw_conntrack answer;
static unsigned int asked;

static enum xiw_conntrack says(const struct xiw_conntrack_tuple *tuple)
{
	(void)tuple;
	asked++;
	return answer;
}

static void connect_to(struct xiw_conn *c, struct xiw_flow *flow)
{
	memset(c, 0, sizeof(*c));
	memset(flow, 0, sizeof(*flow));
	flow->owner = xiw_owner_pack(0, 1, XIW_PATH_KERNEL);
	c->engine = e;
	c->netif = &netif;
	c->flow = flow;
}

static void setup(void)
{
	e = calloc(1, sizeof(*e));
	cr_assert(e);
	e->now_ms = 100000;
	e->watch.forgets_ms = 300000;
	memset(&netif, 0, sizeof(netif));
	asked = 0;
	connect_to(&one, &flows[0]);
	connect_to(&other, &flows[1]);
}

static void teardown(void)
{
	free(e);
}

TestSuite(path_apart, .init = setup, .fini = teardown);

/* What the first connection has found holds for the next one. */
Test(path_apart, both_directions)
{
	answer = XIW_CONNTRACK_BOTH;
	cr_expect(xiw_apart_may_arm(&one));
	cr_expect(xiw_apart_may_arm(&other));
	cr_expect_eq(asked, 1);
	e->now_ms += TOGETHER_MS;
	cr_expect(xiw_apart_may_arm(&one));
	cr_expect_eq(asked, 2);
}

Test(path_apart, without_conntrack_nobody_asks)
{
	e->watch.forgets_ms = 0;
	cr_expect(xiw_apart_may_arm(&one));
	cr_expect_eq(asked, 0);
}

/* Once the socket has sent something, conntrack has seen it, unless it was in another zone. */
Test(path_apart, one_direction_also_when_a_packet_has_left)
{
	answer = XIW_CONNTRACK_ONE_WAY;
	for (int i = 0; i < 3; i++)
		cr_expect_not(xiw_apart_may_arm(&one));
	cr_expect_eq(asked, 1);
	cr_expect_eq(flows[0].barred, 0);
	flows[0].egress_segs++;
	cr_expect_not(xiw_apart_may_arm(&one));
	cr_expect_eq(flows[0].barred, XIW_REASON_APART);
	cr_expect_not(xiw_apart_may_arm(&other));
	cr_expect_eq(flows[1].barred, XIW_REASON_APART);
	cr_expect_eq(asked, 2);
	/* The rules may have changed after a while. */
	e->now_ms += APART_MS;
	answer = XIW_CONNTRACK_BOTH;
	flows[1].barred = 0;
	cr_expect(xiw_apart_may_arm(&other));
}

/* After `conntrack -F` each connection is found by its peer's segment alone at first, however many there are. */
Test(path_apart, one_direction_of_several_connections_that_were_forgotten)
{
	answer = XIW_CONNTRACK_ONE_WAY;
	cr_expect_not(xiw_apart_may_arm(&one));
	e->now_ms += 5000;
	flows[1].egress_segs++;
	cr_expect_not(xiw_apart_may_arm(&other));
	cr_expect_eq(flows[1].barred, 0);
	answer = XIW_CONNTRACK_BOTH;
	flows[0].egress_segs++;
	cr_expect(xiw_apart_may_arm(&one));
	cr_expect(xiw_apart_may_arm(&other));
	cr_expect_eq(flows[0].barred | flows[1].barred, 0);
}
