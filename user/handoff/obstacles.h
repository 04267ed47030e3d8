/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What has been found to speak against the direct path of an interface: the map xiw_obstacles, which all processes on
 * it share, so that of connections over one broken place, also of many processes, only the first one stands still.
 *
 * A peer can bring most causes about: what it sends is refused, or it pretends not to hear acknowledgements. So a cause
 * keeps the connections of that peer's address off the direct path, and no others. Only if XIW_OBSTACLE_PEERS
 * independent peers have met it, while nobody's stretch has carried, it counts for all peers of the interface.
 *
 * One connection of those that are kept off tries again now and then. If it carries, the cause is gone.
 */
#ifndef XIW_HANDOFF_OBSTACLES_H
#define XIW_HANDOFF_OBSTACLES_H

#include <stdbool.h>
#include <stdint.h>

#include <xiwarp/abi.h>

#define XIW_OBSTACLE_PEERS 3u
/*
 * After so many connections, or so long a time, one tries again. Either is doubled with each attempt that fails, up to
 * XIW_OBSTACLE_DOUBLINGS times.
 */
#define XIW_OBSTACLE_EACH 32u
#define XIW_OBSTACLE_NS 60000000000ull
#define XIW_OBSTACLE_DOUBLINGS 4u
#define XIW_OBSTACLE_AGAIN 3u
#define XIW_OBSTACLE_SECOND 1000000000ull
#define XIW_OBSTACLE_HEARD (10 * XIW_OBSTACLE_SECOND) /* for so long, what a peer has heard says something */

/* What was found, and how. Times are those of the BPF programs' clock. */
struct xiw_found {
	const __be32 *peer; /* four words, as in struct xiw_flow_key */
	enum xiw_reason reason;
	bool stalled;  /* the connection has stood still for it, and so would the next one */
	bool tried;    /* it was one that tried again */
	bool barred;   /* it has stood still so often that this cannot be an accident */
	bool doubtful; /* this host was late itself: an accident, unless it comes back */
	uint64_t now_ns, acked_ns; /* now, and when the connection's stretch has sent its first ACK */
};

/* Counts a cause, and remembers it for the peer if the connection has stood still for it. */
void xiw_obstacle_note(struct xiw_obstacle *all, const struct xiw_found *found);

/* The cause that keeps connections with this peer off the direct path, or NULL. */
struct xiw_obstacle *xiw_obstacle_against(struct xiw_obstacle *all, const __be32 peer[4]);

/*
 * Says whether a connection that `cause` keeps off is to try again now; then no other one is, for a while. `first`: it
 * is asked for the first time, and counts.
 */
bool xiw_obstacle_try(struct xiw_obstacle *cause, bool first, uint64_t now_ns);

/*
 * A stretch has carried for a second. So no cause counts for all peers any more, and what another connection of this
 * peer has met before was an accident, as on a busy host, unless that happens more than XIW_OBSTACLE_AGAIN times.
 */
void xiw_obstacle_carries(struct xiw_obstacle *all, const __be32 peer[4], uint64_t now_ns);

/* The peer hears acknowledgements that are sent by AF_XDP. */
void xiw_obstacle_heard(struct xiw_obstacle *all, const __be32 peer[4], uint64_t now_ns);

/* A connection with this peer has tried again, and nothing was wrong. */
void xiw_obstacle_gone(struct xiw_obstacle *all, const __be32 peer[4]);

#endif
