/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The link that holds xiw_egress on an interface by tcx (Linux 6.6), in front of other programs of egress. It is pinned
 * with the programs, and processes that use the interface have it open, so that xiw_egress stays if the pin is removed.
 */
#ifndef XIW_NETIF_EGRESS_H
#define XIW_NETIF_EGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define XIW_EGRESS_LINK "xiw_egress_link" /* the name of the pin */

/* Attaches the program, and returns the link's descriptor. -EOPNOTSUPP: the kernel has no tcx. */
int xiw_egress_attach(int ifindex, int prog_fd);
/* Opens the link whose pin is in this directory. -ENOENT: there is none. */
int xiw_egress_open(const char *dir);
/*
 * The interface to which the link attaches a program; @prog_id (may be NULL) gets the program's id. 0: none any more,
 * as the interface is gone for good, or somebody has detached it. Negative errno: not known. Needs no capability.
 */
int xiw_egress_ifindex(int link_fd, uint32_t *prog_id);
/* Has this directory the pin of a link whose interface is gone? */
bool xiw_egress_dead(const char *dir);

#endif
