// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The list of devices: one for each interface with an address, in front of the real ones. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "netif/interface.h"
#include "verbs/devices.h"
#include "verbs/verbs.h"

/* ---- the devices of the process ------------------------------------------------------------------- */

/*
 * A program may keep a device after it has freed the list, and compare the devices of two lists. So a device, once
 * found, stays for the life of the process.
 */
static struct {
	pthread_mutex_t lock;
	struct xiw_device **all;
	unsigned int n, looks;
} devices = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Marks a device as ours: libibverbs calls neither of these for a device that it has not made. */
static struct ibv_context *no_alloc(struct ibv_device *device, int cmd_fd)
{
	(void)device, (void)cmd_fd;
	errno = ENOSYS;
	return NULL;
}

bool xiw_is_device(const struct ibv_device *device)
{
	return device && device->_ops._dummy1 == no_alloc;
}

bool xiw_is_context(const struct ibv_context *context)
{
	return context && xiw_is_device(context->device);
}

/* An interface that has the name of one that is gone is another device. */
static struct xiw_device *find(const char *ifname)
{
	const int ifindex = (int)if_nametoindex(ifname);

	for (unsigned int i = 0; i < devices.n; i++)
		if (devices.all[i]->ifindex == ifindex && !strcmp(devices.all[i]->ifname, ifname))
			return devices.all[i];
	return NULL;
}

static struct xiw_device *add(const char *ifname)
{
	struct xiw_device **all = realloc(devices.all, (devices.n + 1) * sizeof(*all));
	struct xiw_device *d = all ? calloc(1, sizeof(*d)) : NULL;

	if (all)
		devices.all = all;
	if (!d)
		return NULL;
	d->ibv._ops._dummy1 = no_alloc;
	d->ibv.node_type = IBV_NODE_RNIC;
	d->ibv.transport_type = IBV_TRANSPORT_IWARP;
	snprintf(d->ibv.name, sizeof(d->ibv.name), "xiw_%s", ifname);
	snprintf(d->ibv.dev_name, sizeof(d->ibv.dev_name), "xiw_%s", ifname);
	snprintf(d->ifname, sizeof(d->ifname), "%s", ifname);
	d->ifindex = (int)if_nametoindex(ifname);
	devices.all[devices.n++] = d;
	return d;
}

/* ---- which interfaces have one -------------------------------------------------------------------- */

/*
 * XIWARP_IF, which `xiwarp run --if` sets, names the only one; else all that are up have one, apart from those of
 * RNICs, and from loopback beside any other.
 */
static bool wanted(const struct ifaddrs *a, const struct ifaddrs *all)
{
	const char *only = getenv("XIWARP_IF");
	char own[IF_NAMESIZE];

	if (!a->ifa_addr || !(a->ifa_flags & IFF_UP))
		return false;
	if (only && *only)
		return !strcmp(a->ifa_name, xiw_if_name(only, own));
	return a->ifa_flags & IFF_LOOPBACK ? xiw_if_loopback_alone(all) : !xiw_rnic_on(a->ifa_name);
}

static bool is_ip(const struct ifaddrs *a)
{
	return a->ifa_addr->sa_family == AF_INET || a->ifa_addr->sa_family == AF_INET6;
}

static void set_mac(const struct ifaddrs *all)
{
	for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
		const struct sockaddr_ll *link = (const void *)a->ifa_addr;
		struct xiw_device *d;

		if (!a->ifa_addr || a->ifa_addr->sa_family != AF_PACKET)
			continue;
		d = find(a->ifa_name);
		if (d && link->sll_halen == sizeof(d->mac))
			memcpy(d->mac, link->sll_addr, sizeof(d->mac));
	}
}

/* Finds those of now, each of which is marked with the number of this look, and returns how many there are. */
static unsigned int look(unsigned int number)
{
	struct ifaddrs *all;
	unsigned int n = 0;

	if (xiw_if_addresses(&all))
		return 0;
	for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
		struct xiw_device *d = wanted(a, all) && is_ip(a) ? find(a->ifa_name) : NULL;

		if (wanted(a, all) && is_ip(a) && !d)
			d = add(a->ifa_name);
		if (!d || d->seen == number)
			continue;
		d->seen = number;
		d->place = n++;
	}
	set_mac(all);
	freeifaddrs(all);
	return n;
}

struct xiw_device **xiw_devices(unsigned int *n)
{
	const int cancel = xiw_cancel_off();
	struct xiw_device **list = NULL;
	unsigned int number;

