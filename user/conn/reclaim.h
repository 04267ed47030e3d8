/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_RECLAIM_H
#define XIW_CONN_RECLAIM_H

#include "core/engine.h"

/*
 * Finds memory for connections that need it to go on, by asking for the end of connections that hold memory and
 * do not move. Called at the end of a turn, which then carries out these ends.
 */
void xiw_reclaim(struct xiw_engine *e);

#endif
