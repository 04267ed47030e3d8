// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/below.h"

#include <linux/if_link.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "netif/interface.h"
#include "netif/netlink.h"
#include "netif/offload.h"

struct below {
	uint32_t ifindex;
	uint32_t
		link; /* the interface that it is made of, or the other end of a veth; 0: not in this namespace */
	uint32_t port, ports; /* of a bridge: one of them, and how many */
};

static void take_link(const struct nlmsghdr *n, void *ctx)
{
	const struct ifinfomsg *i = NLMSG_DATA(n);
	struct below *b = ctx;

	if ((uint32_t)i->ifi_index == b->ifindex && !xiw_netlink_link_attr(n, IFLA_LINK_NETNSID))
		b->link = xiw_netlink_u32(xiw_netlink_link_attr(n, IFLA_LINK));
	if (xiw_netlink_u32(xiw_netlink_link_attr(n, IFLA_MASTER)) == b->ifindex) {
		b->port = (uint32_t)i->ifi_index;
		b->ports++;
	}
}

void xiw_below_joins(uint32_t ifindex, const char *ifname, char *text, size_t len)
{
	const bool veth = xiw_if_driven_by(ifname, "veth");
	struct below b = { .ifindex = ifindex };
	struct xiw_offloads offloads;
	char name[IF_NAMESIZE] = "";
	int n = snprintf(text, len, "packets of %s are longer than its MTU: ", ifname);

	if (n < 0 || (size_t)n >= len)
		return;
	text += n;
	len -= (size_t)n;
	xiw_if_ask(0, take_link, &b);
	if (veth)
		snprintf(text, len, "at its other end, ethtool -K %s tso off",
			 b.link && if_indextoname(b.link, name) ? name : "VETH");
	else if (b.ports > 1)
		snprintf(text, len, "for its ports, ethtool -K PORT gro off");
	else if ((b.port && if_indextoname(b.port, name)) ||
		 (b.link && if_indextoname(b.link, name)))
		snprintf(text, len, "ethtool -K %s gro off", name);
	else if (!xiw_offloads_read(ifname, &offloads) && offloads.active & XIW_OFFLOAD_LRO)
		snprintf(text, len, "ethtool -K %s lro off", ifname);
	else
		snprintf(text, len, "GRO of the interface below it joins them");
}

bool xiw_lo_takes(const char *ifname, char *text, size_t len)
{
	uint32_t mtu, lo;

	if (xiw_if_mtu(ifname, &mtu) || xiw_if_mtu("lo", &lo) || lo >= mtu)
		return true;
	snprintf(text, len, "the MTU of lo is %u, and that of %s %u: ip link set lo mtu 65536", lo,
		 ifname, mtu);
	return false;
}
