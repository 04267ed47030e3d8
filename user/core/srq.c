// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Shared receive queues: the public objects, and the connections that use them. */
#include "core/srq.h"

#include <errno.h>
#include <stdlib.h>

#include "base/opts.h"
#include "core/agenda.h"
#include "core/budget.h"
#include "core/cq.h"
#include "core/orphan.h"

/* The size of the options in the first release. */
#define SRQ_OPTS_FIRST 24

XIW_OPTS_WHOLE(struct xiw_srq_opts, flags);

#define DEPTH_DEFAULT 1024u

_Static_assert(XIW_RDMA_PIECES_MAX <= XIW_DDP_SRQ_PIECES_MAX, "DDP takes all pieces of a buffer");

/* ---- the application's functions ----------------------------------------------------------------- */

static void tell_low(struct xiw_ddp_srq *ddp, int status)
{
	const struct xiw_srq *srq = (const struct xiw_srq *)ddp;
	const struct xiw_completion done = {
		.user_data = srq->user_data,
		.event = XIW_EV_SRQ_LOW,
		.length = ddp->count,
		.status = status,
	};

	xiw_complete_for(srq->engine, srq, &done);
}

static int take_opts(struct xiw_srq_opts *o, const struct xiw_srq_opts *opts)
{
	int err = xiw_opts_take(o, sizeof(*o), SRQ_OPTS_FIRST, opts);

	if (err)
		return err;
	if (o->depth > XIW_SRQ_DEPTH_MAX || o->flags & ~XIW_SRQ_TELL_MISSED)
		return -EINVAL;
	if (!o->depth)
		o->depth = DEPTH_DEFAULT;
	return 0;
}

int xiw_srq_create(struct xiw_engine *e, const struct xiw_srq_opts *opts, struct xiw_srq **srq)
{
	struct xiw_srq_opts o;
	struct xiw_srq *q;
	int err = take_opts(&o, opts);

	if (err)
		return err;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->memory = sizeof(*q) + xiw_ddp_srq_size(o.depth);
	if (!xiw_budget_take(&e->budget, q->memory)) {
		free(q);
		return -ENOMEM;
	}
	err = xiw_ddp_srq_init(&q->ddp, o.depth);
	if (err) {
		xiw_budget_give(&e->budget, q->memory);
		free(q);
		return err;
	}
	q->ddp.low = tell_low;
	q->ddp.tell_missed = o.flags & XIW_SRQ_TELL_MISSED;
	q->engine = e;
	q->user_data = o.user_data;
	q->at = &e->srqs;
	q->next = e->srqs;
	if (q->next)
		q->next->at = &q->next;
	e->srqs = q;
	*srq = q;
	return 0;
}

int xiw_srq_post_buf(struct xiw_srq *srq, const struct xiw_ddp_buf *b)
{
	return srq->engine ? xiw_ddp_srq_post(&srq->ddp, b) : -ESHUTDOWN;
}

int xiw_srq_room(struct xiw_srq *srq, struct xiw_ddp_piece **room)
{
	const size_t size = ((size_t)srq->ddp.mask + 1) * sizeof(*srq->rooms);

	if (!srq->engine)
		return -ESHUTDOWN;
	/* The place would be that of the oldest buffer. */
	if (srq->ddp.count == srq->ddp.depth)
		return -EAGAIN;
	if (!srq->rooms) {
		srq->rooms = xiw_budget_alloc(&srq->engine->budget, size);
		if (!srq->rooms)
			return -ENOMEM;
		srq->memory += size;
	}
	*room = srq->rooms[xiw_ddp_srq_at(&srq->ddp)];
	return 0;
}

int xiw_srq_withdraw(struct xiw_srq *srq, uint64_t *user_data)
{
	struct xiw_ddp_buf b;

	if (!srq->engine || !xiw_ddp_srq_withdraw(&srq->ddp, &b))
		return 0;
	*user_data = b.user_data;
	return 1;
}

int xiw_srq_set_limit(struct xiw_srq *srq, unsigned int limit)
{
	return srq->engine ? xiw_ddp_srq_set_limit(&srq->ddp, limit) : -ESHUTDOWN;
}

