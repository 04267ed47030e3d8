/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_REGISTER_H
#define XIW_CONN_REGISTER_H

#include "core/engine.h"

int xiw_conn_netif(struct xiw_conn *c, struct xiw_netif **port);
int xiw_conn_register(struct xiw_conn *c);
void xiw_conn_unregister(struct xiw_conn *c);
void xiw_slot_describe(struct xiw_conn *c);
void xiw_slots_collect(struct xiw_engine *e);

#endif
