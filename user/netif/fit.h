/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Can connections over an interface be direct, given what kind of interface it is? */
#ifndef XIW_NETIF_FIT_H
#define XIW_NETIF_FIT_H

#include <stddef.h>
#include <stdint.h>

/*
 * -EOPNOTSUPP, with one line in @why, for lo, where segments for sockets are injected; for an interface whose frames
 * are none of Ethernet, such as a tun, WireGuard, GRE or IPIP; for a bond or team, whose frames arrive on other
 * interfaces than the one that AF_XDP sockets are bound to; for a VRF or a member of one, where sockets and XDP see
 * different interfaces; and for a veth or the like with VLANs whose tags are beside the frames, so that XDP takes them
 * for untagged ones. 0: nothing is known against the interface.
 */
int xiw_fit(uint32_t ifindex, const char *ifname, char *why, size_t len);
/* Of these, what the name alone says: xiw_fit() asks the kernel for all interfaces. */
int xiw_fit_name(const char *ifname, char *why, size_t len);
/* The same for hardware that takes tags out of frames, whether or not this host has VLANs. Loading turns that off. */
int xiw_fit_tags(const char *ifname, char *why, size_t len);

#endif
