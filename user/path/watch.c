// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Watches the interfaces that connections use. Somebody may take a BPF program off, or put another in its
 * place. Then nobody translates sequence numbers any more, and a connection whose numbers differ from the
 * wire's cannot go on, by either path. It ends at once, with a reset, so that both ends know. A connection
 * whose numbers are the wire's goes on by the kernel path alone.
 *
 * The same holds for a connection whose local address is removed, or whose packets go around the interface for
 * good.
 *
 * The kernel reports most changes by rtnetlink. A periodic check finds the others.
 */
#include "path/watch.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/agenda.h"
#include "core/news.h"
#include "core/netif.h"
#include "core/ring.h"
#include "core/serve.h"
#include "netif/interface.h"
#include "netif/query.h"
#include "path/fallback.h"
#include "path/front.h"
#include "path/hop.h"
#include "path/progress.h"
#include "path/rebind.h"
#include "path/route.h"

/* An address may be gone for so long, because DHCP and scripts remove addresses and add them again. */
#define ADDRESS_MS 1000
#define HOMELESS 60 /* so many looks, by ADDRESS_MS: people restart networks, and addresses move to hosts and back */
#define HOMELESS_TEXT "its local address is gone"
#define SOON_MS 50 /* time between two looks when another queue can be had */

static bool in_use(const struct xiw_engine *e, const struct xiw_netif *p)
{
	for (const struct xiw_conn *c = e->conns; c; c = c->next)
		if (c->flow && c->netif == p)
			return true;
	return false;
}

/*
 * Takes an interface out of use. Its AF_XDP sockets live until io_uring has let go of them (xiw_watch_sweep()).
 */
static void retire(struct xiw_engine *e, struct xiw_netif *p)
{
	struct xiw_netif **at = &e->netifs;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->next = e->retired;
	e->retired = p;
	e->watch.rebinds -= p->rebinds;
	p->rebinds = false;
	for (uint32_t i = 0; i < p->nqueues; i++)
		if (p->queues[i].polled)
			io_uring_prep_cancel64(xiw_sqe(e, NULL, XIW_OP_NONE),
					       (uintptr_t)&p->queues[i] | XIW_OP_POLL_XSK, 0);
}

/* Says whether io_uring has no operation on the interface's sockets any more. */
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
		xiw_netif_free(e, p);
	}
}

/* Removes the connection from XDP, if its numbers need no translation. Returns false if they do. */
static bool release(struct xiw_conn *c)
{
	if (c->stretch.state != XIW_STRETCH_OFF || xiw_flow_to_kernel(c->flow))
		return false;
	xiw_flow_report(c->flow, &c->reg.last);
	c->netif->by_flow[c->reg.index] = NULL;
	xiw_table_remove(&c->netif->table, c->reg.index);
	setsockopt(c->fd, SOL_SOCKET, SO_DETACH_FILTER, NULL, 0);
	c->flow = NULL;
	c->netif = NULL;
	return true;
}

/* The interface may be in another network namespace, or have been made anew, with another number. */
static void say_gone(struct xiw_conn *c, const struct xiw_netif *p, const char *program)
{
	char now[IF_NAMESIZE];

	if (if_indextoname(p->ifindex, now))
		snprintf(c->no_direct, sizeof(c->no_direct),
			 "%s was taken off %s: unload and load xiwarp there, and start this again",
			 program, p->ifname);
	else
		snprintf(c->no_direct, sizeof(c->no_direct),
			 "%s has gone: when it is back, and xiwarp loaded there, start this again",
			 p->ifname);
}

/* A program of the interface is gone: connections that need it end, all others leave XDP. */
static void programs_gone(struct xiw_engine *e, struct xiw_netif *p, const char *program)
{
	for (struct xiw_conn *c = e->conns, *next; c; c = next) {
		next = c->next;
		if (!c->flow || c->netif != p)
			continue;
		say_gone(c, p, program);
		if (!release(c))
			xiw_conn_ask_end(c, EUNATCH, true);
	}
	retire(e, p);
}

/* The interface's connections take the kernel path from now on. */
static void bar_all(struct xiw_engine *e, const struct xiw_netif *p, enum xiw_reason reason)
{
	for (struct xiw_conn *c = e->conns, *next; c; c = next) {
		next = c->next;
		if (!c->flow || c->netif != p)
			continue;
		xiw_progress_lasting(c, reason);
		xiw_conn_bar(c, reason);
	}
}

/*
 * Ends connections whose packets have gone around the programs for too long. So many are looked at each time, in turn,
 * because idle ones are to cost nothing.
 */
static void check_routes(struct xiw_engine *e)
{
	struct xiw_conn *c = e->watch.next_route ? e->watch.next_route : e->conns;

	for (uint32_t n = 0; c && n < XIW_LOOK_ROUTES && n < e->nconns; n++) {
		if (c->flow && !c->end.asked && !xiw_route_check(c))
			xiw_conn_ask_end(c, EUNATCH, true);
		c = c->next ? c->next : e->conns;
		e->watch.routes++;
	}
	e->watch.next_route = c;
}

