/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues, as connections and the engine see them. */
#ifndef XIW_CORE_SRQ_H
#define XIW_CORE_SRQ_H

#include <xiwarp/srq.h>

#include "core/engine.h"
#include "ddp/srq.h"

struct xiw_srq {
	struct xiw_ddp_srq ddp;
	struct xiw_engine *engine;  /* NULL: it was destroyed */
	struct xiw_srq *next, **at; /* in engine->srqs */
	struct xiw_orphan orphan;
	uint64_t user_data;
	struct xiw_conn *conns; /* of those that wait, who has waited longest is the last */
	uint32_t users; /* of these */
	uint64_t look_ms; /* when unfinished messages are looked at again */
	uint64_t ended;	  /* streams that kept a buffer for too long (conn/unfinished.c) */
	size_t memory;	/* taken from the budget */
	/* For the pieces of the buffer at each place of the ring; NULL until one is needed. */
	struct xiw_ddp_piece (*rooms)[XIW_RDMA_PIECES_MAX];
};

#define XIW_SRQ_SHARE_MAX 65536u

/*
 * Lets a connection take its buffers for queue 0 from here, at most `max` at a time (0: no limit); NULL: nothing is
 * done. -EINVAL: of another engine, or max; -ENOMEM.
 */
int xiw_srq_use(struct xiw_conn *c, struct xiw_srq *srq, uint32_t max);
/* The completion of a message that arrived in one of the buffers was queued. */
void xiw_srq_received(struct xiw_conn *c);
/* True if there is a buffer that the connection may take now. */
bool xiw_srq_has(const struct xiw_conn *c);
/* A Send of the connection begins to wait for a buffer: those that wait already come first. */
void xiw_srq_waits(struct xiw_conn *c);
/* The end of its use. */
void xiw_srq_leave(struct xiw_conn *c);

/* Says where the pieces of the buffer that is posted next have their place. -ENOMEM, and as xiw_srq_post(). */
int xiw_srq_room(struct xiw_srq *srq, struct xiw_ddp_piece **room);
/* Posts a buffer, whose pieces, if it has any, are in that place. As xiw_srq_post(). */
int xiw_srq_post_buf(struct xiw_srq *srq, const struct xiw_ddp_buf *b);

/* The end of the queues' use of an engine that is being destroyed. */
void xiw_srqs_detach(struct xiw_engine *e);

#endif
