/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_SEND_H
#define XIW_CONN_SEND_H

#include "core/engine.h"

void xiw_send_pump(struct xiw_conn *c);
void xiw_send_done(struct xiw_conn *c, int res);
void xiw_send_paused(struct xiw_conn *c);
void xiw_send_flush(struct xiw_conn *c);
void xiw_send_cancel(struct xiw_conn *c);

/* xiw_conn_send(), for a ULP. */
int xiw_send(struct xiw_conn *c, const struct xiw_message *m);
int xiw_send_from_region(struct xiw_conn *c, const struct xiw_message *m);

#endif
