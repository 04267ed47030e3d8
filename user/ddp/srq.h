/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ddp/srq.h - posted buffers that several DDP Streams share (RFC 5042 section 6.4.3.1): each Stream takes the oldest
 * buffer when the first segment of a message is delivered to its queue 0, and has at most one that is not full
 *
 * Nothing here does I/O, or allocates after creation.
 */
#ifndef XIW_DDP_SRQ_H
#define XIW_DDP_SRQ_H

#include "ddp/recv.h"

#define XIW_DDP_SRQ_PIECES_MAX 32u /* of a buffer */

struct xiw_ddp_srq {
	struct xiw_ddp_buf *ring;
	uint32_t depth, mask; /* of a ring index */
	uint32_t head, count;
	uint32_t limit; /* low() is called, once, when count falls below it; 0: never */
	uint64_t taken; /* buffers so far */
	bool missed;	  /* a message has found no buffer since this was cleared */
	bool empty;	  /* likewise, and there was none at all */
	bool tell_missed; /* when these become true, low() is called with -ENOBUFS */
	void (*low)(struct xiw_ddp_srq *srq, int status);
};

/* Returns 0, -EINVAL or -ENOMEM. xiw_ddp_srq_free() accepts zeros. */
int xiw_ddp_srq_init(struct xiw_ddp_srq *srq, uint32_t depth);
/* The number of octets that it allocates. */
size_t xiw_ddp_srq_size(uint32_t depth);
/* Forgets the buffers that are still posted. */
void xiw_ddp_srq_free(struct xiw_ddp_srq *srq);

/* Posts a buffer; its pieces must stay until it is taken. Returns 0, -EINVAL or -EAGAIN (depth buffers are posted). */
int xiw_ddp_srq_post(struct xiw_ddp_srq *srq, const struct xiw_ddp_buf *b);
/* The place in the ring of the buffer that is posted next. */
static inline uint32_t xiw_ddp_srq_at(const struct xiw_ddp_srq *srq)
{
	return (srq->head + srq->count) & srq->mask;
}

/* Returns the oldest buffer, or NULL; takes it, which there must be. */
static inline const struct xiw_ddp_buf *xiw_ddp_srq_first(const struct xiw_ddp_srq *srq)
{
	return srq->count ? &srq->ring[srq->head & srq->mask] : NULL;
}
void xiw_ddp_srq_take(struct xiw_ddp_srq *srq, struct xiw_ddp_buf *b);

/* A message has found no buffer, as there is none or as its stream may not take one. */
void xiw_ddp_srq_miss(struct xiw_ddp_srq *srq);

/* Takes back the newest buffer. False: there is none. */
bool xiw_ddp_srq_withdraw(struct xiw_ddp_srq *srq, struct xiw_ddp_buf *b);

/* Sets the limit; low() is called at once if fewer buffers are posted. 0: none. -EINVAL: more than depth. */
int xiw_ddp_srq_set_limit(struct xiw_ddp_srq *srq, uint32_t limit);

#endif
