// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The Data Sink's queues for untagged messages, and the buffers that are posted to them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "ddp/recv.h"
#include "ddp/srq.h"

static uint32_t nqueues_of(const struct xiw_ddp_rx_opts *o)
{
	return o->nqueues ? o->nqueues : XIW_DDP_DEFAULT_QUEUES;
}

size_t xiw_ddp_rx_size(const struct xiw_ddp_rx_opts *o)
{
	return sizeof(struct xiw_ddp_rx) + nqueues_of(o) * sizeof(struct xiw_ddp_queue);
}

int xiw_ddp_rx_create(struct xiw_ddp_rx **out, const struct xiw_ddp_rx_opts *o)
{
	uint32_t nqueues = nqueues_of(o);
	struct xiw_ddp_rx *rx;

	if (!o->table || o->stream == XIW_DDP_ANY_STREAM || nqueues > XIW_DDP_MAX_QUEUES ||
	    !o->depth || o->depth > XIW_DDP_MAX_DEPTH)
		return -EINVAL;
	rx = calloc(1, sizeof(*rx));
	if (!rx)
		return -ENOMEM;
	rx->queues = calloc(nqueues, sizeof(*rx->queues));
	if (!rx->queues) {
		free(rx);
		return -ENOMEM;
	}
	rx->table = o->table;
	rx->pd = o->pd;
	rx->stream = o->stream;
	rx->nqueues = nqueues;
	rx->depth = o->depth;
	xiw_ddp_rx_sinks(rx, 0, 1);
	for (uint32_t i = 0; i < nqueues; i++)
		rx->queues[i].next_msn = o->first_msn ? o->first_msn : 1; /* section 4.3 */
	*out = rx;
	return 0;
}

int xiw_ddp_rx_add_queue(struct xiw_ddp_rx *rx, uint32_t first_msn)
{
	const uint32_t n = rx->nqueues;
	struct xiw_ddp_queue *queues = reallocarray(rx->queues, n + 1, sizeof(*queues));

	if (!queues)
		return -ENOMEM;
	queues[n] = (struct xiw_ddp_queue){ .next_msn = first_msn ? first_msn : 1 };
	rx->queues = queues;
	rx->nqueues = n + 1;
	return 0;
}

void xiw_ddp_rx_free(struct xiw_ddp_rx *rx)
{
	if (!rx)
		return;
	for (uint32_t i = 0; i < rx->nqueues; i++)
		free(rx->queues[i].ring);
	free(rx->queues);
	free(rx->taken);
	free(rx);
}

/* The room of a queue that is to take `n` more buffers, as far as its depth lets it. */
static uint32_t room_for(const struct xiw_ddp_rx *rx, uint32_t qn, uint32_t n)
{
	const struct xiw_ddp_queue *q = &rx->queues[qn];

	if (n > rx->depth - q->count)
		n = rx->depth - q->count;
	return n ? xiw_ring_room(q->room, q->count + n) : q->room;
}

size_t xiw_ddp_rx_growth(const struct xiw_ddp_rx *rx, uint32_t qn, uint32_t n)
{
	if (qn >= rx->nqueues || rx->error)
		return 0;
	return (room_for(rx, qn, n) - rx->queues[qn].room) * sizeof(*rx->queues[qn].ring);
}

int xiw_ddp_rx_reserve(struct xiw_ddp_rx *rx, uint32_t qn, uint32_t n)
{
	struct xiw_ddp_queue *q = &rx->queues[qn];
	uint32_t more = room_for(rx, qn, n);
	struct xiw_ddp_buf *ring;

	if (more == q->room)
		return 0;
	ring = xiw_ring_grow(q->ring, sizeof(*ring), q->room, more, q->head, q->count);
	if (!ring)
		return -ENOMEM;
	q->ring = ring;
	q->room = more;
	return 0;
}

