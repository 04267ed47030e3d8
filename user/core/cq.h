/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The completion queue, as the engine's thread fills it. */
#ifndef XIW_CORE_CQ_H
#define XIW_CORE_CQ_H

#include "core/engine.h"

/* Notes that a CQE for the application's io_uring could not be sent. */
void xiw_doorbell_failed(struct xiw_engine *e, int error);

/* True if the application hears no more of the connection: XIW_EV_CLOSED was its last event, or it was freed. */
bool xiw_conn_silent(const struct xiw_conn *c);

/* Frees the overflow and forgets what is in it. */
void xiw_overflow_free(struct xiw_engine *e);

/* Queues a completion of a connection, or of a listener. */
void xiw_complete(struct xiw_engine *e, const struct xiw_completion *c);
void xiw_complete_listener(struct xiw_listener *l, const struct xiw_completion *c);

/* True if the application has taken a completion that names the connection. */
bool xiw_cq_heard(const struct xiw_conn *c);

/* Makes the queue skip all completions that name `owner`, which is about to be freed. */
void xiw_cq_forget(struct xiw_engine *e, const void *owner);
void xiw_cq_forget_conn(const struct xiw_conn *c);

/* Moves completions from the overflow into the queue, as far as there is room. */
void xiw_cq_refill(struct xiw_engine *e);

/* Tells the application of an event of a connection. */
void xiw_conn_tell(struct xiw_conn *c, enum xiw_event event, int status);

/* Passes an event to the ULP, or to the application if there is no ULP. */
void xiw_conn_event(struct xiw_conn *c, enum xiw_event event, int status);

#endif
