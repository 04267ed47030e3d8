// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/bridge.h"

#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "netif/interface.h"
#include "netif/netlink.h"
#include "netif/sysctl.h"

#define DEPTH 8 /* interfaces on top of each other; the kernel allows no more */
#define SYSCTL "bridge/bridge-nf-"
#define BOTH ", and ip6tables"

/* What is asked of one interface, and what lies below it. */
struct layer {
	uint32_t below;
	bool bridge;
	bool vlan;		  /* frames come to the bridge with a tag, or the bridge adds it */
	bool vlan_filtering;	  /* the bridge does */
	bool iptables, ip6tables; /* the bridge calls them, whatever the sysctl says */
};

static bool is(const struct rtattr *info, const char *kind)
{
	const struct rtattr *a = xiw_netlink_nested(info, IFLA_INFO_KIND);

	return a && RTA_PAYLOAD(a) > strlen(kind) && !strcmp(RTA_DATA(a), kind);
}

static bool flag(const struct rtattr *data, int type)
{
	const struct rtattr *a = data ? xiw_netlink_nested(data, type) : NULL;

	return a && RTA_PAYLOAD(a) && *(const uint8_t *)RTA_DATA(a);
}

static void take_layer(const struct nlmsghdr *n, void *ctx)
{
	const struct rtattr *info = xiw_netlink_link_attr(n, IFLA_LINKINFO), *data;
	struct layer *l = ctx;

	if (!info)
		return;
	data = xiw_netlink_nested(info, IFLA_INFO_DATA);
	l->bridge = is(info, "bridge");
	l->vlan = is(info, "vlan");
	if (l->bridge) {
		l->iptables = flag(data, IFLA_BR_NF_CALL_IPTABLES);
		l->ip6tables = flag(data, IFLA_BR_NF_CALL_IP6TABLES);
		l->vlan_filtering = flag(data, IFLA_BR_VLAN_FILTERING);
	} else if ((l->vlan || is(info, "macvlan") || is(info, "ipvlan")) &&
		   !xiw_netlink_link_attr(n, IFLA_LINK_NETNSID)) {
		l->below = xiw_netlink_u32(xiw_netlink_link_attr(n, IFLA_LINK));
	}
}

/* Goes down to the bridge. *tagged: there is a VLAN on the way. */
static uint32_t find(uint32_t ifindex, struct layer *bridge, bool *tagged)
{
	*tagged = false;
	for (int i = 0; ifindex && i < DEPTH; i++) {
		*bridge = (struct layer){};
		if (xiw_if_ask((int)ifindex, take_layer, bridge))
			return 0;
		if (bridge->bridge)
			return ifindex;
		*tagged |= bridge->vlan;
		ifindex = bridge->below;
	}
	return 0;
}

uint32_t xiw_bridge_below(uint32_t ifindex)
{
	struct layer bridge;
	bool tagged;

	return find(ifindex, &bridge, &tagged);
}

/* Settings of this network namespace. Without br_netfilter there are none. */
static bool on(const char *setting)
{
	char path[64];

	snprintf(path, sizeof(path), SYSCTL "%s", setting);
	return xiw_sysctl_net(path);
}

/* What calls netfilter, for IPv4 and IPv6: the network namespace's settings, or else the bridge's own. */
struct calls {
	bool v4, v6;
};

/* `bridge` is named if its own settings are meant. The line names both settings if there is room for that. */
static void say(char *why, size_t len, const char *ifname, const char *bridge,
		const struct calls *c)
{
	const char *one = c->v4 ? "iptables" : "ip6tables";
	int n = snprintf(why, len, "netfilter precedes XDP on %s: ", ifname), more = 0;

	if (n < 0 || (size_t)n >= len)
		return;
	why += n;
	len -= (size_t)n;
	if (bridge)
		more = snprintf(why, len, "ip link set %s type bridge nf_call_%s 0", bridge, one);
	else
		more = snprintf(why, len, "sysctl net.bridge.bridge-nf-call-%s=0", one);
	if (c->v4 && c->v6 && more > 0 && (size_t)more + sizeof(BOTH) <= len)
		memcpy(why + more, BOTH, sizeof(BOTH));
}

bool xiw_bridge_filters(uint32_t ifindex, const char *ifname, char *why, size_t len)
{
	char name[IF_NAMESIZE] = "BRIDGE";
	struct calls all, own;
	struct layer b;
	bool tagged;
	uint32_t bridge = find(ifindex, &b, &tagged);

	/* The hook takes no frame with a tag for IP, unless it is told to. */
	if (!bridge || (tagged && !b.vlan_filtering && !on("filter-vlan-tagged")))
		return false;
	all = (struct calls){ on("call-iptables"), on("call-ip6tables") };
	own = (struct calls){ b.iptables, b.ip6tables };
	if (all.v4 || all.v6) {
		say(why, len, ifname, NULL, &all);
	} else if (own.v4 || own.v6) {
		if_indextoname(bridge, name);
		say(why, len, ifname, name, &own);
	} else {
		return false;
	}
	return true;
}
