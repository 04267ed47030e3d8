/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_RECLAIM_H
#define XIW_CONN_RECLAIM_H

#include "core/engine.h"

void xiw_reclaim(struct xiw_engine *e);

#endif
