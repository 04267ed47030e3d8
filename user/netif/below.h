/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which interface joins the packets of another one. */
#ifndef XIW_NETIF_BELOW_H
#define XIW_NETIF_BELOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The line for an interface whose packets are longer than its MTU, with the remedy: GRO of the interface below it joins
 * them (VLAN, macvlan, ipvlan, the ports of a bridge), or the other end of a veth sends them so.
 */
void xiw_below_joins(uint32_t ifindex, const char *ifname, char *text, size_t len);
/* Takes lo packets of the interface's length? If not, a line says so, with the remedy. */
bool xiw_lo_takes(const char *ifname, char *text, size_t len);

#endif
