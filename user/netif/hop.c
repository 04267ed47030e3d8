// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/hop.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "netif/netlink.h"

#define USABLE (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE)
#define MAC_LEN 6
#define IP_MAX 16

/* An address, with its family. The route of an IPv4 address may have a gateway of IPv6 (RFC 8950). */
struct address {
	uint8_t family, len, octets[IP_MAX];
};

/* A request of either kind: a struct rtmsg is as long as a struct ndmsg. */
struct request {
	struct nlmsghdr n;
	union {
		struct rtmsg route;
		struct ndmsg neighbour;
	};
	uint8_t attrs[3 * RTA_SPACE(IP_MAX)];
};

static void take_address(struct address *to, uint8_t family, const void *octets, size_t len)
{
	if (len > sizeof(to->octets))
		return;
	to->family = family;
	to->len = (uint8_t)len;
	memcpy(to->octets, octets, len);
}

struct route {
	uint32_t ifindex;
	struct address hop;
};

static void take_route(const struct nlmsghdr *n, void *ctx)
{
	const struct rtmsg *m = NLMSG_DATA(n);
	const int len = (int)n->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*m));
	const struct rtattr *a;
	struct route *route = ctx;
	const struct rtvia *via;

	if (n->nlmsg_type != RTM_NEWROUTE)
		return;
	route->ifindex = xiw_netlink_u32(xiw_netlink_attr(RTM_RTA(m), len, RTA_OIF));
	a = xiw_netlink_attr(RTM_RTA(m), len, RTA_GATEWAY);
	if (a)
		take_address(&route->hop, m->rtm_family, RTA_DATA(a), RTA_PAYLOAD(a));
	a = xiw_netlink_attr(RTM_RTA(m), len, RTA_VIA);
	if (a && RTA_PAYLOAD(a) > sizeof(*via)) {
		via = RTA_DATA(a);
		take_address(&route->hop, (uint8_t)via->rtvia_family, via->rtvia_addr,
			     RTA_PAYLOAD(a) - sizeof(*via));
	}
}

/* A link-local address has a route for each interface. */
static bool link_local(const struct address *a)
{
	return a->family == AF_INET6 && a->octets[0] == 0xfe && (a->octets[1] & 0xc0) == 0x80;
}

static int ask_route(const struct xiw_hop_of *of, struct route *route)
{
	struct request r = {
		.n = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
		       .nlmsg_type = RTM_GETROUTE,
		       .nlmsg_flags = NLM_F_REQUEST },
		.route = { .rtm_family = route->hop.family,
			   .rtm_dst_len = (uint8_t)(route->hop.len * 8),
			   .rtm_src_len = (uint8_t)(route->hop.len * 8) },
	};

	xiw_netlink_put(&r.n, RTA_DST, of->dst, route->hop.len);
	xiw_netlink_put(&r.n, RTA_SRC, of->src, route->hop.len);
	if (link_local(&route->hop))
		xiw_netlink_put(&r.n, RTA_OIF, &of->ifindex, sizeof(of->ifindex));
	return xiw_netlink_ask(NETLINK_ROUTE, &r.n, take_route, route);
}

struct neighbour {
	bool known;
	uint8_t *mac;
};

static void take_neighbour(const struct nlmsghdr *n, void *ctx)
{
	const struct ndmsg *m = NLMSG_DATA(n);
	struct neighbour *neighbour = ctx;
	const struct rtattr *a;

	if (n->nlmsg_type != RTM_NEWNEIGH || !(m->ndm_state & USABLE))
		return;
	a = xiw_netlink_attr((const void *)(m + 1),
			     (int)n->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*m)), NDA_LLADDR);
	if (!a || RTA_PAYLOAD(a) != MAC_LEN)
		return;
	memcpy(neighbour->mac, RTA_DATA(a), MAC_LEN);
	neighbour->known = true;
}

int xiw_hop_mac(const struct xiw_hop_of *of, uint8_t mac[6])
{
	struct neighbour neighbour = { .mac = mac };
	struct route route = {};
	struct request r = {
		.n = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ndmsg)),
		       .nlmsg_type = RTM_GETNEIGH,
		       .nlmsg_flags = NLM_F_REQUEST },
		.neighbour = { .ndm_ifindex = (int)of->ifindex },
	};
	int err;

	if (of->version == 4)
		take_address(&route.hop, AF_INET, of->dst, 4);
	else
		take_address(&route.hop, AF_INET6, of->dst, IP_MAX);
	err = ask_route(of, &route);
	if (err)
		return err;
	if (route.ifindex != of->ifindex)
		return -EXDEV;
	r.neighbour.ndm_family = route.hop.family;
	xiw_netlink_put(&r.n, NDA_DST, route.hop.octets, route.hop.len);
	err = xiw_netlink_ask(NETLINK_ROUTE, &r.n, take_neighbour, &neighbour);
	return err ? err : neighbour.known ? 0 : -ENOENT;
}
