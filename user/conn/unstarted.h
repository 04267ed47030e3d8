/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_UNSTARTED_H
#define XIW_CONN_UNSTARTED_H

#include "core/engine.h"

/*
 * Returns the default of max_unstarted: half of the descriptors that the process may have, because the other
 * half is for started connections.
 */
unsigned int xiw_unstarted_default(void);

/* The n-th part of a limit, rounded up. It must not become 0 by an overflow: that is the default, or lets nobody in. */
static inline unsigned int xiw_unstarted_part(unsigned int limit, unsigned int n)
{
	return limit / n + !!(limit % n);
}

/* Counts a connection as unstarted. */
void xiw_unstarted_add(struct xiw_conn *c, struct xiw_listener *l);

/* Counts a connection as unstarted no longer, because it has started or ends. */
void xiw_unstarted_remove(struct xiw_conn *c);

/* The listener is closed; what it has accepted goes on without it. */
void xiw_unstarted_orphan(struct xiw_listener *l);

/*
 * Says whether another connection of this peer may be accepted. Returns 0; -EUSERS if it takes the place of
 * another one, which was reset; -EBUSY if it may not, because all others wait for the application.
 */
int xiw_unstarted_admit(struct xiw_listener *l, const struct sockaddr_storage *peer);

/*
 * Resets the oldest connection without a Request, to free a descriptor or memory. Returns whether one
 * was reset.
 */
bool xiw_unstarted_make_way(struct xiw_engine *e);

#endif
