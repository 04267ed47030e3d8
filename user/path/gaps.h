/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_GAPS_H
#define XIW_PATH_GAPS_H

#include "core/engine.h"

/*
 * Lets streams fall back whose frames are kept behind a gap that lasts, if frames were short. To be called in each turn
 * that looks at times.
 */
void xiw_gaps_look(struct xiw_engine *e);

#endif
