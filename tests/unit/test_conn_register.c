// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a flow is published with, what becomes of its slot if it cannot be, and who gets the slots of a full table. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/netif.h"
#include "handoff/ecn.h"
#include "handoff/owner.h"
#include "handoff/sock.h"
#include "handoff/table.h"
#include "path/commit.h"
#include "path/route.h"

enum { SLOT = 3, OLD_SKEW = 700 };

static struct xiw_netif eth = { .ifname = "eth7" };
static struct xiw_flow flows[8];
static struct xiw_sock_state states[2]; /* the socket's, before and after the publication */
static uint32_t left_skew;
static int reads, removed, abandoned, filters;
static int slots_left = 1;

static int find(const struct sockaddr_storage *local, char *name, bool *here)
{
	(void)local;
	*here = false;
	strcpy(name, eth.ifname);
	return 0;
}

static int by_name(struct xiw_netif **found)
{
	*found = &eth;
	return 0;
}

static int claim_slot(const struct xiw_flow_key *key, uint32_t *skew)
{
	(void)key;
	*skew = left_skew;
	if (!slots_left)
		return -ENOSPC;
	slots_left--;
	return SLOT;
}

/* The peer with this port has its share. */
static uint16_t crowd_port;
static unsigned int asked;

static bool share_used(const struct xiw_flow_key *key)
{
	asked++;
	return crowd_port && key->remote_port == crowd_port;
}

static int read_sock(struct xiw_sock_state *s)
{
	*s = states[reads++ % 2];
	return 0;
}

/* Segments came between the two states, if these differ. */
static uint64_t traffic(void)
{
	return 7 + (reads % 2 && memcmp(&states[0], &states[1], sizeof(states[0])));
}

static int set_option(int option, const void *value)
{
	(void)value;
	filters += option == SO_ATTACH_BPF;
	filters -= option == SO_DETACH_FILTER;
	return 0;
}

#define xiw_netif_find_pair(e, local, remote, name, here) find(local, name, here)
#define xiw_netif_by_name(e, name, netif, why, len) by_name(netif)
#define xiw_ecn_of(fd) XIW_ECN_PLAIN
#define xiw_table_claim(t, key, skew) claim_slot(key, skew)
#define xiw_table_share_used(t, key) share_used(key)
#define xiw_table_insert(t, index) 0
#define xiw_table_make_room(t, now) ((void)(t), (void)(now), false)
#define xiw_table_remove(t, index) ((void)removed++)
#define xiw_table_abandon(t, index) ((void)abandoned++)
#define xiw_sock_read(fd, state) read_sock(state)
#define xiw_sock_traffic(fd) traffic()
#define setsockopt(fd, level, option, value, len) set_option(option, value)
#define xiw_route_begin(c) ((void)(c))
#define xiw_counts_publish(c) ((void)(c))
#include "conn/register.c"

static struct xiw_engine *e;
static struct xiw_conn *c;
static struct xiw_conn *by_flow[8];

static void setup(void)
{
	e = calloc(1, sizeof(*e));
	c = aligned_alloc(64, (sizeof(*c) + 63) & ~63ul);
	cr_assert(e && c);
	memset(c, 0, sizeof(*c));
	c->engine = e;
	e->agenda.slotless_end = &e->agenda.slotless;
	c->addr.local.ss_family = c->addr.remote.ss_family = AF_INET;
	c->reg.window = 1 << 20;
	eth.table.flows = flows;
	eth.by_flow = by_flow;
	states[0] = (struct xiw_sock_state){
		.rcv_nxt = 1000, .copied_seq = 900, .rcv_edge = 9000, .snd_nxt = 50, .rcv_wscale = 2
	};
	states[1] = states[0];
	reads = 0;
}

static void teardown(void)
{
	free(c);
	free(e);
}

TestSuite(conn_register, .init = setup, .fini = teardown);

/* Another interface, or the same one later, has its own patience. */
Test(conn_register, what_was_waited_for_before_does_not_count)
{
	e->unready.waited_ms = 1000;
	cr_expect_eq(xiw_conn_register(c), 0);
	cr_expect_eq(e->unready.waited_ms, 0);
}

/* RFC 7323 section 2.3: a window field has 16 bits. */
Test(conn_register, no_window_that_cannot_be_said)
{
	cr_expect_eq(xiw_conn_register(c), 0);
	cr_expect_eq(c->reg.window, 0xffffu << 2);
	cr_expect_eq(c->flow->window, 0xffffu << 2);
	cr_expect_eq(by_flow[SLOT], c);
	cr_expect_eq(filters, 1);
}

/* XDP did not see those segments. The stream goes on at the octet that the first read was about. */
Test(conn_register, what_came_during_the_publication_counts)
{
	left_skew = OLD_SKEW;
	states[1].rcv_nxt = 1500;
	states[1].rcv_edge = 9600;
	states[1].snd_nxt = 80;
	cr_expect_eq(xiw_conn_register(c), 0);
	cr_expect_eq(c->flow->kernel_high, 1500 + OLD_SKEW);
	cr_expect_eq(c->flow->kernel_edge, 9600 + OLD_SKEW);
	cr_expect_eq(c->flow->socket_edge, 9600);
	cr_expect_eq(c->flow->snd_nxt, 80);
	cr_expect_eq(c->recv.nxt, 900 + OLD_SKEW);
	cr_expect_eq(reads, 2);
}

