/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiw_egress is attached in front of all programs of tcx. Others may be put before it afterwards, and one that ends the
 * classification hides the socket's segments from it. Then it takes the front again, by a new link under the same pin.
 */
#ifndef XIW_NETIF_FRONT_H
#define XIW_NETIF_FRONT_H

#include <stdint.h>

#include "netif/pins.h"

/*
 * Puts the program in front if another one is there. Needs CAP_NET_ADMIN, and the right to replace the pin. 1: this, or
 * another process, has done so, and @link_fd is the new link; 0: it is in front by the link that @link_fd is. -EBUSY:
 * another is in front, and this process cannot change that; -EAGAIN: another process is about this, or unloads;
 * -ENOENT: it is not attached; -EPERM: the kernel does not say who is in front.
 */
int xiw_front_take(const struct xiw_pins *pins, int ifindex, uint32_t prog_id, int *link_fd);
/*
 * The link that @link_fd is holds the program no more: does a new one? 1: @link_fd is that; 0: no; negative errno: not
 * known, as for xiw_front_take().
 */
int xiw_front_follow(const struct xiw_pins *pins, int ifindex, uint32_t prog_id, int *link_fd);

#endif
