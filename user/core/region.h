/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Regions of an engine, beyond their public functions (xiwarp/region.h). */
#ifndef XIW_CORE_REGION_H
#define XIW_CORE_REGION_H

#include "core/engine.h"

/* Gives a random number for a new STag. Returns 0 or an error. */
int xiw_random(void *ctx, uint32_t *number);

/* Detaches all regions from an engine that is destroyed. Peers cannot use them any more; the application frees them. */
void xiw_regions_detach(struct xiw_engine *e);

#endif
