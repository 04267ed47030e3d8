/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Regions of an engine, beyond their public functions (xiwarp/region.h). */
#ifndef XIW_CORE_REGION_H
#define XIW_CORE_REGION_H

#include "core/engine.h"

/* Gives a random number for a new STag. Returns 0 or an error. */
int xiw_random(void *ctx, uint32_t *number);

/* Copies the options of a region. Returns 0 or -EINVAL. */
int xiw_region_opts_take(struct xiw_region_opts *own, const struct xiw_region_opts *opts);

/*
 * These do what the public functions do, for a caller that is inside the engine's gate or holds it (core/gate.h).
 * `region` is not NULL.
 */
int xiw_region_add(struct xiw_engine *engine, void *addr, size_t len,
		   const struct xiw_region_opts *opts, struct xiw_region **region);
int xiw_region_change(struct xiw_region *region, unsigned int access);
void xiw_region_drop(struct xiw_region *region);

/* xiw_mapped_glance() for a region with these rights, 0 being the default. */
int xiw_region_look(const void *addr, size_t len, unsigned int access);
/* The rights of DDP for enum xiw_access. Returns 0 or -EINVAL. */
int xiw_region_rights(unsigned int access, uint32_t *rights);
/* The region as DDP knows it; NULL: a peer has invalidated the STag, or the engine has been destroyed. */
const struct xiw_ddp_region *xiw_region_now(const struct xiw_region *region);

/* In the engine's thread: true if answers to Reads may go to this memory, as a region has it. len is not 0. */
bool xiw_region_has(const struct xiw_engine *e, const void *addr, size_t len);

/* Detaches all regions from an engine that is destroyed. Peers cannot use them any more; the application frees them. */
void xiw_regions_detach(struct xiw_engine *e);

#endif