/*
 * TCP waits for the address to come back, and so the connection takes the kernel path. Its programs translate, if need
 * be, and begin no stretch before xiw_egress has seen a packet, which shows that the address is there.
 */
static void lost_home(struct xiw_conn *c)
{
	snprintf(c->no_direct, sizeof(c->no_direct), HOMELESS_TEXT);
	if (c->route.homeless++ == HOMELESS) {
		xiw_conn_ask_end(c, EUNATCH, true);
		return;
	}
	xiw_fall_back(c, XIW_REASON_EGRESS, NULL);
	xiw_flow_unseen(c->flow);
	c->engine->watch.addresses_ms = c->engine->now_ms + ADDRESS_MS;
}

static void came_home(struct xiw_conn *c)
{
	c->route.homeless = 0;
	if (!strcmp(c->no_direct, HOMELESS_TEXT))
		c->no_direct[0] = '\0';
}

static void look_at_addresses(struct xiw_engine *e)
{
	struct ifaddrs *all;

	if (!e->watch.addresses_ms || e->watch.addresses_ms > e->now_ms)
		return;
	e->watch.addresses_ms = 0;
	if (xiw_if_addresses(&all))
		return;
	for (struct xiw_conn *c = e->conns, *next; c; c = next) {
		next = c->next;
		if (!c->flow)
			continue;
		if (!xiw_address_of(all, &c->addr.local))
			lost_home(c);
		else if (c->route.homeless)
			came_home(c);
	}
	freeifaddrs(all);
}

/* Checks all interfaces, their addresses and the connections' routes. */
static void look(struct xiw_engine *e)
{
	uint64_t soon = XIW_NEVER;

	e->watch.look_now = false;
	for (struct xiw_netif *p = e->netifs, *next; p; p = next) {
		next = p->next;
		xiw_netif_look_at_mtu(p);
		xiw_netif_refresh(p);
		if (xiw_netif_strips_now(p))
			bar_all(e, p, XIW_REASON_TAGS);
		if (xiw_netif_filtered_now(p))
			bar_all(e, p, XIW_REASON_BRIDGE);
		if (!xiw_query_xdp((int)p->ifindex, p->xdp_id))
			programs_gone(e, p, "xiw_ingress");
		else if (!xiw_front_there(e, p))
			programs_gone(e, p, "xiw_egress");
		else if (!xiw_rebind_look(e, p) && xiw_queues_look(e, p))
			soon = e->now_ms + SOON_MS;
	}
	look_at_addresses(e);
	xiw_news_conntrack(e);
	check_routes(e);
	e->watch.look_ms = e->netifs ? e->now_ms + XIW_LOOK_MS : XIW_NEVER;
	if (e->netifs && e->watch.addresses_ms && e->watch.addresses_ms < e->watch.look_ms)
		e->watch.look_ms = e->watch.addresses_ms;
	if (soon < e->watch.look_ms)
		e->watch.look_ms = soon;
}

static void address_gone(struct xiw_engine *e)
{
	if (!e->watch.addresses_ms)
		e->watch.addresses_ms = e->now_ms + ADDRESS_MS;
}

/* Returns the index of the interface that a message is about, or 0. */
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

/*
 * Handles one rtnetlink message. Messages about interfaces that the engine does not use cost nothing, because
 * those may change all the time.
 */
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
 * A program may have been taken off and be back by now. Segments that came in between lie in sockets under wire
 * numbers, where later octets belong. The kernel reports the removal before the program can be attached again,
 * and only after that a socket can give such octets as if they were in order. Therefore the messages are read
 * before the octets.
 */
void xiw_watch_read(struct xiw_engine *e)
{
	char *const buffer = e->watch.messages;
	const struct nlmsghdr *n;
	ssize_t got;
	size_t len;

	if (e->watch.read || e->watch.fd < 0)
		return;
	e->watch.read = true;
	while ((got = recv(e->watch.fd, buffer, sizeof(e->watch.messages), 0)) > 0 ||
	       errno == ENOBUFS) {
		len = got > 0 ? (size_t)got : 0;
		xiw_news_forget(e);
		/* The kernel has dropped messages, which may have been about anything. */
		if (!len) {
			e->watch.look_now = true;
			address_gone(e);
			xiw_hop_news(e);
		}
		for (n = (void *)buffer; NLMSG_OK(n, len); n = NLMSG_NEXT(n, len)) {
			take_message(e, n);
			xiw_hop_note(e, n);
		}
	}
}

/* All other changes are handled by a check of the present state, which also covers lost messages. */
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
	xiw_hop_scan(e);
	xiw_wake_at(e, e->watch.look_ms);
}
