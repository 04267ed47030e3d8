/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which receive queues of an interface an engine serves: those that its options name and nobody else has. */
#ifndef XIW_CORE_SERVE_H
#define XIW_CORE_SERVE_H

#include "core/netif.h"

/*
 * Claims the queues that are to be had, and makes an AF_XDP socket for each. A queue that another engine or other
 * AF_XDP software has is left out, and so are the others after any other failure. Returns 0 if the engine has got one
 * at least; else `why` tells of the first failure. With @patient it waits a moment for queues of a process that has
 * just ended. -ENXIO: the interface has none of the queues that the options name.
 */
int xiw_queues_open(struct xiw_engine *e, struct xiw_netif *p, bool patient, char *why, size_t len);

/* The line for that, and -ENXIO. An engine of a group opens such an interface all the same, and serves none of it. */
int xiw_queues_none(const struct xiw_engine *e, const struct xiw_netif *p, char *why, size_t len);

/*
 * Looks for queues that the engine should serve and does not: the engine that had one has ended, or the interface has
 * more of them now. Takes one at a time, because that takes milliseconds. True: there may be more.
 */
bool xiw_queues_look(struct xiw_engine *e, struct xiw_netif *p);

/* Has hardware cut packets of the interface in two, for this engine or an earlier one (bpf/cut.h)? */
bool xiw_queues_cut(const struct xiw_netif *p);

/*
 * Binding all queues anew: xiw_queues_shut() closes the sockets, when nobody uses them, and keeps the claims.
 * xiw_queues_again() makes others, as the interface is now. False: the kernel has not given a queue back yet, and it
 * has to be called again. Queues for which there is no socket are let go, and `refused` says why.
 */
void xiw_queues_shut(struct xiw_engine *e, struct xiw_netif *p);
bool xiw_queues_again(struct xiw_engine *e, struct xiw_netif *p);

void xiw_queues_close(const struct xiw_engine *e, struct xiw_netif *p);

/* One line about queues that the engine should serve and does not; empty if there are none. */
void xiw_queues_say(const struct xiw_engine *e, const struct xiw_netif *p, char *why, size_t len);

#endif
