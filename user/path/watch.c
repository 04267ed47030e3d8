// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What becomes of an interface while connections use it. Somebody may take a program off, or put another in its
 * place: then nobody translates sequence numbers any more, and a connection whose numbers differ from the wire's
 * cannot go on, by either path. It ends at once, with a reset, so that both ends know; one that never was
 * direct, or left no octet there, goes on by the kernel's path alone.
 *
 * The same holds for a connection whose local address goes away, or whose packets go around the interface for good.
 *
 * The kernel tells of most changes by rtnetlink; what it does not tell of is found by looking.
 */
#include "path/watch.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/agenda.h"
#include "core/news.h"
#include "core/netif.h"
#include "core/ring.h"
#include "netif/query.h"
#include "path/route.h"

#define ADDRESS_MS                                                                                 \
	1000 /* so long an address may be gone, as DHCP and people with scripts take it off and put it on */

static bool in_use(const struct xiw_engine *e, const struct xiw_netif *p)
{
	for (const struct xiw_conn *c = e->conns; c; c = c->next)
		if (c->flow && c->netif == p)
			return true;
	return false;
}

/* Out of use. The sockets live until io_uring has let go of them: xiw_watch_sweep(). */
static void retire(struct xiw_engine *e, struct xiw_netif *p)
{
	struct xiw_netif **at = &e->netifs;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->next = e->retired;
	e->retired = p;
	for (uint32_t i = 0; i < p->nqueues; i++)
		if (p->queues[i].polled)
			io_uring_prep_cancel64(xiw_sqe(e, NULL, XIW_OP_NONE),
					       (uintptr_t)&p->queues[i] | XIW_OP_POLL_XSK, 0);
}

static bool let_go(const struct xiw_netif *p)
{
	for (uint32_t i = 0; i < p->nqueues; i++)
		if (p->queues[i].polled || p->queues[i].kicking)
			return false;
	return true;
}

