/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The next hop on the way to an address, as the kernel's routes and neighbours have it. */
#ifndef XIW_NETIF_HOP_H
#define XIW_NETIF_HOP_H

#include <stdint.h>

struct xiw_hop_of {
	uint8_t version;  /* of IP: 4 or 6 */
	uint32_t ifindex; /* by which the packets are to leave */
	const uint8_t *src, *dst; /* addresses in network order */
};

/*
 * Gives the link address of the next hop. 0; -EXDEV: the route leaves by another interface; -ENOENT: the address is not
 * known now; or the kernel's error for the route, as a negative errno.
 */
int xiw_hop_mac(const struct xiw_hop_of *of, uint8_t mac[6]);

#endif
