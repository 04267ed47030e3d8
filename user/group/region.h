/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_GROUP_REGION_H
#define XIW_GROUP_REGION_H

#include "group/group.h"

/* xiw_group_region_register() without a look at the memory. */
int xiw_group_region_add(struct xiw_group *g, void *addr, size_t len,
			 const struct xiw_region_opts *opts, struct xiw_group_region **region);

/* Takes the group's regions from engine i, which is being destroyed. The caller holds the group's lock. */
void xiw_group_regions_leave(struct xiw_group *g, uint32_t i);

/* Detaches all regions from a group that is destroyed. No engine has them any more; the application frees them. */
void xiw_group_regions_detach(struct xiw_group *g);

#endif
