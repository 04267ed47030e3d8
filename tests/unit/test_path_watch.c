// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the engine makes of rtnetlink's messages, and of those that the kernel had no room for. */
#include <criterion/criterion.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/netif.h"
#include "core/serve.h"
#include "netif/interface.h"
#include "netif/query.h"
#include "path/front.h"

static ssize_t take(int fd, void *buffer, size_t len, int flags);
static int addresses(struct ifaddrs **all);

#define recv take
#define xiw_if_addresses addresses
#define freeifaddrs(all) ((void)(all))
#define xiw_query_xdp(ifindex, id) (looks++, true)
#define xiw_front_there(e, p) true
#define xiw_netif_look_at_mtu(p) ((void)(p))
#define xiw_netif_refresh(p) ((void)(p))
#define xiw_queues_look(e, p) false

static int looks; /* at the interface */

#include "path/watch.c"

#define IFINDEX 7
#define NOW_MS 100000

/* What the socket gives: messages of an address, or errors; 0 is the end. */
static int news[4], at;

static struct xiw_engine *e;
static struct xiw_conn *c;
static struct xiw_netif netif;
static struct xiw_flow flow;
static struct ifaddrs address; /* has the connection's, or none */

static ssize_t take(int fd, void *buffer, size_t len, int flags)
{
	const struct ifaddrmsg a = { .ifa_index = IFINDEX };
	struct nlmsghdr n = { .nlmsg_len = NLMSG_LENGTH(sizeof(a)) };

	(void)fd, (void)len, (void)flags;
	if (news[at] <= 0) {
		errno = news[at] ? -news[at] : EAGAIN;
		at += news[at] < 0;
		return -1;
	}
	n.nlmsg_type = (uint16_t)news[at++];
	memcpy(buffer, &n, sizeof(n));
	memcpy((uint8_t *)buffer + NLMSG_HDRLEN, &a, sizeof(a));
	return n.nlmsg_len;
}

static int addresses(struct ifaddrs **all)
{
	*all = &address;
	return 0;
}

/* One connection, whose numbers differ from the wire's, and whose address is there. */
static void setup(void)
{
	e = calloc(1, sizeof(*e));
	c = aligned_alloc(64, (sizeof(*c) + 63) & ~63ul);
	cr_assert(e && c);
	memset(c, 0, sizeof(*c));
	e->now_ms = NOW_MS;
	e->watch.look_ms = NOW_MS + 400;
	e->netifs = &netif;
	e->conns = c;
	e->nconns = 1;
	netif.ifindex = IFINDEX;
	c->engine = e;
	c->netif = &netif;
	c->flow = &flow;
	c->fd = -1;
	c->state = XIW_OPEN;
	c->addr.local.ss_family = AF_INET;
	flow.owner = xiw_owner_pack(4000, 7, XIW_PATH_KERNEL);
	address.ifa_addr = (struct sockaddr *)&c->addr.local;
}

static void teardown(void)
{
	free(c);
	free(e);
}

TestSuite(path_watch, .init = setup, .fini = teardown);

static void read_news(void)
{
	xiw_watch_read(e);
	if (e->watch.look_now)
		look(e);
}

/* Looks whenever it is time to, and returns at what time the connection ends; 0: not within 70 seconds. */
static uint64_t ends_at(void)
{
	while (e->now_ms < NOW_MS + 70000) {
		e->now_ms++;
		if (e->watch.look_ms <= e->now_ms)
			look(e);
		if (c->end.asked)
			return e->now_ms;
	}
	return 0;
}

/* The same, until it says that its address is gone. */
static uint64_t told_at(void)
{
	while (!c->no_direct[0] && e->now_ms < NOW_MS + 70000) {
		e->now_ms++;
		if (e->watch.look_ms <= e->now_ms)
			look(e);
	}
	return e->now_ms;
}

/* The connection takes the kernel path meanwhile, until xiw_egress sees a packet. */
Test(path_watch, an_address_may_be_gone_for_a_minute)
{
	struct sockaddr *was = address.ifa_addr;

	news[0] = RTM_DELADDR;
	address.ifa_addr = NULL;
	read_news();
	while (e->now_ms < NOW_MS + 5500) {
		e->now_ms++;
		if (e->watch.look_ms <= e->now_ms)
			look(e);
	}
	cr_expect_str_eq(c->no_direct, "its local address is gone");
	cr_expect_eq(flow.egress_floor, flow.egress_segs + 1);
	address.ifa_addr = was;
	cr_expect_eq(ends_at(), 0);
	cr_expect_str_eq(c->no_direct, "");
}

Test(path_watch, an_address_that_does_not_come_back_ends_it)
{
	news[0] = RTM_DELADDR;
	address.ifa_addr = NULL;
	read_news();
	cr_expect_eq(ends_at(), NOW_MS + 61000);
	cr_expect_eq(c->end.asked_error, EUNATCH);
	cr_expect(c->end.at_once);
	cr_expect_str_eq(c->no_direct, "its local address is gone");
}

/* Nobody asks for all addresses in each second. */
Test(path_watch, addresses_are_looked_at_once_and_only_after_news)
{
	news[0] = RTM_DELADDR;
	read_news();
	while (e->now_ms < NOW_MS + 1500) {
		e->now_ms++;
		if (e->watch.look_ms <= e->now_ms)
			look(e);
	}
	address.ifa_addr = NULL;
	cr_expect_eq(ends_at(), 0);
}

/* Another removal meanwhile gives no more time. */
Test(path_watch, the_second_begins_with_the_first_removal)
{
	news[0] = RTM_DELADDR;
	address.ifa_addr = NULL;
	read_news();
	e->now_ms += 600;
	news[0] = RTM_DELADDR;
	at = 0;
	e->watch.read = false;
	read_news();
	cr_expect_eq(told_at(), NOW_MS + 1000);
}

/* The messages that were dropped may have been about the programs: the interface is looked at at once. */
Test(path_watch, dropped_messages_make_it_look_at_once)
{
	news[0] = -ENOBUFS;
	read_news();
	cr_expect_eq(looks, 1);
	cr_expect_not(c->end.asked);
}

/* Or about the addresses, for which a look a second later is as good as after the message. */
Test(path_watch, dropped_messages_make_it_look_at_addresses)
{
	news[0] = -ENOBUFS;
	address.ifa_addr = NULL;
	read_news();
	cr_expect_eq(told_at(), NOW_MS + 1000);
}

/* Or about neighbours and routes. */
Test(path_watch, dropped_messages_make_it_look_at_next_hops)
{
	news[0] = -ENOBUFS;
	read_news();
	cr_expect(e->watch.hops.due);
}

/* What lies behind the gap is read before the octets of sockets are. */
Test(path_watch, messages_behind_dropped_ones_are_read)
{
	news[0] = -ENOBUFS;
	news[1] = RTM_NEWADDR;
	xiw_watch_read(e);
	cr_expect_eq(at, 2);
}

/* A new address asks for nothing, and news of another interface does not either. */
Test(path_watch, what_does_not_concern_it_costs_no_look)
{
	news[0] = RTM_NEWADDR;
	read_news();
	netif.ifindex = IFINDEX + 1;
	news[1] = RTM_DELADDR;
	e->watch.read = false;
	read_news();
	cr_expect_eq(at, 2);
	cr_expect_eq(looks, 0);
	cr_expect_eq(e->watch.addresses_ms, 0);
}
