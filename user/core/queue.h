/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CORE_QUEUE_H
#define XIW_CORE_QUEUE_H

#include "core/engine.h"

void xiw_queue_poll(struct xiw_engine *e, struct xiw_rxq *q);
void xiw_queue_kick(struct xiw_engine *e, struct xiw_rxq *q);
void xiw_acks_out(struct xiw_engine *e);
bool xiw_queues_overflowed(struct xiw_netif *p, uint64_t now_ms);

#endif
