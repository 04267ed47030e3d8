/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waiting for an engine: in its ring, or in an application's loop by a descriptor. */
#ifndef XIW_ENGINE_READY_H
#define XIW_ENGINE_READY_H

#include "core/engine.h"

/* Asks io_uring to report frames. */
void xiw_ready_poll_queues(struct xiw_engine *e);

/* Returns when the engine must look again even if nothing is reported, or XIW_NEVER. */
uint64_t xiw_ready_next(const struct xiw_engine *e);

/*
 * Makes the descriptor of xiw_engine_fd() tell of everything that comes from now on. False: something has come
 * already, or there was an error (negative errno in *err, else it is left alone).
 */
bool xiw_ready_arm(struct xiw_engine *e, int *err);

/* Makes the descriptor readable. */
void xiw_ready_light(struct xiw_engine *e);

/* Notes that the kernel has made the descriptor readable, as it does for completions of io_uring. */
void xiw_ready_lit(struct xiw_engine *e);

/* The timeout that xiw_ready_arm() asked for is over. */
void xiw_ready_timer_done(struct xiw_engine *e);

void xiw_ready_free(struct xiw_engine *e);

#endif
