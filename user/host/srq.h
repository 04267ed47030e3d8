/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host/srq.h - shared receive queues: what QPs need of host.h's struct xiw_host_srq. */
#ifndef XIW_HOST_SRQ_H
#define XIW_HOST_SRQ_H

#include "host/host.h"

/* A QP names it, and its completions may go to this CQ, which gets room for them; the end of that. */
int xiw_host_srq_use(struct xiw_host_srq *srq, struct xiw_host_cq *cq);
void xiw_host_srq_leave(struct xiw_host_srq *srq, struct xiw_host_cq *cq);

/* In an engine's thread: the queue of that engine for a stream that begins, made if it is not there. */
int xiw_host_srq_share(struct xiw_host_srq *srq, struct xiw_engine *engine, struct xiw_srq **share);

/* In an engine's thread: a stream has taken this buffer. Returns its wr_id, and whether it was `signaled`. */
uint64_t xiw_host_srq_taken(struct xiw_host_srq *srq, uint64_t user_data, bool *signaled);

/* The count of places in use, as for xiw_host_cq_add(). */
uint32_t *xiw_host_srq_used(struct xiw_host_srq *srq);

/* XIW_EV_SRQ_LOW of one of its shares. */
void xiw_host_srq_low(uint64_t user_data);

#endif
