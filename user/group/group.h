/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Groups of engines. The lock is held around everything that reads or changes the lists here; it is taken before an
 * engine's gate, and never within a turn.
 */
#ifndef XIW_GROUP_GROUP_H
#define XIW_GROUP_GROUP_H

#include <xiwarp/group.h>

#include "core/engine.h"

struct xiw_group {
	pthread_mutex_t lock;
	uint32_t n;
	bool ending; /* xiw_group_destroy() is under way */
	struct xiw_group_region *regions;
	struct xiw_engine *engines[XIW_GROUP_ENGINES_MAX]; /* NULL: destroyed */
};

/* group/region.c */
struct xiw_group_region {
	struct xiw_group *group; /* NULL: it was destroyed */
	struct xiw_group_region *next, **at;
	struct xiw_orphan orphan;
	uint32_t stag;
	struct xiw_region *each[XIW_GROUP_ENGINES_MAX]; /* NULL: that engine does not have it */
};

#endif
