/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CORE_AGENDA_H
#define XIW_CORE_AGENDA_H

#include "core/engine.h"

void xiw_wake_at(struct xiw_engine *e, uint64_t ms);
void xiw_dirty(struct xiw_conn *c);
void xiw_conn_stream_error(struct xiw_conn *c, enum xiw_mpa_error mpa, enum xiw_ddp_error ddp);
void xiw_conn_ask_end(struct xiw_conn *c, int error, bool at_once);
void xiw_conn_broken(struct xiw_conn *c, int error);
void xiw_ends_forget(struct xiw_conn *c);
void xiw_watch_soon(struct xiw_engine *e);
bool xiw_conn_charge(struct xiw_conn *c, size_t n);

static inline void xiw_segment_dropped(struct xiw_conn *c)
{
	c->counts.segs_dropped++;
	xiw_dirty(c);
}

#endif
