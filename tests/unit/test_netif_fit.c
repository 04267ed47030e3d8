// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which VLANs speak against an interface. The kernel's answers are made up here. */
#include <criterion/criterion.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "netif/interface.h"
#include "netif/netlink.h"

#define IFINDEX 7

static union {
	struct nlmsghdr n;
	uint8_t octets[256];
} link_message;
static bool strips, hardware;

static int ask(int ifindex, void (*take)(const struct nlmsghdr *n, void *ctx), void *ctx)
{
	(void)ifindex;
	take(&link_message.n, ctx);
	return 0;
}

static int ethtool(const char *ifname, void *command)
{
	(void)ifname;
	((struct ethtool_value *)command)->data = strips ? ETH_FLAG_RXVLAN : 0;
	return 0;
}

static bool is_virtual(const char *ifname)
{
	(void)ifname;
	return !hardware;
}

static bool bridge_filters(uint32_t ifindex, const char *ifname, char *text, size_t len)
{
	(void)ifindex;
	(void)ifname;
	(void)text;
	(void)len;
	return false;
}

#define xiw_bridge_filters bridge_filters
#define xiw_if_ask ask
#define xiw_if_virtual is_virtual
#define xiw_if_ethtool ethtool
#include "netif/fit.c"

static struct rtattr *put(int type, const void *data, size_t len)
{
	struct nlmsghdr *n = &link_message.n;
	struct rtattr *a = (struct rtattr *)(link_message.octets + NLMSG_ALIGN(n->nlmsg_len));

	a->rta_type = (unsigned short)type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	n->nlmsg_len = NLMSG_ALIGN(n->nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}

/* A link of this kind on top of the one with this number; in another namespace, if that has an id. */
static void on_top(const char *kind, uint32_t below, const int32_t *netnsid)
{
	const struct ifinfomsg i = { .ifi_index = IFINDEX + 1 };
	struct rtattr *nest;

	link_message.n.nlmsg_len = NLMSG_LENGTH(sizeof(i));
	memcpy(NLMSG_DATA(&link_message.n), &i, sizeof(i));
	put(IFLA_LINK, &below, sizeof(below));
	if (netnsid)
		put(IFLA_LINK_NETNSID, netnsid, sizeof(*netnsid));
	nest = put(IFLA_LINKINFO, NULL, 0);
	put(IFLA_INFO_KIND, kind, strlen(kind) + 1);
	nest->rta_len =
		(unsigned short)(link_message.octets + link_message.n.nlmsg_len - (uint8_t *)nest);
}

static char why[128];

static bool fits(void)
{
	return !xiw_fit(IFINDEX, "eth7", why, sizeof(why));
}

/* The interface itself, of this type and kind. */
static void is_a(unsigned short type, const char *kind)
{
	const struct ifinfomsg i = { .ifi_index = IFINDEX, .ifi_type = type };
	struct rtattr *nest;

	link_message.n.nlmsg_len = NLMSG_LENGTH(sizeof(i));
	memcpy(NLMSG_DATA(&link_message.n), &i, sizeof(i));
	if (!kind)
		return;
	nest = put(IFLA_LINKINFO, NULL, 0);
	put(IFLA_INFO_KIND, kind, strlen(kind) + 1);
	nest->rta_len =
		(unsigned short)(link_message.octets + link_message.n.nlmsg_len - (uint8_t *)nest);
}

/* Whatever a tunnel is called, its type says whether there are Ethernet headers. */
Test(netif_fit, frames_that_are_none_of_ethernet)
{
	static const struct {
		unsigned short type;
		const char *kind;
	} without[] = { { ARPHRD_NONE, "tun" },	      { ARPHRD_NONE, "wireguard" },
			{ ARPHRD_IPGRE, "gre" },      { ARPHRD_TUNNEL, "ipip" },
			{ ARPHRD_TUNNEL6, "ip6tnl" }, { ARPHRD_SIT, "sit" } };
	static const char *const with[] = { "tun", "gretap", "bridge", "veth", NULL };

	for (unsigned int i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		is_a(without[i].type, without[i].kind);
		cr_expect_not(fits(), "%s", without[i].kind);
		cr_expect(strstr(why, without[i].kind), "%s", why);
	}
	is_a(ARPHRD_PPP, NULL);
	cr_expect_not(fits());
	for (unsigned int i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		is_a(ARPHRD_ETHER, with[i]);
		cr_expect(fits(), "%s", with[i]);
	}
	cr_expect(xiw_fit(IFINDEX, "lo", why, sizeof(why)));
}

Test(netif_fit, tags_that_are_stripped_are_missing)
{
	on_top("vlan", IFINDEX, NULL);
	cr_expect(fits());
	strips = true;
	cr_expect_not(fits());
	/* Loading turns that off. */
	hardware = true;
	cr_expect(fits());
}

Test(netif_fit, vlans_of_other_links_do_not_count)
{
	strips = true;
	on_top("vlan", IFINDEX + 2, NULL);
	cr_expect(fits());
	on_top("macvlan", IFINDEX, NULL);
	cr_expect(fits());
}

/* An interface of another namespace may have the same number. */
Test(netif_fit, a_vlan_on_a_link_of_another_namespace_does_not_count)
{
	const int32_t netnsid = 0;

	strips = true;
	on_top("vlan", IFINDEX, &netnsid);
	cr_expect(fits());
}
