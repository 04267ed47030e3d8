// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a message of rtnetlink says about the XDP programs of an interface. */
#include <criterion/criterion.h>
#include <linux/if_link.h>
#include <string.h>
#include <sys/socket.h>

#include "netif/netlink.h"
#include "netif/query.h"

#define IFINDEX 7

union message {
	struct nlmsghdr n;
	uint8_t octets[256];
};

static struct rtattr *put(union message *m, uint16_t type, const void *data, uint16_t len)
{
	struct rtattr *a = (struct rtattr *)(m->octets + NLMSG_ALIGN(m->n.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	m->n.nlmsg_len = NLMSG_ALIGN(m->n.nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}

static union message link_message(uint16_t type, int ifindex, uint8_t family)
{
	union message m = { .n = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
				   .nlmsg_type = type } };
	const struct ifinfomsg i = { .ifi_family = family, .ifi_index = ifindex };

	memcpy(NLMSG_DATA(&m.n), &i, sizeof(i));
	put(&m, IFLA_IFNAME, "veth0", 6);
	return m;
}

/* IFLA_XDP with the programs of each mode that has one. */
static void put_xdp(union message *m, uint32_t driver, uint32_t generic)
{
	struct rtattr *nest = put(m, IFLA_XDP | NLA_F_NESTED, NULL, 0);

	put(m, IFLA_XDP_ATTACHED, "\1", 1);
	if (driver)
		put(m, IFLA_XDP_DRV_PROG_ID, &driver, sizeof(driver));
	if (generic)
		put(m, IFLA_XDP_SKB_PROG_ID, &generic, sizeof(generic));
	nest->rta_len = (uint16_t)(m->octets + m->n.nlmsg_len - (uint8_t *)nest);
}

static bool left(const union message *m)
{
	return xiw_query_xdp_left(&m->n, IFINDEX, 42);
}

Test(netif_query, program_is_there)
{
	union message m = link_message(RTM_NEWLINK, IFINDEX, AF_UNSPEC);

	put_xdp(&m, 42, 0);
	cr_expect_not(left(&m));
	m = link_message(RTM_NEWLINK, IFINDEX, AF_UNSPEC);
	put_xdp(&m, 41, 42);
	cr_expect_not(left(&m));
}

Test(netif_query, program_has_left)
{
	union message m = link_message(RTM_NEWLINK, IFINDEX, AF_UNSPEC);

	put_xdp(&m, 0, 0);
	cr_expect(left(&m));
	m = link_message(RTM_NEWLINK, IFINDEX, AF_UNSPEC);
	put_xdp(&m, 41, 0);
	cr_expect(left(&m));
	m = link_message(RTM_DELLINK, IFINDEX, AF_UNSPEC);
	cr_expect(left(&m));
}

Test(netif_query, message_says_nothing)
{
	union message m = link_message(RTM_NEWLINK, IFINDEX, AF_UNSPEC);

	/* Without IFLA_XDP, of another interface, of a bridge's port, of another kind, and cut short. */
	cr_expect_not(left(&m));
	m = link_message(RTM_DELLINK, IFINDEX + 1, AF_UNSPEC);
	cr_expect_not(left(&m));
	m = link_message(RTM_DELLINK, IFINDEX, AF_BRIDGE);
	cr_expect_not(left(&m));
	m = link_message(RTM_NEWADDR, IFINDEX, AF_UNSPEC);
	put_xdp(&m, 0, 0);
	cr_expect_not(left(&m));
	m = link_message(RTM_DELLINK, IFINDEX, AF_UNSPEC);
	m.n.nlmsg_len = NLMSG_LENGTH(4);
	cr_expect_not(left(&m));
}

Test(netif_netlink, attributes)
{
	union message m = link_message(RTM_NEWLINK, IFINDEX, AF_UNSPEC);
	const uint32_t master = 3;
	const struct rtattr *name;

	put(&m, IFLA_MASTER, &master, sizeof(master));
	put(&m, IFLA_LINK, &master, 2);
	name = xiw_netlink_link_attr(&m.n, IFLA_IFNAME);
	cr_assert(name);
	cr_expect_str_eq(RTA_DATA(name), "veth0");
	cr_expect_eq(xiw_netlink_u32(xiw_netlink_link_attr(&m.n, IFLA_MASTER)), 3);
	/* Too short for a number, and not there. */
	cr_expect_eq(xiw_netlink_u32(xiw_netlink_link_attr(&m.n, IFLA_LINK)), 0);
	cr_expect_null(xiw_netlink_link_attr(&m.n, IFLA_XDP));
	cr_expect_eq(xiw_netlink_u32(NULL), 0);
	/* An attribute that reaches beyond the message is none. */
	m.n.nlmsg_len -= 8;
	((struct rtattr *)xiw_netlink_link_attr(&m.n, IFLA_MASTER))->rta_len = 64;
	cr_expect_null(xiw_netlink_link_attr(&m.n, IFLA_MASTER));
}
