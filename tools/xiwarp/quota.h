/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What one peer may hold of what a server has for all of them, and for how long. A peer is an IPv4 address, or an IPv6
 * network of 64 bits, as anybody has a whole one.
 */
#ifndef XIW_TOOL_QUOTA_H
#define XIW_TOOL_QUOTA_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* What one connection holds. Zero at first; it lies in memory of its owner. */
struct xiw_holding {
	struct xiw_holding *next;
	uint64_t peer[2];
	uint64_t bytes;
};

/* A budget of memory. All functions may be called by any thread. */
struct xiw_quota {
	pthread_mutex_t lock;
	uint64_t limit; /* bytes; set before there is another thread */
	struct xiw_holding *all;
};

/*
 * Takes `bytes` for a connection of `peer` that holds nothing. A peer without any holding may take all that is left.
 * One with holdings takes no more than half of what others do not hold, so that another peer finds something. Returns
 * false, and takes nothing, if that is too much. `roomy` asks for no more than half of that.
 */
bool xiw_quota_take(struct xiw_quota *b, struct xiw_holding *h, const struct sockaddr_storage *peer,
		    uint64_t bytes, bool roomy);
/* Gives back what a connection holds, if anything. */
void xiw_quota_give(struct xiw_quota *b, struct xiw_holding *h);

/* Since when a peer brings less than it has to. Zero at first, which is activity at no time. */
struct xiw_activity {
	uint64_t octets, since_ns; /* the count at the last activity, and its time */
};

/* Something happened that is activity, whatever the count says. */
void xiw_activity_note(struct xiw_activity *a, uint64_t octets, uint64_t now_ns);
/*
 * Has the connection, which has received so many octets in all, brought less than `least` for `limit_s` seconds? A
 * smaller number renews nothing, so a peer that trickles is idle, too.
 */
bool xiw_activity_idle(struct xiw_activity *a, uint64_t octets, uint64_t now_ns, uint64_t least,
		       uint32_t limit_s);

#endif
