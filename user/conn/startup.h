/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_STARTUP_H
#define XIW_CONN_STARTUP_H

#include "core/engine.h"

void xiw_startup_sent(struct xiw_conn *c, int res);
void xiw_startup_received(struct xiw_conn *c, int res);
void xiw_startup_begin(struct xiw_conn *c, const struct xiw_upgrade *upgrade);
void xiw_startup_timeout(struct xiw_conn *c);

#endif
