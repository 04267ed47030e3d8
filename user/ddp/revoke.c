// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ddp/revoke.h"

static bool has(const struct xiw_ddp_region *r, const void *ptr, uint64_t len)
{
	const uint64_t off = (uintptr_t)ptr - (uintptr_t)r->ptr;

	return !r->borrowed && !r->npieces && r->access & XIW_DDP_SINK && off < r->len &&
	       len <= r->len - off;
}

bool xiw_ddp_registered(const struct xiw_ddp_table *t, const void *ptr, uint64_t len,
			const struct xiw_ddp_region **seen)
{
	if (*seen && has(*seen, ptr, len))
		return true;
	for (uint32_t i = 0; i < t->nslots; i++) {
		if (!t->slots[i].used || !has(&t->slots[i].region, ptr, len))
			continue;
		*seen = &t->slots[i].region;
		return true;
	}
	return false;
}

/* base: the octets, or the pieces. */
static bool hits(struct xiw_ddp_gone *g, void *base, uint32_t npieces, uint64_t len)
{
	const struct xiw_ddp_piece one = { base, len };
	const struct xiw_ddp_piece *p = npieces ? base : &one;

	for (uint32_t n = npieces ? npieces : 1; n--; p++)
		if (((uintptr_t)p->base - g->from < g->len ||
		     g->from - (uintptr_t)p->base < p->len) &&
		    !xiw_ddp_registered(g->table, p->base, p->len, &g->seen))
			return true;
	return false;
}

static void revoke(struct xiw_ddp_buf *b, struct xiw_ddp_gone *g)
{
	if (b->registered && b->len && hits(g, b->base, b->npieces, b->len))
		*b = (struct xiw_ddp_buf){ .user_data = b->user_data,
					   .registered = 1,
					   .revoked = 1 };
}

void xiw_ddp_rx_revoke(struct xiw_ddp_rx *rx, struct xiw_ddp_gone *g)
{
	for (uint32_t i = 0; i < rx->nqueues; i++) {
		struct xiw_ddp_queue *q = &rx->queues[i];

		for (uint32_t n = 0; n < q->count; n++)
			revoke(&q->ring[(q->head + n) & (q->room - 1)], g);
	}
}

void xiw_ddp_srq_revoke(struct xiw_ddp_srq *srq, struct xiw_ddp_gone *g)
{
	for (uint32_t n = 0; n < srq->count; n++)
		revoke(&srq->ring[(srq->head + n) & srq->mask], g);
}

void xiw_ddp_sinks_revoke(struct xiw_ddp_table *t, struct xiw_ddp_gone *g)
{
	for (uint32_t i = 0; i < t->nslots; i++) {
		const struct xiw_ddp_region *r = &t->slots[i].region;

		if (t->slots[i].used && r->borrowed && hits(g, r->ptr, r->npieces, r->len))
			xiw_ddp_region_invalidate(t, r->stag);
	}
}
