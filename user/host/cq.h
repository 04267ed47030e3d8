/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host/cq.h - completion queues: what QPs and SRQs need of host.h's struct xiw_host_cq. */
#ifndef XIW_HOST_CQ_H
#define XIW_HOST_CQ_H

#include "host/host.h"

/* Room for n more completions at a time, and the end of that. -ENOMEM; -ECANCELED: the CQ is not this process's. */
int xiw_host_cq_reserve(struct xiw_host_cq *cq, uint32_t n);
void xiw_host_cq_unreserve(struct xiw_host_cq *cq, uint32_t n);

/*
 * Adds a completion of `owner`. *credit, a count of places in use, goes down by one when the completion is polled or
 * removed.
 */
void xiw_host_cq_add(struct xiw_host_cq *cq, const struct xiw_host_wc *wc, const void *owner,
		     uint32_t *credit);

/* Are there completions of `owner` that succeeded? */
bool xiw_host_cq_owes(struct xiw_host_cq *cq, const void *owner);

/* Removes all completions of `owner`. */
void xiw_host_cq_purge(struct xiw_host_cq *cq, const void *owner);

#endif
