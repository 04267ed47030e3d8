/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which interfaces are devices. Any thread may call these. */
#ifndef XIW_VERBS_DEVICES_H
#define XIW_VERBS_DEVICES_H

#include <ifaddrs.h>
#include <stdbool.h>
#include <sys/socket.h>

struct xiw_device;

/*
 * Those of now, in a list that the caller frees; NULL, with *n 0, if there is none, or no memory. They stay for the
 * life of the process.
 */
struct xiw_device **xiw_devices(unsigned int *n);

/* The device with this IP address, which is one of `all`; NULL: it is none of theirs. */
struct xiw_device *xiw_device_among(const struct ifaddrs *all, const struct sockaddr *addr);
/* The same of all addresses there are; NULL, with errno: ENODEV, it is none of theirs. */
struct xiw_device *xiw_device_of(const struct sockaddr *addr);

/*
 * Replaces addr by the first address of its family that a device has. The port stays. Returns false if there is none.
 */
bool xiw_device_address(struct sockaddr *addr);

/* rnics.c: Does this host have RDMA devices that are not ours? Has this interface one? */
bool xiw_devices_real(void);
bool xiw_rnic_on(const char *ifname);

#endif
