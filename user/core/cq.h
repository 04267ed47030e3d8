/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CORE_CQ_H
#define XIW_CORE_CQ_H

#include "core/engine.h"

void xiw_doorbell_failed(struct xiw_engine *e, int error);
bool xiw_conn_silent(const struct xiw_conn *c);
void xiw_overflow_free(struct xiw_engine *e);
void xiw_complete(struct xiw_engine *e, const struct xiw_completion *c);
void xiw_complete_listener(struct xiw_listener *l, const struct xiw_completion *c);
/* Has the application taken a completion that names it? */
bool xiw_cq_heard(const struct xiw_conn *c);
void xiw_cq_forget(struct xiw_engine *e, const void *owner);
void xiw_cq_forget_conn(const struct xiw_conn *c);
void xiw_cq_refill(struct xiw_engine *e);
void xiw_conn_tell(struct xiw_conn *c, enum xiw_event event, int status);
void xiw_conn_event(struct xiw_conn *c, enum xiw_event event, int status);

#endif
