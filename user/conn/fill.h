/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_FILL_H
#define XIW_CONN_FILL_H

#include "core/engine.h"

/* Returns the i-th queued message. */
static inline struct xiw_queued *xiw_queued_at(struct xiw_conn *c, uint32_t i)
{
	return &c->send.queue[(c->send.head + i) & (c->send.room - 1)];
}

/*
 * Fills the empty stage with FPDUs of queued messages. The stage ends where a TCP segment ends. @alone: no other
 * connection is known to send, so a write may be as long as the stage.
 */
void xiw_stage_fill(struct xiw_conn *c, bool alone);

#endif
