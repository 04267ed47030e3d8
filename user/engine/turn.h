/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The turn: one round of xiw_engine_run(). */
#ifndef XIW_ENGINE_TURN_H
#define XIW_ENGINE_TURN_H

#include "core/engine.h"
#include "core/ring.h"

/* True if requests are to be submitted. */
static inline bool xiw_ring_waits(const struct xiw_engine *e)
{
	return io_uring_sq_ready(&e->io.ring) || e->io.line_n;
}

/* One round. True: it found something to do. */
bool xiw_turn(struct xiw_engine *e);

/*
 * Sends ACKs that have waited, and tells sockets what the peers said of their data. It comes behind the submission of
 * what the turn has queued, because each takes a system call.
 */
void xiw_turn_tell(struct xiw_engine *e);

/* Handles the completions that io_uring has. Returns their number. */
unsigned int xiw_turn_reap(struct xiw_engine *e);

#endif
