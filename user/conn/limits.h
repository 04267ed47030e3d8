/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_LIMITS_H
#define XIW_CONN_LIMITS_H

#include "core/engine.h"

void xiw_conn_limit_peer(struct xiw_conn *c);
void xiw_conn_limit_close(struct xiw_conn *c);
void xiw_conn_limit_last(struct xiw_conn *c);
void xiw_conn_poll_socket(struct xiw_conn *c);
void xiw_conn_limit(struct xiw_conn *c, enum xiw_limit limit);
void xiw_conn_ask_close(struct xiw_conn *c);

#endif
