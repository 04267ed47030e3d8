/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_ENGINE_FORK_H
#define XIW_ENGINE_FORK_H

#include "core/engine.h"

void xiw_fork_add(struct xiw_engine *e);
void xiw_fork_remove(struct xiw_engine *e);

#endif