/* Each read puts the socket under repair, where it may hold back what it could send. */
Test(conn_register, a_quiet_socket_is_read_once)
{
	left_skew = OLD_SKEW;
	cr_expect_eq(xiw_conn_register(c), 0);
	cr_expect_eq(c->flow->kernel_high, 1000 + OLD_SKEW);
	cr_expect_eq(c->flow->kernel_edge, 9000 + OLD_SKEW);
	cr_expect_eq(c->flow->snd_nxt, 50);
	cr_expect_eq(c->recv.nxt, 900 + OLD_SKEW);
	cr_expect_eq(reads, 1);
}

/* Nobody knows where the octets are that came out of order. */
Test(conn_register, octets_out_of_order_may_be_anywhere)
{
	states[1].ooo = true;
	cr_expect_eq(xiw_conn_register(c), 0);
	cr_expect_eq(c->flow->kernel_high, 9000);
}

static void expect_none(void)
{
	cr_expect_eq(xiw_conn_register(c), -ENOTCONN);
	cr_expect_null(c->flow);
	cr_expect_null(c->netif);
	cr_expect_null(by_flow[SLOT]);
}

/* Nothing follows a FIN. Without XDP the segments may come by any interface, so the filter goes, too. */
Test(conn_register, a_stream_that_has_ended_gets_no_slot)
{
	states[1].ended = true;
	expect_none();
	cr_expect_eq(removed, 1);
	cr_expect_eq(abandoned, 0);
	cr_expect_eq(filters, 0);
}

/* The numbers are translated as long as the slot is there. */
Test(conn_register, and_leaves_one_that_translates)
{
	left_skew = OLD_SKEW;
	states[1].ended = true;
	expect_none();
	cr_expect_eq(removed, 0);
	cr_expect_eq(abandoned, 1);
	cr_expect_eq(filters, 1);
}

/* TCP_REPAIR fails on a socket of MPTCP, and its own error says nothing that would help. */
Test(conn_register, sockets_of_mptcp)
{
	slots_left = 2;
	states[1].ended = true;
	c->fd = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
	expect_none();
	cr_expect(strstr(c->no_direct, "socket of the connection"), "%s", c->no_direct);
	close(c->fd);
	c->fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	if (c->fd < 0)
		return;
	expect_none();
	cr_expect_str_eq(c->no_direct, XIW_SOCK_MPTCP);
	close(c->fd);
}

/* First come, first served; one that has ended meanwhile takes none. */
Test(conn_register, slots_that_become_free_go_to_those_that_wait)
{
	struct xiw_conn *waits[3];

	slots_left = 0;
	for (int i = 0; i < 3; i++) {
		waits[i] = aligned_alloc(64, (sizeof(*c) + 63) & ~63ul);
		memcpy(waits[i], c, sizeof(*c));
		waits[i]->state = XIW_OPEN;
		cr_expect_eq(xiw_conn_register(waits[i]), -ENOSPC);
		cr_expect_eq(waits[i]->recv.nxt, 900);
	}
	waits[0]->end.eof = true;
	slots_left = 1;
	e->now_ms = e->wheel.collect_ms;
	xiw_slots_collect(e);
	cr_expect_null(waits[0]->flow);
	cr_expect_eq(waits[1]->flow, &flows[SLOT]);
	cr_expect(waits[1]->handoff.want_arm);
	cr_expect_null(waits[2]->flow);
	cr_expect_eq(e->agenda.slotless, waits[2]);
	cr_expect_eq(e->wheel.collect_ms, e->now_ms + XIW_COLLECT_MS);
	for (int i = 0; i < 3; i++)
		free(waits[i]);
}

static void set_port(struct xiw_conn *conn, uint16_t port)
{
	((struct sockaddr_in *)&conn->addr.remote)->sin_port = port;
}

/* Those of a peer that has its share are tried once each, and do not stand before others. */
Test(conn_register, who_has_its_share_waits_and_lets_others_pass)
{
	struct xiw_conn *waits[3];

	crowd_port = 7;
	slots_left = 0;
	for (int i = 0; i < 3; i++) {
		waits[i] = aligned_alloc(64, (sizeof(*c) + 63) & ~63ul);
		memcpy(waits[i], c, sizeof(*c));
		waits[i]->state = XIW_OPEN;
		set_port(waits[i], i < 2 ? 7 : 8);
		cr_expect_eq(xiw_conn_register(waits[i]), i < 2 ? -EDQUOT : -ENOSPC);
	}
	cr_expect_str_eq(waits[0]->no_direct,
			 "flow table of eth7: this peer has its share; tried again "
			 "when a connection has ended");
	slots_left = 2;
	asked = 0;
	e->now_ms = e->wheel.collect_ms;
	xiw_slots_collect(e);
	cr_expect_eq(asked, 3);
	cr_expect_null(waits[0]->flow);
	cr_expect_null(waits[1]->flow);
	cr_expect_eq(waits[2]->flow, &flows[SLOT]);
	cr_expect_eq(e->agenda.slotless, waits[0]);
	crowd_port = 0;
	e->now_ms = e->wheel.collect_ms;
	xiw_slots_collect(e);
	cr_expect_eq(waits[0]->flow, &flows[SLOT]);
	cr_expect_eq(slots_left, 0);
	for (int i = 0; i < 3; i++)
		free(waits[i]);
}

Test(conn_register, our_own_connections_have_no_share)
{
	crowd_port = 7;
	set_port(c, 7);
	c->initiator = true;
	cr_expect_eq(xiw_conn_register(c), 0);
}