int xiw_ddp_rx_share(struct xiw_ddp_rx *rx, struct xiw_ddp_srq *srq, bool (*may_take)(void *ctx),
		     void *ctx)
{
	if (srq && rx->queues[0].count)
		return -EINVAL;
	/* The buffer that is taken has its place in the queue. */
	if (srq && xiw_ddp_rx_reserve(rx, 0, 1))
		return -ENOMEM;
	if (srq && !rx->taken) {
		rx->taken = calloc(XIW_DDP_SRQ_PIECES_MAX, sizeof(*rx->taken));
		if (!rx->taken)
			return -ENOMEM;
	}
	rx->srq = srq;
	rx->may_take = may_take;
	rx->may_take_ctx = ctx;
	return 0;
}

int xiw_ddp_rx_post_buf(struct xiw_ddp_rx *rx, uint32_t qn, const struct xiw_ddp_buf *b)
{
	struct xiw_ddp_queue *q;

	if (qn >= rx->nqueues || (!b->base && b->len) || (!qn && rx->srq))
		return -EINVAL;
	if (rx->error)
		return -ESHUTDOWN;
	q = &rx->queues[qn];
	if (q->count == rx->depth)
		return -EAGAIN;
	if (q->count == q->room && xiw_ddp_rx_reserve(rx, qn, 1))
		return -ENOMEM;
	q->ring[(q->head + q->count) & (q->room - 1)] = *b;
	q->count++;
	return 0;
}

int xiw_ddp_rx_post(struct xiw_ddp_rx *rx, uint32_t qn, void *buf, uint32_t len, uint64_t user_data)
{
	const struct xiw_ddp_buf b = { .base = buf, .len = len, .user_data = user_data };

	return xiw_ddp_rx_post_buf(rx, qn, &b);
}

struct xiw_ddp_buf xiw_ddp_buf_of(const struct xiw_ddp_piece *pieces, uint32_t npieces,
				  uint64_t user_data)
{
	struct xiw_ddp_buf b = {
		.base = (uint8_t *)(uintptr_t)pieces,
		.npieces = npieces,
		.user_data = user_data,
	};

	for (uint32_t i = 0; i < npieces; i++)
		b.len += (uint32_t)pieces[i].len;
	return b;
}

void xiw_ddp_buf_read(const struct xiw_ddp_buf *b, void *to, uint32_t len)
{
	const struct xiw_ddp_piece one = { b->base, b->len };
	const struct xiw_ddp_piece *piece = b->npieces ? (const void *)b->base : &one;
	uint8_t *out = to;

	for (size_t n; len; len -= (uint32_t)n, out += n, piece++) {
		n = piece->len < len ? piece->len : len;
		memcpy(out, piece->base, n);
	}
}

void xiw_ddp_rx_sinks(struct xiw_ddp_rx *rx, uint8_t mask, uint8_t sink)
{
	rx->sink_mask = mask;
	rx->sink = sink;
}

void xiw_ddp_rx_pass(struct xiw_ddp_rx *rx, uint32_t qn)
{
	rx->queues[qn].next_msn++;
}

bool xiw_ddp_rx_lacks_buffer(const struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h)
{
	const struct xiw_ddp_queue *q;

	if (rx->error || h->tagged || h->qn >= rx->nqueues)
		return false;
	q = &rx->queues[h->qn];
	return !q->count && h->msn == q->next_msn;
}

bool xiw_ddp_rx_flush(struct xiw_ddp_rx *rx, uint32_t *qn, struct xiw_ddp_buf *buf)
{
	xiw_ddp_rx_fail(rx, XIW_DDP_LOCAL_CATASTROPHIC);
	for (uint32_t i = 0; i < rx->nqueues; i++) {
		struct xiw_ddp_queue *q = &rx->queues[i];

		if (!q->count)
			continue;
		*qn = i;
		*buf = q->ring[q->head & (q->room - 1)];
		q->head++;
		q->count--;
		return true;
	}
	return false;
}
