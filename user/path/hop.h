/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The engine sends acknowledgements to the link address to which xiw_egress has last seen the socket send. When a next
 * hop gets another address, or a route another next hop, the socket's next frame shows it; but while all data come by
 * the direct path, the socket may have nothing to send. So it is made to send an acknowledgement.
 */
#ifndef XIW_PATH_HOP_H
#define XIW_PATH_HOP_H

#include <linux/netlink.h>

#include "core/engine.h"

/* Takes note of an rtnetlink message, if it is about a neighbour, a route or a rule. */
void xiw_hop_note(struct xiw_engine *e, const struct nlmsghdr *n);

/* Any next hop may have changed: the kernel has dropped messages. */
void xiw_hop_news(struct xiw_engine *e);

/* Makes the sockets send whose next hop may have changed, if it is time to, and sets the time of the next look. */
void xiw_hop_scan(struct xiw_engine *e);

#endif
