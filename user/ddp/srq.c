// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ddp/srq.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

size_t xiw_ddp_srq_size(uint32_t depth)
{
	return xiw_ring_room(0, depth) * sizeof(struct xiw_ddp_buf);
}

int xiw_ddp_srq_init(struct xiw_ddp_srq *srq, uint32_t depth)
{
	*srq = (struct xiw_ddp_srq){ .depth = depth };
	if (!depth || depth > XIW_DDP_MAX_DEPTH)
		return -EINVAL;
	srq->mask = xiw_ring_room(0, depth) - 1;
	srq->ring = calloc(xiw_ring_room(0, depth), sizeof(*srq->ring));
	return srq->ring ? 0 : -ENOMEM;
}

void xiw_ddp_srq_free(struct xiw_ddp_srq *srq)
{
	free(srq->ring);
	srq->ring = NULL;
}

int xiw_ddp_srq_post(struct xiw_ddp_srq *srq, const struct xiw_ddp_buf *b)
{
	if ((!b->base && b->len) || b->npieces > XIW_DDP_SRQ_PIECES_MAX)
		return -EINVAL;
	if (srq->count == srq->depth)
		return -EAGAIN;
	srq->ring[xiw_ddp_srq_at(srq)] = *b;
	srq->count++;
	return 0;
}

static void look_at_limit(struct xiw_ddp_srq *srq)
{
	if (srq->count >= srq->limit)
		return;
	srq->limit = 0;
	srq->low(srq, 0);
}

void xiw_ddp_srq_take(struct xiw_ddp_srq *srq, struct xiw_ddp_buf *b)
{
	*b = srq->ring[srq->head++ & srq->mask];
	srq->count--;
	srq->taken++;
	look_at_limit(srq);
}

void xiw_ddp_srq_miss(struct xiw_ddp_srq *srq)
{
	const bool news = !srq->missed || (!srq->count && !srq->empty);

	srq->missed = true;
	srq->empty |= !srq->count;
	if (news && srq->tell_missed)
		srq->low(srq, -ENOBUFS);
}

bool xiw_ddp_srq_withdraw(struct xiw_ddp_srq *srq, struct xiw_ddp_buf *b)
{
	if (!srq->count)
		return false;
	srq->count--;
	*b = srq->ring[xiw_ddp_srq_at(srq)];
	return true;
}

int xiw_ddp_srq_set_limit(struct xiw_ddp_srq *srq, uint32_t limit)
{
	if (limit > srq->depth)
		return -EINVAL;
	srq->limit = limit;
	look_at_limit(srq);
	return 0;
}
