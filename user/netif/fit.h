/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Can connections over an interface be direct at all, by what kind of interface it is? */
#ifndef XIW_NETIF_FIT_H
#define XIW_NETIF_FIT_H

#include <stddef.h>
#include <stdint.h>

/*
 * -EOPNOTSUPP with one line in @why: a bond or team, whose frames come by other interfaces than AF_XDP sockets on it are
 * bound to; a VRF, or in one, where sockets see another interface than XDP does; VLANs whose tags the hardware takes
 * off, so that XDP takes their frames for untagged ones. 0: nothing is known against it.
 */
int xiw_fit(uint32_t ifindex, const char *ifname, char *why, size_t len);

#endif
