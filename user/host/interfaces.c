// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An engine watches the interfaces of connections that go direct, for other reasons (path/watch.c). This is for
 * programs, whose devices they are, and for all connections.
 */
#include "host/interfaces.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cancel.h"
#include "conn/sockopts.h"
#include "host/alone.h"
#include "host/life.h"
#include "netif/interface.h"

void (*xiw_host_interface_changed)(int ifindex, enum xiw_host_interface state);
void (*xiw_host_addresses_gone)(bool (*is_here)(const struct sockaddr *addr));

/* With xiw_host_lock. */
static struct {
	struct xiw_host_life life;
	int fd;
} watch = { .fd = -1 };

static struct ifaddrs *addresses; /* of the thread */

static bool is_here(const struct sockaddr *addr)
{
	for (const struct ifaddrs *a = addresses; a; a = a->ifa_next)
		if (a->ifa_addr && xiw_if_same_ip(a->ifa_addr, addr))
			return true;
	return false;
}

static void tell(int ifindex, enum xiw_host_interface state)
{
	const bool look = state == XIW_HOST_INTERFACE_GONE && !xiw_if_addresses(&addresses);

	pthread_mutex_lock(&xiw_host_lock);
	if (xiw_host_interface_changed)
		xiw_host_interface_changed(ifindex, state);
	if (look)
		xiw_host_addresses_gone(is_here);
	pthread_mutex_unlock(&xiw_host_lock);
	if (look)
		freeifaddrs(addresses);
}

/* A port that leaves its bridge is an interface that goes, too, in another family. */
static void take(const struct nlmsghdr *n, void *ctx)
{
	const struct ifinfomsg *i = NLMSG_DATA(n);
	const unsigned int up = IFF_UP | IFF_RUNNING;

	(void)ctx;
	if (n->nlmsg_len < NLMSG_LENGTH(sizeof(*i)))
		return;
	if (n->nlmsg_type == RTM_DELLINK && i->ifi_family == AF_UNSPEC)
		tell(i->ifi_index, XIW_HOST_INTERFACE_GONE);
	else if (n->nlmsg_type == RTM_NEWLINK)
		tell(i->ifi_index,
		     (i->ifi_flags & up) == up ? XIW_HOST_INTERFACE_UP : XIW_HOST_INTERFACE_DOWN);
}

static void *run(void *arg)
{
	const int fd = (int)(intptr_t)arg;
	union {
		struct nlmsghdr first;
		char octets[16384];
	} buf;

	xiw_host_thread_begins();
	while (true) {
		const ssize_t len = recv(fd, &buf, sizeof(buf), 0);
		int left = (int)len;

		/* Some were lost: what is there is told again. */
		if (len < 0 && errno == ENOBUFS)
			xiw_if_ask(0, take, NULL);
		else if (len < 0 && errno != EINTR)
			break;
		for (const struct nlmsghdr *n = &buf.first; left > 0 && NLMSG_OK(n, left);
		     n = NLMSG_NEXT(n, left))
			take(n, NULL);
	}
	xiw_host_thread_ends();
	return NULL;
}

static int open_rtnetlink(void)
{
	const struct sockaddr_nl links = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
	int fd = xiw_sock_raised(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&links, sizeof(links))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void start(int fd)
{
	sigset_t every, was;
	pthread_t thread;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &was);
	if (!pthread_create(&thread, NULL, run, (void *)(intptr_t)fd)) {
		pthread_setname_np(thread, "xiwarp/links");
		pthread_detach(thread);
	}
	pthread_sigmask(SIG_SETMASK, &was, NULL);
}

void xiw_host_interfaces_watch(void)
{
	const int cancel = xiw_cancel_off();
	bool begins;
	int fd = -1;

	pthread_mutex_lock(&xiw_host_lock);
	begins = xiw_host_dead(&watch.life);
	if (begins) {
		xiw_host_born(&watch.life);
		if (watch.fd >= 0)
			close(watch.fd); /* the parent's */
		watch.fd = fd = open_rtnetlink();
	}
	pthread_mutex_unlock(&xiw_host_lock);
	if (fd >= 0)
		start(fd);
	xiw_cancel_restore(cancel);
}
