/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_NETIF_RINGS_H
#define XIW_NETIF_RINGS_H

#include <stddef.h>
#include <stdint.h>

/* rings.c: after an XDP program was attached in the driver. Says in `why` what cannot be had. */
void xiw_rings_anew(const char *ifname, uint32_t mtu, char *why, size_t len);

#endif
