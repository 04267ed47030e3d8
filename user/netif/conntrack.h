/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_NETIF_CONNTRACK_H
#define XIW_NETIF_CONNTRACK_H

#include <linux/types.h>
#include <stdint.h>

/*
 * Returns how soon, in milliseconds, conntrack of this network namespace may forget an established TCP connection whose
 * segments it does not see. Returns 0 if there is no conntrack, or one that does not say.
 */
uint64_t xiw_conntrack_forgets_ms(void);

/* A TCP connection of this host. Addresses are four words, of which IPv4 uses the last; network byte order. */
struct xiw_conntrack_tuple {
	uint8_t ip_version;
	__be16 local_port, remote_port;
	__be32 local[4], remote[4];
};

enum xiw_conntrack {
	XIW_CONNTRACK_NOTHING, /* it does not know the tuple in the default zone, or does not say */
	XIW_CONNTRACK_ONE_WAY, /* it takes it for established, and has seen one direction of it, */
	XIW_CONNTRACK_BOTH,    /* or both */
};

/* Asks conntrack of this network namespace for a connection, in the zone that packets have without rules for zones. */
enum xiw_conntrack xiw_conntrack_ask(const struct xiw_conntrack_tuple *tuple);

#endif
