/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The incoming half of a connection ends before the connection does: by an error, or by the application. */
#ifndef XIW_CONN_STOP_H
#define XIW_CONN_STOP_H

#include "core/engine.h"

/* Carries out a stream error: the stream falls back, and the application gets XIW_EV_ERROR. The turn calls it. */
void xiw_conn_failed(struct xiw_conn *c);

/*
 * Takes nothing more from the peer: nothing is placed or delivered once this has returned, and posted buffers are
 * returned. TCP acknowledges what still comes, and it is dropped. Between two turns only, on an open connection.
 */
void xiw_conn_stop(struct xiw_conn *c);

/* Returns all posted buffers to the application or the ULP; none can be posted any more. */
void xiw_conn_return_buffers(struct xiw_conn *c);

#endif
