/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_NETIF_RINGS_H
#define XIW_NETIF_RINGS_H

#include <stdint.h>

#include "base/explain.h"

/*
 * Makes the receive rings anew where the driver needs it, after an XDP program was attached in the driver. Says in @why
 * if that failed.
 */
void xiw_rings_anew(const char *ifname, uint32_t mtu, struct xiw_line why);

#endif
