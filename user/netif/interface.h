/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an interface says of itself. It is asked by ioctl and netlink, never through /sys, which may have been mounted
 * in another network namespace than the process is in.
 */
#ifndef XIW_NETIF_INTERFACE_H
#define XIW_NETIF_INTERFACE_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The name of the interface that has this name or this alternative one (`ip link property add dev IF altname`); @name
 * itself if there is no such interface. The kernel takes either; pins and lists of addresses have the interface's name.
 */
const char *xiw_if_name(const char *name, char own[IF_NAMESIZE]);
struct ifaddrs;
/* As getifaddrs(3), which tells the label of an IPv4 address as its interface's name; here names are interfaces'. */
int xiw_if_addresses(struct ifaddrs **all);
/* Is nothing but loopback up with an IP address in that list? Programs of one host are to reach each other then. */
bool xiw_if_loopback_alone(const struct ifaddrs *all);
struct sockaddr;
/* The same IP address, whatever the ports? An IPv4 address equals the one that IPv6 maps it to. */
bool xiw_if_same_ip(const struct sockaddr *a, const struct sockaddr *b);

int xiw_if_mtu(const char *ifname, uint32_t *mtu);
/* The largest MTU of all interfaces but loopback; 0: unknown. */
uint32_t xiw_if_largest_mtu(void);
/* RX queues; 1 where the driver does not say. */
uint32_t xiw_if_queues(const char *ifname);
/* Its send queues, in the same way. AF_XDP sends nothing on a queue whose number is not below that. */
uint32_t xiw_if_send_queues(const char *ifname);
/* Its Ethernet address; zeros: it has none. */
void xiw_if_mac(const char *ifname, uint8_t mac[6]);
/* Does it have this driver? */
bool xiw_if_driven_by(const char *ifname, const char *driver);
/*
 * Can its frames come from this host's own memory, where nobody computes TCP checksums? So it is with veth, bridge,
 * macvlan, ipvlan and tap, whose peers are containers and VMs, and with VLANs on these.
 */
bool xiw_if_virtual(const char *ifname);
/*
 * Is it hardware on a bus, whose driver may reset it when programs are put on it or taken off? Its link is then down
 * for a while. virtio-net does not.
 */
bool xiw_if_may_reset(const char *ifname);
/* Its driver, in words for a message. */
void xiw_if_driver(const char *ifname, char *text, size_t len);
/* @request is a struct of linux/ethtool.h that begins with its command. */
int xiw_if_ethtool(const char *ifname, void *request);

/*
 * Calls @take with rtnetlink's message about the interface, or about each interface if @ifindex is 0. -ENODEV: there is
 * no such interface; or another negative errno.
 */
struct nlmsghdr;
int xiw_if_ask(int ifindex, void (*take)(const struct nlmsghdr *n, void *ctx), void *ctx);
/* The bridge, bond or the like that the interface is part of; 0: none. */
uint32_t xiw_if_master(int ifindex);

#endif