void xiw_srq_info(const struct xiw_srq *srq, struct xiw_srq_info *info, size_t size)
{
	const struct xiw_srq_info i = {
		.depth = srq->ddp.depth,
		.posted = srq->ddp.count,
		.limit = srq->ddp.limit,
		.streams = srq->users,
		.taken = srq->ddp.taken,
		.ended = srq->ended,
	};

	xiw_opts_give(info, size, &i, sizeof(i));
}

/* ---- the end ------------------------------------------------------------------------------------- */

static void leave_engine(struct xiw_srq *srq)
{
	xiw_cq_forget(&srq->engine->cq, srq);
	xiw_budget_give(&srq->engine->budget, srq->memory);
	*srq->at = srq->next;
	if (srq->next)
		srq->next->at = srq->at;
	srq->engine = NULL;
}

int xiw_srq_free(struct xiw_srq *srq)
{
	if (!srq)
		return 0;
	if (srq->users)
		return -EBUSY;
	if (srq->engine)
		leave_engine(srq);
	else
		xiw_orphan_remove(&srq->orphan);
	xiw_ddp_srq_free(&srq->ddp);
	free(srq->rooms);
	free(srq);
	return 0;
}

void xiw_srqs_detach(struct xiw_engine *e)
{
	struct xiw_srq *srq;

	while ((srq = e->srqs)) {
		leave_engine(srq);
		xiw_orphan_add(&srq->orphan);
	}
}

/* ---- connections --------------------------------------------------------------------------------- */

/*
 * A connection has so many buffers until the application has taken the completion of the oldest one of them: until then
 * it may still be in there.
 */
static bool may_take(void *ctx)
{
	const struct xiw_conn *c = ctx;
	const struct xiw_share *s = &c->uses.share;

	return s->n < s->max ||
	       s->told[s->n % s->max] <= xiw_cq_taken(xiw_outlet_cq(c, XIW_OUTLET_RECVS));
}

bool xiw_srq_has(const struct xiw_conn *c)
{
	const struct xiw_share *s = &c->uses.share;

	return s->srq && s->srq->ddp.count && (!s->max || may_take((void *)(uintptr_t)c));
}

void xiw_srq_received(struct xiw_conn *c)
{
	struct xiw_share *s = &c->uses.share;

	s->kept_ms = 0;
	if (s->max)
		s->told[s->n++ % s->max] = c->uses.outlets[XIW_OUTLET_RECVS].last_told;
}

static void join(struct xiw_conn *c, struct xiw_srq *srq)
{
	struct xiw_share *s = &c->uses.share;

	s->at = &srq->conns;
	s->next = srq->conns;
	if (s->next)
		s->next->uses.share.at = &s->next;
	srq->conns = c;
}

static void part(const struct xiw_share *s)
{
	*s->at = s->next;
	if (s->next)
		s->next->uses.share.at = s->at;
}

void xiw_srq_waits(struct xiw_conn *c)
{
	if (!c->uses.share.srq)
		return;
	part(&c->uses.share);
	join(c, c->uses.share.srq);
}

int xiw_srq_use(struct xiw_conn *c, struct xiw_srq *srq, uint32_t max)
{
	uint64_t *told = NULL;
	size_t charge;
	int err;

	if (!srq)
		return 0;
	if (srq->engine != c->engine || max > XIW_SRQ_SHARE_MAX)
		return -EINVAL;
	charge = xiw_ddp_rx_growth(c->ddp, 0, 1) + max * sizeof(*told);
	if (!xiw_conn_charge(c, charge))
		return -ENOMEM;
	if (max)
		told = calloc(max, sizeof(*told));
	err = max && !told ? -ENOMEM
			   : xiw_ddp_rx_share(c->ddp, &srq->ddp, max ? may_take : NULL, c);
	if (err) {
		xiw_conn_uncharge(c, charge);
		free(told);
		return err;
	}
	c->uses.share = (struct xiw_share){ .srq = srq, .told = told, .max = max };
	join(c, srq);
	srq->users++;
	return 0;
}

void xiw_srq_leave(struct xiw_conn *c)
{
	if (!c->uses.share.srq)
		return;
	xiw_ddp_rx_share(c->ddp, NULL, NULL, NULL);
	part(&c->uses.share);
	c->uses.share.srq->users--;
	free(c->uses.share.told);
	xiw_conn_uncharge(c, c->uses.share.max * sizeof(*c->uses.share.told));
	c->uses.share = (struct xiw_share){};
}
