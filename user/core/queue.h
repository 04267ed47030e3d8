/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The AF_XDP sockets of receive queues: waiting for frames, and sending. */
#ifndef XIW_CORE_QUEUE_H
#define XIW_CORE_QUEUE_H

#include "core/engine.h"

/* Asks io_uring to report when frames have come, unless it is asked already. */
void xiw_queue_poll(struct xiw_engine *e, struct xiw_rxq *q);

/* Asks io_uring to make the kernel send the packets in the TX ring, if there are any. */
void xiw_queue_kick(struct xiw_engine *e, struct xiw_rxq *q);

/*
 * Makes the kernel send the ACKs in all TX rings now, so that they leave in the order in which they were built and
 * before anything that the kernel's TCP sends afterwards. The end of the turn sends what an interface does not take
 * now.
 */
void xiw_acks_out(struct xiw_engine *e);

/* True if an RX ring, or the frames lent to it, have run out within the last second, so that the kernel dropped. */
bool xiw_queues_overflowed(struct xiw_netif *p, uint64_t now_ms);

#endif
