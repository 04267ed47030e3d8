/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_STAGE_H
#define XIW_CONN_STAGE_H

#include "core/engine.h"

/* Gives the connection a stage, if it has none. Returns false if there is no memory. */
bool xiw_stage_take(struct xiw_conn *c);

/* Frees the connection's stage. */
void xiw_stage_free(struct xiw_conn *c);

/* Gives the stage back to the engine's pool, if the connection has nothing to send. */
void xiw_stage_put(struct xiw_conn *c);

/* Frees the pool, when the engine is freed. */
void xiw_stages_free(struct xiw_engine *e);

/* Lets the connection wait for a stage: first come, first served. */
void xiw_stage_await(struct xiw_conn *c);

/* The connection does not wait for a stage any more. */
void xiw_stage_forget(struct xiw_conn *c);

/* Gives stages to connections that wait. The turn calls it. */
void xiw_stage_retry(struct xiw_engine *e);

#endif
