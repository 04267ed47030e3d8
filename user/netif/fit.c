// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/fit.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define KIND_MAX 16

struct links {
	uint32_t ifindex;
	char kind[KIND_MAX];   /* of the interface */
	char member[KIND_MAX]; /* of what it is a member of */
	bool vlans;	       /* some are on top of it */
};

static const struct rtattr *find(const struct rtattr *a, int len, int type)
{
	for (; RTA_OK(a, len); a = RTA_NEXT(a, len))
		if ((a->rta_type & NLA_TYPE_MASK) == type)
			return a;
	return NULL;
}

static void copy_kind(char kind[KIND_MAX], const struct rtattr *info, int type)
{
	const struct rtattr *a = find(RTA_DATA(info), (int)RTA_PAYLOAD(info), type);

	if (a)
		snprintf(kind, KIND_MAX, "%.*s", (int)RTA_PAYLOAD(a), (const char *)RTA_DATA(a));
}

static void read_link(struct links *l, const struct nlmsghdr *n)
{
	const struct ifinfomsg *i = NLMSG_DATA(n);
	int len = (int)n->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*i));
	const struct rtattr *info = find(IFLA_RTA(i), len, IFLA_LINKINFO);
	const struct rtattr *below = find(IFLA_RTA(i), len, IFLA_LINK);
	char kind[KIND_MAX] = "";
	uint32_t at = 0;

	if (!info)
		return;
	if ((uint32_t)i->ifi_index == l->ifindex) {
		copy_kind(l->kind, info, IFLA_INFO_KIND);
		copy_kind(l->member, info, IFLA_INFO_SLAVE_KIND);
	}
	/* In another namespace it is of that one, with another number. */
	if (!below || find(IFLA_RTA(i), len, IFLA_LINK_NETNSID))
		return;
	memcpy(&at, RTA_DATA(below), sizeof(at));
	copy_kind(kind, info, IFLA_INFO_KIND);
	l->vlans |= at == l->ifindex && !strcmp(kind, "vlan");
}

/* False: the end, or nobody knows. */
static bool read_links(struct links *l, const struct nlmsghdr *n, ssize_t got)
{
	size_t len = got > 0 ? (size_t)got : 0;

	for (; NLMSG_OK(n, len); n = NLMSG_NEXT(n, len)) {
		if (n->nlmsg_type != RTM_NEWLINK)
			return false;
		read_link(l, n);
	}
	return got > 0;
}

static void ask(struct links *l)
{
	const struct {
		struct nlmsghdr n;
		struct ifinfomsg i;
	} request = {
		.n = { .nlmsg_len = sizeof(request),
		       .nlmsg_type = RTM_GETLINK,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
	};
	union {
		struct nlmsghdr n;
		char octets[32768];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return;
	if (send(fd, &request, sizeof(request), 0) == sizeof(request))
		while (read_links(l, &answer.n, recv(fd, &answer, sizeof(answer), 0)))
			;
	close(fd);
}

static bool strips_tags(const char *ifname)
{
	struct ethtool_value flags = { .cmd = ETHTOOL_GFLAGS };
	struct ifreq ifr = { .ifr_data = (void *)&flags };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool on;

	if (fd < 0)
		return false;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	on = !ioctl(fd, SIOCETHTOOL, &ifr) && flags.data & ETH_FLAG_RXVLAN;
	close(fd);
	return on;
}

int xiw_fit(uint32_t ifindex, const char *ifname, char *why, size_t len)
{
	struct links l = { .ifindex = ifindex };

	ask(&l);
	if (!strcmp(l.kind, "bond") || !strcmp(l.kind, "team"))
		snprintf(why, len, "%s is a %s: AF_XDP gets no frames there", ifname, l.kind);
	else if (!strcmp(l.kind, "vrf"))
		snprintf(why, len, "%s is a VRF", ifname);
	else if (!strcmp(l.member, "vrf"))
		snprintf(why, len, "%s is in a VRF", ifname);
	else if (l.vlans && strips_tags(ifname))
		snprintf(why, len, "%s has VLANs, and strips their tags: ethtool -K %s rxvlan off",
			 ifname, ifname);
	else
		return 0;
	return -EOPNOTSUPP;
}
