/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a process and its engine have borrowed and must give back. */
#ifndef XIW_TESTS_NET_BORROWED_H
#define XIW_TESTS_NET_BORROWED_H

#include "core/engine.h"

uint64_t open_fds(void);

/* Frames that are neither free, nor in the fill ring, nor in the receive ring. */
int64_t frames_out(const struct xiw_engine *e);

/* Kept segments that are not free. */
int64_t kept_out(const struct xiw_engine *e);

/* Slots of the flow table that an engine owns. */
uint64_t slots_used(const struct xiw_table *t);

#endif
