/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_WATCH_H
#define XIW_PATH_WATCH_H

#include "core/engine.h"

void xiw_watch_sweep(struct xiw_engine *e);
void xiw_watch_read(struct xiw_engine *e);
void xiw_watch_event(struct xiw_engine *e);
void xiw_watch_scan(struct xiw_engine *e);

#endif
