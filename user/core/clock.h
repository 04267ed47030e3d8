/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CORE_CLOCK_H
#define XIW_CORE_CLOCK_H

#include "core/engine.h"

void xiw_clock_update(struct xiw_engine *e);
/* How far a time namespace has moved this process's CLOCK_MONOTONIC; BPF programs know the host's alone. */
int64_t xiw_clock_lead(void);

#endif
