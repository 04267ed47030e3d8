/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Netfilter of bridges (br_netfilter, net.bridge.bridge-nf-call-iptables). It has a bridge's packets pass PREROUTING at
 * the port, before XDP on the bridge sees them. So conntrack has the wire's numbers of what comes, and the socket's
 * numbers of what leaves. As soon as they differ, segments are invalid to it.
 */
#ifndef XIW_NETIF_BRIDGE_H
#define XIW_NETIF_BRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bridge that the interface is, or lies on as a VLAN, macvlan or ipvlan in this network namespace; 0: none. */
uint32_t xiw_bridge_below(uint32_t ifindex);

/*
 * Do packets of the interface pass netfilter in the bridge below it? Then `why` gets one line with cause and
 * remedy.
 */
bool xiw_bridge_filters(uint32_t ifindex, const char *ifname, char *why, size_t len);

#endif