void xiw_watch_sweep(struct xiw_engine *e)
{
	for (struct xiw_netif **at = &e->retired; *at;) {
		struct xiw_netif *p = *at;

		if (!let_go(p) || in_use(e, p)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		xiw_netif_free(p);
	}
}

/* Nothing of the connection is to be translated: it goes on without XDP. */
static bool release(struct xiw_conn *c)
{
	if (c->stretch.state != XIW_STRETCH_OFF || xiw_flow_to_kernel(c->flow))
		return false;
	c->reg.last = *c->flow;
	c->netif->by_flow[c->reg.index] = NULL;
	xiw_table_remove(&c->netif->table, c->reg.index);
	setsockopt(c->fd, SOL_SOCKET, SO_DETACH_FILTER, NULL, 0);
	c->flow = NULL;
	c->netif = NULL;
	return true;
}

static void programs_gone(struct xiw_engine *e, struct xiw_netif *p, const char *program)
{
	for (struct xiw_conn *c = e->conns, *next; c; c = next) {
		next = c->next;
		if (!c->flow || c->netif != p)
			continue;
		snprintf(c->no_direct, sizeof(c->no_direct), "%s was taken off %s (xiwarp load %s)",
			 program, p->ifname, p->ifname);
		if (!release(c))
			xiw_conn_ask_end(c, EUNATCH, true);
	}
	retire(e, p);
}

/* Where the connections' packets go; and those that cannot go on end. */
static void check_routes(struct xiw_engine *e)
{
	for (struct xiw_conn *c = e->conns, *next; c; c = next) {
		next = c->next;
		if (c->flow && !xiw_route_check(c))
			xiw_conn_ask_end(c, EUNATCH, true);
	}
}

/* What has no local address any more is TCP's to wait with, for what may never come; but not if it needs us. */
static void look_at_addresses(struct xiw_engine *e)
{
	struct ifaddrs *all;

	if (!e->watch.addresses_ms || e->watch.addresses_ms > e->now_ms)
		return;
	e->watch.addresses_ms = 0;
	if (getifaddrs(&all))
		return;
	for (struct xiw_conn *c = e->conns, *next; c; c = next) {
		next = c->next;
		if (!c->flow || xiw_address_of(all, &c->addr.local))
			continue;
		snprintf(c->no_direct, sizeof(c->no_direct), "its local address is gone");
		if (!release(c))
			xiw_conn_ask_end(c, EUNATCH, true);
	}
	freeifaddrs(all);
}

static void look(struct xiw_engine *e)
{
	e->watch.look_now = false;
	for (struct xiw_netif *p = e->netifs, *next; p; p = next) {
		next = p->next;
		xiw_netif_look_at_mtu(p);
		xiw_netif_refresh(p);
		if (!xiw_query_xdp((int)p->ifindex, p->xdp_id))
			programs_gone(e, p, "xiw_ingress");
		else if (!xiw_query_egress((int)p->ifindex, p->tc_id))
			programs_gone(e, p, "xiw_egress");
		else if (p->outgrown && !in_use(e, p))
			retire(e, p);
	}
	look_at_addresses(e);
	check_routes(e);
	e->watch.look_ms = e->netifs ? e->now_ms + XIW_LOOK_MS : XIW_NEVER;
	if (e->netifs && e->watch.addresses_ms && e->watch.addresses_ms < e->watch.look_ms)
		e->watch.look_ms = e->watch.addresses_ms;
}

static void address_gone(struct xiw_engine *e)
{
	if (!e->watch.addresses_ms)
		e->watch.addresses_ms = e->now_ms + ADDRESS_MS;
}

/* The interface that a message is about; 0: none. */
static uint32_t ifindex_of(const struct nlmsghdr *n)
{
	switch (n->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		return (uint32_t)((const struct ifinfomsg *)NLMSG_DATA(n))->ifi_index;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		return ((const struct ifaddrmsg *)NLMSG_DATA(n))->ifa_index;
	case RTM_NEWTFILTER:
	case RTM_DELTFILTER:
	case RTM_NEWCHAIN:
	case RTM_DELCHAIN:
	case RTM_NEWQDISC:
	case RTM_DELQDISC:
		return (uint32_t)((const struct tcmsg *)NLMSG_DATA(n))->tcm_ifindex;
	default:
		return 0;
	}
}

/* Others' interfaces may come, go and change all the time: of such news nobody looks at anything. */
static void take_message(struct xiw_engine *e, const struct nlmsghdr *n)
{
	uint32_t at = ifindex_of(n);

	for (struct xiw_netif *p = e->netifs, *next; p; p = next) {
		next = p->next;
		if (at != p->ifindex)
			continue;
		if (n->nlmsg_type == RTM_DELADDR)
			address_gone(e);
		else if (n->nlmsg_type != RTM_NEWADDR)
			e->watch.look_now = true;
		if (xiw_query_xdp_left(n, (int)p->ifindex, p->xdp_id))
			programs_gone(e, p, "xiw_ingress");
	}
}

/*
 * A program that was off, and is on again by now, still was off: what came meanwhile lies in the sockets under the
 * numbers of the wire, where octets yet to come belong. The kernel tells that it is off before it can be on again,
 * and only then a socket can give such octets as if they were in order: so the news is read before what sockets gave
 * is looked at.
 */
void xiw_watch_read(struct xiw_engine *e)
{
	union {
		struct nlmsghdr n;
		char octets[16384];
	} news;
	const struct nlmsghdr *n;
	ssize_t got;
	size_t len;

	if (e->watch.read || e->watch.fd < 0)
		return;
	e->watch.read = true;
	while ((got = recv(e->watch.fd, &news, sizeof(news), 0)) > 0 || errno == ENOBUFS) {
		len = got > 0 ? (size_t)got : 0;
		/* What is lost of the news may have been anything. */
		if (!len) {
			e->watch.look_now = true;
			address_gone(e);
		}
		for (n = &news.n; NLMSG_OK(n, len); n = NLMSG_NEXT(n, len))
			take_message(e, n);
	}
}

/* Of everything else what counts is how it is now, and that also if some news was lost. */
void xiw_watch_event(struct xiw_engine *e)
{
	e->watch.polled = false;
	e->watch.read = false;
	xiw_watch_read(e);
	if (e->watch.look_now)
		look(e);
	xiw_news_poll(e);
}

void xiw_watch_scan(struct xiw_engine *e)
{
	if (e->watch.look_ms <= e->now_ms)
		look(e);
	xiw_wake_at(e, e->watch.look_ms);
}