	pthread_mutex_lock(&devices.lock);
	number = ++devices.looks;
	*n = look(number);
	if (*n)
		list = calloc(*n, sizeof(struct xiw_device *));
	if (!list)
		*n = 0;
	for (unsigned int i = 0; list && i < devices.n; i++)
		if (devices.all[i]->seen == number)
			list[devices.all[i]->place] = devices.all[i];
	pthread_mutex_unlock(&devices.lock);
	xiw_cancel_restore(cancel);
	return list;
}

static struct xiw_device *known(const char *ifname)
{
	const int cancel = xiw_cancel_off();
	struct xiw_device *d;

	pthread_mutex_lock(&devices.lock);
	d = find(ifname);
	pthread_mutex_unlock(&devices.lock);
	xiw_cancel_restore(cancel);
	return d;
}

struct xiw_device *xiw_device_among(const struct ifaddrs *all, const struct sockaddr *addr)
{
	struct xiw_device *found = NULL;
	unsigned int n;

	for (const struct ifaddrs *a = all; a && !found; a = a->ifa_next) {
		if (!wanted(a, all) || !xiw_if_same_ip(a->ifa_addr, addr))
			continue;
		found = known(a->ifa_name);
		if (!found) {
			free(xiw_devices(&n));
			found = known(a->ifa_name);
		}
	}
	return found;
}

struct xiw_device *xiw_device_of(const struct sockaddr *addr)
{
	struct xiw_device *found;
	struct ifaddrs *all;

	if (xiw_if_addresses(&all))
		return NULL;
	found = xiw_device_among(all, addr);
	freeifaddrs(all);
	if (!found)
		errno = ENODEV;
	return found;
}

bool xiw_device_address(struct sockaddr *addr)
{
	struct ifaddrs *all;
	bool found = false;

	if (xiw_if_addresses(&all))
		return false;
	for (const struct ifaddrs *a = all; a && !found; a = a->ifa_next) {
		found = wanted(a, all) && a->ifa_addr->sa_family == addr->sa_family;
		if (found && addr->sa_family == AF_INET)
			((struct sockaddr_in *)addr)->sin_addr =
				((struct sockaddr_in *)a->ifa_addr)->sin_addr;
		else if (found)
			((struct sockaddr_in6 *)addr)->sin6_addr =
				((struct sockaddr_in6 *)a->ifa_addr)->sin6_addr;
	}
	freeifaddrs(all);
	return found;
}

/* ---- libibverbs' functions for it ------------------------------------------------------------------ */

/* In front of the list that the program gets. */
struct list {
	struct ibv_device **real;
	struct ibv_device *devices[];
};

XIW_INTERPOSE struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **(*real)(int *) = xiw_real("ibv_get_device_list");
	struct ibv_device **theirs;
	struct xiw_device **ours;
	struct list *list;
	int theirs_n = 0;
	unsigned int n;

	ours = xiw_devices(&n);
	theirs = real ? real(&theirs_n) : NULL; /* none is there: the kernel may not know RDMA */
	list = calloc(1,
		      sizeof(*list) + (n + (unsigned int)theirs_n + 1) * sizeof(list->devices[0]));
	if (!list) {
		if (theirs)
			XIW_REAL(ibv_free_device_list)(theirs);
		free(ours);
		errno = ENOMEM;
		return NULL;
	}
	list->real = theirs;
	for (unsigned int i = 0; i < n; i++)
		list->devices[i] = &ours[i]->ibv;
	free(ours);
	for (int i = 0; theirs && i < theirs_n; i++)
		list->devices[n + (unsigned int)i] = theirs[i];
	if (num_devices)
		*num_devices = (int)n + (theirs ? theirs_n : 0);
	return list->devices;
}

XIW_INTERPOSE void ibv_free_device_list(struct ibv_device **devs)
{
	struct list *list = (void *)((char *)devs - offsetof(struct list, devices));

	if (!devs)
		return;
	if (list->real)
		XIW_REAL(ibv_free_device_list)(list->real);
	free(list);
}

XIW_INTERPOSE const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

XIW_INTERPOSE int ibv_get_device_index(struct ibv_device *device)
{
	return xiw_is_device(device) ? -1 : XIW_REAL(ibv_get_device_index)(device);
}

/* The EUI-64 that the MAC address makes, as IPv6 has it (RFC 4291 appendix A). */
XIW_INTERPOSE __be64 ibv_get_device_guid(struct ibv_device *device)
{
	const unsigned char *m = xiw_device(device)->mac;
	__be64 guid;

	if (!xiw_is_device(device))
		return XIW_REAL(ibv_get_device_guid)(device);
	memcpy(&guid, (unsigned char[8]){ m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5] }, 8);
	return guid;
}
