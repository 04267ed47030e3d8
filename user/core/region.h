/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CORE_REGION_H
#define XIW_CORE_REGION_H

#include "core/engine.h"

int xiw_random(void *ctx, uint32_t *number);
void xiw_regions_detach(struct xiw_engine *e);

#endif
