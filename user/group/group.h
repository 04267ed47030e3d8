/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Groups of engines. The lock is held around everything that reads or changes the lists here, but xiw_group_engine();
 * it is taken before an engine's gate, and never within a turn.
 */
#ifndef XIW_GROUP_GROUP_H
#define XIW_GROUP_GROUP_H

#include <xiwarp/group.h>

#include "core/engine.h"

struct xiw_group {
	pthread_mutex_t lock;
	uint32_t n;
	uint32_t next_dial; /* which engine connects next (group/connect.c) */
	uint32_t leaving;   /* engines that may still use the group, though they have left it */
	bool ending;	    /* xiw_group_destroy() is under way */
	bool forked;	    /* this is a child's copy of its parent's group */
	struct xiw_group_region *regions;
	struct xiw_group_listener *listeners;
	uint64_t serial;				   /* of the last listener */
	uint64_t queues[XIW_GROUP_ENGINES_MAX];		   /* that each engine serves */
	struct xiw_engine *engines[XIW_GROUP_ENGINES_MAX]; /* NULL: destroyed */
};

/* Engine `first`, or if that has been destroyed the next one; NULL: there is none. The caller holds the lock. */
static inline struct xiw_engine *xiw_group_any(const struct xiw_group *g, uint32_t first)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->engines[(first + i) % g->n])
			return g->engines[(first + i) % g->n];
	return NULL;
}

/* The engine that serves the queue; NULL: the queue is not known, or nobody does. The caller holds the lock. */
static inline struct xiw_engine *xiw_group_serving(const struct xiw_group *g, uint32_t queue)
{
	for (uint32_t i = 0; i < g->n && queue < XIW_MAX_QUEUES; i++)
		if (g->engines[i] && g->queues[i] >> queue & 1)
			return g->engines[i];
	return NULL;
}

/* group/region.c */
struct xiw_group_region {
	struct xiw_group *group; /* NULL: it was destroyed */
	struct xiw_group_region *next, **at;
	struct xiw_orphan orphan;
	uint32_t stag;
	struct xiw_region *each[XIW_GROUP_ENGINES_MAX]; /* NULL: that engine does not have it */
};

/*
 * group/connect.c: the engine is being destroyed, and another one opens the connections that it has not opened yet. The
 * caller holds the lock, and has taken the engine out of the group.
 */
void xiw_group_dials_leave(struct xiw_group *g, struct xiw_engine *e);

#endif
