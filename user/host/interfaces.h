/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host/interfaces.h - interfaces that go down or come up, or are no more, as the kernel tells by rtnetlink. */
#ifndef XIW_HOST_INTERFACES_H
#define XIW_HOST_INTERFACES_H

#include <stdbool.h>

enum xiw_host_interface {
	XIW_HOST_INTERFACE_GONE, /* or in another network namespace */
	XIW_HOST_INTERFACE_DOWN,
	XIW_HOST_INTERFACE_UP, /* and its link is, too */
};

/*
 * The front's: something has changed, perhaps none of this. In a thread of the host layer, with xiw_host_lock. It is
 * set before the first object is made.
 */
extern void (*xiw_host_interface_changed)(int ifindex, enum xiw_host_interface state);

/*
 * An interface is gone, and with it addresses: the connections from those that are not here any more are reset. With
 * xiw_host_lock. It is set before that as well (end.c).
 */
struct sockaddr;
extern void (*xiw_host_addresses_gone)(bool (*is_here)(const struct sockaddr *addr));

/*
 * Changes are told from now on, by a thread that this makes if it is not there. Without rtnetlink nothing happens. Not
 * with xiw_host_lock.
 */
void xiw_host_interfaces_watch(void);

#endif
