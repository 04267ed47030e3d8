/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_FILL_H
#define XIW_CONN_FILL_H

#include "core/engine.h"

/* The i-th message that is queued. */
static inline struct xiw_queued *xiw_queued_at(struct xiw_conn *c, uint32_t i)
{
	return &c->send.queue[(c->send.head + i) % c->send.depth];
}

void xiw_stage_fill(struct xiw_conn *c);

#endif
