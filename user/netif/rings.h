/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_NETIF_RINGS_H
#define XIW_NETIF_RINGS_H

#include <stdint.h>

#include "base/explain.h"

/*
 * After an XDP program was attached to a driver that needs it: makes the receive rings anew. Says in @why if that
 * fails.
 */
void xiw_rings_anew(const char *ifname, uint32_t mtu, struct xiw_line why);

#endif
