/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_STAGE_H
#define XIW_CONN_STAGE_H

#include "core/engine.h"

bool xiw_stage_take(struct xiw_conn *c);
void xiw_stage_free(struct xiw_conn *c);
void xiw_stage_put(struct xiw_conn *c);
void xiw_stages_free(struct xiw_engine *e);
void xiw_stage_await(struct xiw_conn *c);
void xiw_stage_forget(struct xiw_conn *c);
void xiw_stage_retry(struct xiw_engine *e);

#endif
