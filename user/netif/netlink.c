// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/netlink.h"

#include <errno.h>
#include <linux/if_link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* One datagram of the answer. 1: more follow; 0: that was all; or negative errno. */
static int take_datagram(const struct nlmsghdr *n, size_t len, bool dump,
			 void (*take)(const struct nlmsghdr *n, void *ctx), void *ctx)
{
	if (!NLMSG_OK(n, len))
		return -EPROTO;
	for (; NLMSG_OK(n, len); n = NLMSG_NEXT(n, len)) {
		if (n->nlmsg_type == NLMSG_DONE)
			return 0;
		if (n->nlmsg_type == NLMSG_ERROR)
			return ((const struct nlmsgerr *)NLMSG_DATA(n))->error;
		take(n, ctx);
	}
	return dump;
}

#define ANSWER_MAX 32768 /* octets of a datagram: what the kernel makes of a dump */

/*
 * Memory for one is kept, because engines ask while data come. It is not on the stack: threads of the application ask,
 * too, and may have small stacks.
 */
static void *spare;

static void *take_memory(void)
{
	void *memory = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQUIRE);

	return memory ? memory : malloc(ANSWER_MAX);
}

static void keep_memory(void *memory)
{
	free(__atomic_exchange_n(&spare, memory, __ATOMIC_ACQ_REL));
}

int xiw_netlink_ask(int protocol, const struct nlmsghdr *request,
		    void (*take)(const struct nlmsghdr *n, void *ctx), void *ctx)
{
	const bool dump = (request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
	struct nlmsghdr *answer = take_memory();
	int fd, err = 1;
	ssize_t len;

	if (!answer)
		return -ENOMEM;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	if (fd < 0 || send(fd, request, request->nlmsg_len, 0) < 0)
		err = -errno;
	while (err > 0) {
		len = recv(fd, answer, ANSWER_MAX, 0);
		err = len < 0 ? -errno : take_datagram(answer, (size_t)len, dump, take, ctx);
	}
	if (fd >= 0)
		close(fd);
	keep_memory(answer);
	return err;
}

struct rtattr *xiw_netlink_put(struct nlmsghdr *request, uint16_t type, const void *value,
			       size_t len)
{
	struct rtattr *a = (void *)((uint8_t *)request + request->nlmsg_len);

	/* It lies behind the header, in what the header is a member of. Compilers that see both would warn. */
	__asm__("" : "+r"(a));
	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), value, len);
	request->nlmsg_len += (uint32_t)RTA_SPACE(len);
	return a;
}

const struct rtattr *xiw_netlink_attr(const struct rtattr *a, int len, int type)
{
	for (; RTA_OK(a, len); a = RTA_NEXT(a, len))
		if ((a->rta_type & NLA_TYPE_MASK) == type)
			return a;
	return NULL;
}

const struct rtattr *xiw_netlink_link_attr(const struct nlmsghdr *n, int type)
{
	const struct ifinfomsg *i = NLMSG_DATA(n);

	return xiw_netlink_attr(IFLA_RTA(i), (int)n->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*i)),
				type);
}

const struct rtattr *xiw_netlink_nested(const struct rtattr *a, int type)
{
	return xiw_netlink_attr(RTA_DATA(a), (int)RTA_PAYLOAD(a), type);
}

uint32_t xiw_netlink_u32(const struct rtattr *a)
{
	uint32_t v = 0;

	if (a && RTA_PAYLOAD(a) >= sizeof(v))
		memcpy(&v, RTA_DATA(a), sizeof(v));
	return v;
}
