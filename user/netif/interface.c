// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/interface.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netif/netlink.h"

#define DRIVER_MAX 33
#define VLANS_MAX 8 /* VLANs in each other, as the kernel allows */

static int if_ioctl(const char *ifname, unsigned long request, struct ifreq *ifr)
{
	int err, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%s", ifname);
	err = ioctl(fd, request, ifr) < 0 ? -errno : 0;
	close(fd);
	return err;
}

const char *xiw_if_name(const char *name, char own[IF_NAMESIZE])
{
	unsigned int ifindex = if_nametoindex(name);

	return ifindex && if_indextoname(ifindex, own) ? own : name;
}

/* A label is the interface's name with something behind a colon, which no interface's name contains. */
int xiw_if_addresses(struct ifaddrs **all)
{
	if (getifaddrs(all))
		return -errno;
	for (struct ifaddrs *a = *all; a; a = a->ifa_next)
		a->ifa_name[strcspn(a->ifa_name, ":")] = '\0';
	return 0;
}

/* The IPv6 address, or what the IPv4 address is mapped to. */
static bool as_ip6(const struct sockaddr *a, struct in6_addr *ip)
{
	const struct sockaddr_in6 *a6 = (const void *)a;
	const struct sockaddr_in *a4 = (const void *)a;

	*ip = (struct in6_addr){ .s6_addr[10] = 0xff, .s6_addr[11] = 0xff };
	if (a->sa_family == AF_INET)
		memcpy(&ip->s6_addr[12], &a4->sin_addr, sizeof(a4->sin_addr));
	else if (a->sa_family == AF_INET6)
		*ip = a6->sin6_addr;
	return a->sa_family == AF_INET || a->sa_family == AF_INET6;
}

bool xiw_if_loopback_alone(const struct ifaddrs *all)
{
	for (const struct ifaddrs *i = all; i; i = i->ifa_next)
		if (i->ifa_flags & IFF_UP && !(i->ifa_flags & IFF_LOOPBACK) && i->ifa_addr &&
		    (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6))
			return false;
	return true;
}

bool xiw_if_same_ip(const struct sockaddr *a, const struct sockaddr *b)
{
	struct in6_addr one, other;

	return as_ip6(a, &one) && as_ip6(b, &other) && IN6_ARE_ADDR_EQUAL(&one, &other);
}

int xiw_if_mtu(const char *ifname, uint32_t *mtu)
{
	struct ifreq ifr = {};
	int err = if_ioctl(ifname, SIOCGIFMTU, &ifr);

	if (!err)
		*mtu = ifr.ifr_mtu;
	return err;
}

int xiw_if_ethtool(const char *ifname, void *request)
{
	struct ifreq ifr = { .ifr_data = request };

	return if_ioctl(ifname, SIOCETHTOOL, &ifr);
}

/* At least 1: an interface that does not say has one. */
static uint32_t queues(const char *ifname, bool send)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	uint32_t n;

	if (xiw_if_ethtool(ifname, &channels))
		return 1;
	n = channels.combined_count + (send ? channels.tx_count : channels.rx_count);
	return n ? n : 1;
}

uint32_t xiw_if_queues(const char *ifname)
{
	return queues(ifname, false);
}

uint32_t xiw_if_send_queues(const char *ifname)
{
	return queues(ifname, true);
}

static bool read_driver(const char *ifname, char name[DRIVER_MAX])
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };

	if (xiw_if_ethtool(ifname, &info))
		return false;
	snprintf(name, DRIVER_MAX, "%.*s", (int)sizeof(info.driver), info.driver);
	return *name;
}

bool xiw_if_driven_by(const char *ifname, const char *driver)
{
	char name[DRIVER_MAX];

	return read_driver(ifname, name) && !strcmp(name, driver);
}

static void take_link(const struct nlmsghdr *n, void *ctx)
{
	*(uint32_t *)ctx = xiw_netlink_u32(xiw_netlink_link_attr(n, IFLA_LINK));
}

bool xiw_if_virtual(const char *ifname)
{
	static const char *const drivers[] = { "veth", "bridge", "macvlan", "ipvlan", "tun" };
	char driver[DRIVER_MAX], name[IF_NAMESIZE];

	snprintf(name, sizeof(name), "%s", ifname);
	for (int depth = 0; depth < VLANS_MAX && read_driver(name, driver); depth++) {
		uint32_t lower = 0;

		for (unsigned int i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
			if (!strcmp(driver, drivers[i]))
				return true;
		if (strcmp(driver, "802.1Q VLAN Support") != 0 ||
		    xiw_if_ask((int)if_nametoindex(name), take_link, &lower) ||
		    !if_indextoname(lower, name))
			return false;
	}
	return false;
}

bool xiw_if_may_reset(const char *ifname)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };

	/* Of PCI and USB: only their addresses have a colon. */
	return !xiw_if_ethtool(ifname, &info) &&
	       memchr(info.bus_info, ':', sizeof(info.bus_info)) &&
	       strncmp(info.driver, "virtio_net", sizeof(info.driver)) != 0;
}

void xiw_if_driver(const char *ifname, char *text, size_t len)
{
	char name[DRIVER_MAX];

	if (read_driver(ifname, name))
		snprintf(text, len, "driver %s", name);
	else
		snprintf(text, len, "its driver");
}

void xiw_if_mac(const char *ifname, uint8_t mac[6])
{
	struct ifreq ifr = {};

	memset(mac, 0, 6);
	if (!if_ioctl(ifname, SIOCGIFHWADDR, &ifr) && ifr.ifr_hwaddr.sa_family == ARPHRD_ETHER)
		memcpy(mac, ifr.ifr_hwaddr.sa_data, 6);
}

int xiw_if_ask(int ifindex, void (*take)(const struct nlmsghdr *n, void *ctx), void *ctx)
{
	const struct {
		struct nlmsghdr n;
		struct ifinfomsg i;
	} request = {
		.n = { .nlmsg_len = sizeof(request),
		       .nlmsg_type = RTM_GETLINK,
		       .nlmsg_flags = NLM_F_REQUEST | (ifindex ? 0 : NLM_F_DUMP) },
		.i = { .ifi_index = ifindex },
	};

	return xiw_netlink_ask(NETLINK_ROUTE, &request.n, take, ctx);
}

static void take_mtu(const struct nlmsghdr *n, void *ctx)
{
	const struct ifinfomsg *i = NLMSG_DATA(n);
	uint32_t mtu = xiw_netlink_u32(xiw_netlink_link_attr(n, IFLA_MTU)), *largest = ctx;

	if (!(i->ifi_flags & IFF_LOOPBACK) && mtu > *largest)
		*largest = mtu;
}

uint32_t xiw_if_largest_mtu(void)
{
	uint32_t largest = 0;

	return xiw_if_ask(0, take_mtu, &largest) ? 0 : largest;
}

static void take_master(const struct nlmsghdr *n, void *ctx)
{
	*(uint32_t *)ctx = xiw_netlink_u32(xiw_netlink_link_attr(n, IFLA_MASTER));
}

uint32_t xiw_if_master(int ifindex)
{
	uint32_t master = 0;

	return xiw_if_ask(ifindex, take_master, &master) ? 0 : master;
}
