// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The rtnetlink socket by which the kernel reports changes of interfaces, programs and addresses to the engine. */
#include "core/news.h"

#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/agenda.h"
#include "core/ring.h"
#include "netif/conntrack.h"
#include "netif/interface.h"

#define NEWS_ROOM (1 << 20) /* receive buffer: messages pile up while the process does not run */

void xiw_news_poll(struct xiw_engine *e)
{
	if (e->watch.fd < 0 || e->watch.polled)
		return;
	io_uring_prep_poll_add(xiw_sqe(e, e, XIW_OP_WATCH), e->watch.fd, POLLIN);
	e->watch.polled = true;
}

/* Asked without reading: an error of the socket, such as dropped messages, is for xiw_watch_read(). */
static bool quiet(const struct xiw_engine *e)
{
	struct pollfd p = { .fd = e->watch.fd, .events = POLLIN };

	return e->watch.fd >= 0 && poll(&p, 1, 0) == 0;
}

int xiw_news_addresses(struct xiw_engine *e, const struct ifaddrs **all)
{
	int err = 0;

	/* What is asked for while a message waits may be older than what comes behind the message. */
	if (!e->watch.addresses || !quiet(e)) {
		xiw_news_forget(e);
		err = xiw_if_addresses(&e->watch.addresses);
	}
	*all = e->watch.addresses;
	return err;
}

void xiw_news_forget(struct xiw_engine *e)
{
	if (e->watch.addresses)
		freeifaddrs(e->watch.addresses);
	e->watch.addresses = NULL;
}

void xiw_news_conntrack(struct xiw_engine *e)
{
	const uint64_t forgets_ms = xiw_conntrack_forgets_ms();

	if (forgets_ms == e->watch.forgets_ms)
		return;
	e->watch.forgets_ms = forgets_ms;
	for (struct xiw_conn *c = e->conns; c; c = c->next)
		c->timer.alive_ms = e->now_ms;
}

void xiw_news_begin(struct xiw_engine *e)
{
	struct sockaddr_nl groups = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_TC | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR |
			     RTMGRP_NEIGH | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE |
			     RTMGRP_IPV4_RULE | 1 << (RTNLGRP_IPV6_RULE - 1),
	};
	int size = NEWS_ROOM;

	e->watch.look_ms = e->now_ms + XIW_LOOK_MS;
	xiw_wake_at(e, e->watch.look_ms);
	xiw_news_conntrack(e);
	if (e->watch.fd >= 0)
		return;
	e->watch.fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (e->watch.fd >= 0 && bind(e->watch.fd, (struct sockaddr *)&groups, sizeof(groups))) {
		close(e->watch.fd);
		e->watch.fd = -1;
	}
	if (e->watch.fd >= 0)
		setsockopt(e->watch.fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	xiw_news_poll(e);
}
