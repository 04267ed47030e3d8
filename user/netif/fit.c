// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/fit.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <net/if_arp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "netif/bridge.h"
#include "netif/interface.h"
#include "netif/netlink.h"
#include "netif/offload.h"
#include "netif/sysctl.h"

#define KIND_MAX 16

struct links {
	uint32_t ifindex;
	unsigned short type;   /* ARPHRD_... */
	char kind[KIND_MAX];   /* of the interface */
	char member[KIND_MAX]; /* of the interface that it is a member of */
	bool vlans;	       /* there are VLANs on top of it */
};

static void copy_kind(char kind[KIND_MAX], const struct rtattr *info, int type)
{
	const struct rtattr *a = xiw_netlink_nested(info, type);

	if (a)
		snprintf(kind, KIND_MAX, "%.*s", (int)RTA_PAYLOAD(a), (const char *)RTA_DATA(a));
}

static void take_link(const struct nlmsghdr *n, void *ctx)
{
	const struct ifinfomsg *i = NLMSG_DATA(n);
	const struct rtattr *info = xiw_netlink_link_attr(n, IFLA_LINKINFO);
	uint32_t below = xiw_netlink_u32(xiw_netlink_link_attr(n, IFLA_LINK));
	struct links *l = ctx;
	char kind[KIND_MAX] = "";

	if ((uint32_t)i->ifi_index == l->ifindex)
		l->type = i->ifi_type;
	if (!info)
		return;
	copy_kind(kind, info, IFLA_INFO_KIND);
	if ((uint32_t)i->ifi_index == l->ifindex) {
		memcpy(l->kind, kind, sizeof(kind));
		copy_kind(l->member, info, IFLA_INFO_SLAVE_KIND);
	}
	/* If the lower interface is in another namespace, IFLA_LINK is its number there. */
	if (below == l->ifindex && !xiw_netlink_link_attr(n, IFLA_LINK_NETNSID))
		l->vlans |= !strcmp(kind, "vlan");
}

/*
 * Does the kernel take segments out of other packets on the interface? XDP sees the outer ones, and xiw_socket cannot
 * tell that the inner ones have passed it by. The kernel asks both settings.
 */
static bool unwraps(const char *ifname, const char *setting)
{
	const char *const of[] = { "all", ifname };
	bool on = true;

	for (int i = 0; i < 2; i++) {
		char path[128];

		snprintf(path, sizeof(path), "ipv6/conf/%s/%s", of[i], setting);
		on = on && xiw_sysctl_net(path);
	}
	return on;
}

/* May an interface of this kind be a bridge, or lie on one? */
static bool on_bridge(const char *kind)
{
	return !strcmp(kind, "bridge") || !strcmp(kind, "vlan") || !strcmp(kind, "macvlan") ||
	       !strcmp(kind, "ipvlan");
}

static bool strips_tags(const char *ifname)
{
	struct ethtool_value flags = { .cmd = ETHTOOL_GFLAGS };

	return !xiw_if_ethtool(ifname, &flags) && flags.data & ETH_FLAG_RXVLAN;
}

int xiw_fit_name(const char *ifname, char *why, size_t len)
{
	if (strcmp(ifname, "lo") != 0)
		return 0;
	snprintf(why, len,
		 "not on lo, where segments for sockets are injected: use an address of another "
		 "interface");
	return -EOPNOTSUPP;
}

int xiw_fit(uint32_t ifindex, const char *ifname, char *why, size_t len)
{
	struct links l = { .ifindex = ifindex, .type = ARPHRD_ETHER };
	int err = xiw_fit_name(ifname, why, len);

	if (err)
		return err;
	/* If the kernel does not answer, nothing is known against the interface. */
	xiw_if_ask(0, take_link, &l);
	if (l.type != ARPHRD_ETHER)
		snprintf(why, len,
			 "frames of %s (%s) are none of Ethernet: use the interface below it",
			 ifname, l.kind[0] ? l.kind : "of unknown kind");
	else if (!strcmp(l.kind, "bond") || !strcmp(l.kind, "team"))
		snprintf(why, len, "%s is a %s: AF_XDP gets no frames there", ifname, l.kind);
	else if (!strcmp(l.kind, "vrf"))
		snprintf(why, len, "%s is a VRF: sockets and XDP see different interfaces there",
			 ifname);
	else if (!strcmp(l.member, "vrf"))
		snprintf(why, len, "%s is in a VRF: sockets and XDP see different interfaces there",
			 ifname);
	else if (l.vlans && xiw_if_virtual(ifname) && strips_tags(ifname))
		snprintf(why, len, "%s has VLANs, and strips their tags: ethtool -K %s rxvlan off",
			 ifname, ifname);
	else if (unwraps(ifname, "seg6_enabled") || unwraps(ifname, "rpl_seg_enabled"))
		snprintf(why, len,
			 "%s unwraps segment routing, unseen by XDP: sysctl net.ipv6.conf.%s."
			 "seg6_enabled=0 and rpl_seg_enabled=0",
			 ifname, ifname);
	else if (!on_bridge(l.kind) || !xiw_bridge_filters(ifindex, ifname, why, len))
		return 0;
	return -EOPNOTSUPP;
}

int xiw_fit_tags(const char *ifname, char *why, size_t len)
{
	if (!xiw_offloads_strip(ifname))
		return 0;
	snprintf(why, len,
		 "%s strips VLAN tags, so segments of other VLANs would count as its own: ethtool "
		 "-K %s rxvlan off",
		 ifname, ifname);
	return -EOPNOTSUPP;
}
