/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_ENGINE_TURN_H
#define XIW_ENGINE_TURN_H

#include "core/engine.h"

unsigned int xiw_turn_reap(struct xiw_engine *e);

#endif
