/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engine's clock. */
#ifndef XIW_CORE_CLOCK_H
#define XIW_CORE_CLOCK_H

#include "core/engine.h"

/* Reads CLOCK_MONOTONIC into now_ns and now_ms. */
void xiw_clock_update(struct xiw_engine *e);

/*
 * Returns by how many ns a time namespace has moved this process's CLOCK_MONOTONIC ahead of the host's, which is the
 * one that BPF programs read.
 */
int64_t xiw_clock_lead(void);

#endif
