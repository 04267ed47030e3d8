/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections that a listener has accepted, started or not, until their sockets are closed, by peer. The listeners of a
 * group, and all their connections, have one crowd. Any thread may call these functions.
 */
#ifndef XIW_CONN_CROWD_H
#define XIW_CONN_CROWD_H

#include <stdint.h>

struct xiw_crowd;
struct xiw_crowd_peer;

/* A crowd with one user, for so many connections. NULL: no memory. */
struct xiw_crowd *xiw_crowd_new(unsigned int capacity);
/* One more user, and one less. It is freed with its last user and its last connection. NULL stays NULL. */
struct xiw_crowd *xiw_crowd_share(struct xiw_crowd *crowd);
void xiw_crowd_leave(struct xiw_crowd *crowd);

/*
 * Counts one more connection of a peer. A peer that has one gets no more than half of what the others leave of the
 * capacity. Returns 0 and sets @peer; -EDQUOT: the peer has its share; -ENOMEM.
 */
int xiw_crowd_enter(struct xiw_crowd *crowd, uint64_t peer_key, struct xiw_crowd_peer **peer);
/* The connection's socket is closed. NULL is fine. */
void xiw_crowd_exit(struct xiw_crowd_peer *peer);

#endif
