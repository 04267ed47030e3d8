// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Shared receive queues. Each engine has a share of the buffers in a queue of the library's, since only one thread may
 * use that; the rest is in stock. Shares are kept about equal. When a Send finds its engine's share empty, it waits,
 * and the other engines give half of theirs back, so that no Send waits for long while there is a buffer anywhere.
 */
#include "host/srq.h"

#include <errno.h>
#include <stdlib.h>

#include "host/cq.h"
#include "host/engines.h"
#include "host/eq.h"
#include "host/life.h"
#include "host/mr.h"

struct slot {
	uint64_t wr_id, era;
	unsigned int pieces;
	bool signaled;
};

struct share {
	struct xiw_host_srq *srq;
	struct xiw_engine *engine;
	struct xiw_srq *queue; /* NULL: no stream of this engine has come yet */
	uint32_t have;
	bool starving; /* a Send waits */
	bool called;
	struct xiw_call call;
};

struct room {
	struct room *next;
	struct xiw_host_cq *cq;
	unsigned int users;
};

struct xiw_host_srq {
	struct xiw_host_life life;
	pthread_mutex_t lock;
	struct xiw_host_sge_rules rules;
	unsigned int depth;
	struct slot *slots;
	struct iovec *iov;
	struct xiw_host_seen seen;
	uint32_t *stock, in_stock; /* slots that are posted, and that no engine has */
	uint32_t *unused, in_unused;
	uint32_t used;	/* places in use, until the completion is polled */
	uint32_t there; /* buffers that no stream has taken */
	unsigned int limit;
	struct xiw_host_eq *eq;
	struct xiw_host_bell bell;
	struct room *rooms;
	unsigned int nshares;
	struct share shares[];
};

/* ---- with the lock ------------------------------------------------------------------------------------ */

static void ask_for_balance(struct share *s)
{
	if (s->queue && !s->called) {
		s->called = true;
		xiw_engine_call(s->engine, &s->call);
	}
}

static unsigned int starving(const struct xiw_host_srq *srq, const struct share *but)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < srq->nshares; i++)
		n += srq->shares[i].starving && &srq->shares[i] != but;
	return n;
}

static uint32_t fair(const struct xiw_host_srq *srq)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < srq->nshares; i++)
		n += !!srq->shares[i].queue;
	return n ? (srq->there + n - 1) / n : 0;
}

/* Buffers of messages that are arriving cannot be given back. If there are no others, nobody is told. */
static void give_back(struct share *s)
{
	struct xiw_host_srq *srq = s->srq;
	const uint32_t had = s->have;
	uint64_t slot;

	for (uint32_t n = (s->have + 1) / 2; n && xiw_srq_withdraw(s->queue, &slot) > 0; n--) {
		s->have--;
		srq->stock[srq->in_stock++] = (uint32_t)slot;
	}
	for (unsigned int i = 0; i < srq->nshares && s->have != had; i++)
		if (srq->shares[i].starving)
			ask_for_balance(&srq->shares[i]);
}

static bool give_one(struct share *s)
{
	struct xiw_host_srq *srq = s->srq;
	const uint32_t slot = srq->stock[srq->in_stock - 1];
	struct iovec *iov = &srq->iov[slot * srq->rules.max];
	const struct xiw_rdma_recv recv = {
		.size = sizeof(recv),
		.user_data = slot,
		.iov = iov,
		.iov_count = srq->slots[slot].pieces,
		.flags = srq->rules.unchecked ? 0 : XIW_RDMA_RECV_REGISTERED,
	};

	xiw_host_recheck(s->engine, &srq->rules, &srq->slots[slot].era, iov, recv.iov_count);
	if (xiw_srq_post_many(s->queue, &recv, 1, NULL))
		return false;
	srq->in_stock--;
	s->have++;
	s->starving = false;
	return true;
}

/* In the engine's thread. */
static void balance(struct share *s)
{
	struct xiw_host_srq *srq = s->srq;
	const unsigned int others = starving(srq, s);
	const uint32_t most = fair(srq);

	if (others && !s->starving)
		give_back(s);
	/* Whose Send waits takes a buffer, even if there are not enough for all who wait. */
	if (s->starving && srq->in_stock)
		give_one(s);
	while (srq->in_stock > others && s->have < most && give_one(s))
		;
	for (unsigned int i = 0; s->starving && i < srq->nshares; i++)
		if (srq->shares[i].have && &srq->shares[i] != s)
			ask_for_balance(&srq->shares[i]);
}

static void look_at_limit(struct xiw_host_srq *srq)
{
	if (srq->there >= srq->limit)
		return;
	srq->limit = 0;
	xiw_host_bell_ring(srq->eq, &srq->bell);
}

/* ---- in the engine's thread --------------------------------------------------------------------------- */

static void called(struct xiw_engine *e, struct xiw_call *call, int status)
{
	struct share *s = (void *)((char *)call - offsetof(struct share, call));

	(void)e;
	(void)status;
	pthread_mutex_lock(&s->srq->lock);
	s->called = false;
	if (s->queue)
		balance(s);
	pthread_mutex_unlock(&s->srq->lock);
}

void xiw_host_srq_low(uint64_t user_data)
{
	struct share *s = (void *)(uintptr_t)user_data;
	struct xiw_srq_info info;

	pthread_mutex_lock(&s->srq->lock);
	/* A buffer may have come meanwhile. Those of messages that are not complete do not count. */
	xiw_srq_info(s->queue, &info, sizeof(info));
	s->starving = !info.posted;
	balance(s);
	pthread_mutex_unlock(&s->srq->lock);
}

int xiw_host_srq_share(struct xiw_host_srq *srq, struct xiw_engine *e, struct xiw_srq **queue)
{
	struct share *s = &srq->shares[xiw_host_here()];
	const struct xiw_srq_opts opts = {
		.size = sizeof(opts),
		.user_data = (uintptr_t)s,
		.depth = srq->depth,
		.flags = XIW_SRQ_TELL_MISSED,
	};
	int err = 0;

	pthread_mutex_lock(&srq->lock);
	s->engine = e;
	if (!s->queue)
		err = xiw_srq_create(e, &opts, &s->queue);
	if (!err)
		balance(s);
	pthread_mutex_unlock(&srq->lock);
	*queue = s->queue;
	return err;
}

uint64_t xiw_host_srq_taken(struct xiw_host_srq *srq, uint64_t user_data, bool *signaled)
{
	struct share *s = &srq->shares[xiw_host_here()];
	const uint32_t slot = (uint32_t)user_data;
	uint64_t wr_id;

	pthread_mutex_lock(&srq->lock);
	wr_id = srq->slots[slot].wr_id;
	*signaled = srq->slots[slot].signaled;
	srq->unused[srq->in_unused++] = slot;
	s->have--;
	srq->there--;
	if (s->have < fair(srq) / 2 + 1)
		balance(s);
	look_at_limit(srq);
	pthread_mutex_unlock(&srq->lock);
	return wr_id;
}

uint32_t *xiw_host_srq_used(struct xiw_host_srq *srq)
{
	return &srq->used;
}

/* ---- any thread ---------------------------------------------------------------------------------------- */

static struct xiw_host_srq *make(const struct xiw_host_srq_opts *o, unsigned int engines)
{
	struct xiw_host_srq *q = calloc(1, sizeof(*q) + engines * sizeof(*q->shares));

	if (!q)
		return NULL;
	q->slots = calloc(o->depth, sizeof(*q->slots));
	q->iov = calloc(o->depth, o->sge * sizeof(*q->iov));
	q->stock = calloc(o->depth, sizeof(*q->stock));
	q->unused = calloc(o->depth, sizeof(*q->unused));
	if (q->slots && q->iov && q->stock && q->unused)
		return q;
	free(q->slots);
	free(q->iov);
	free(q->stock);
	free(q->unused);
	free(q);
	return NULL;
}

int xiw_host_srq_create(const struct xiw_host_srq_opts *o, struct xiw_host_srq **srq)
{
	struct xiw_group *group;
	struct xiw_host_srq *q;
	int err;

	if (!o->depth || o->depth > XIW_HOST_DEPTH_MAX || !o->sge || o->sge > XIW_HOST_SGE_MAX)
		return -EINVAL;
	err = xiw_host_engines(&group);
	if (!err)
		err = xiw_host_eq_use(o->eq);
	if (err)
		return err;
	q = make(o, xiw_group_engines(group));
	if (!q) {
		xiw_host_eq_leave(o->eq);
		return -ENOMEM;
	}
	xiw_host_born(&q->life);
	pthread_mutex_init(&q->lock, NULL);
	q->rules = (struct xiw_host_sge_rules){ o->pd, o->sge, o->unchecked };
	q->depth = q->in_unused = o->depth;
	for (uint32_t i = 0; i < o->depth; i++)
		q->unused[i] = i;
	q->nshares = xiw_group_engines(group);
	for (unsigned int i = 0; i < q->nshares; i++) {
		q->shares[i].srq = q;
		q->shares[i].call.run = called;
	}
	q->eq = o->eq;
	q->bell.kind = XIW_HOST_SRQ_LOW;
	q->bell.context = o->context;
	*srq = q;
	return 0;
}

static int place(struct xiw_host_srq *srq, const struct xiw_host_recv *recv)
{
	const uint64_t since = xiw_host_era();
	uint32_t slot;
	int64_t len;

	if (__atomic_load_n(&srq->used, __ATOMIC_ACQUIRE) >= srq->depth)
		return -ENOMEM;
	slot = srq->unused[srq->in_unused - 1];
	len = xiw_host_pieces(recv->sge, recv->sge_count, &srq->rules, true, &srq->seen,
			      &srq->iov[slot * srq->rules.max]);
	if (len < 0)
		return (int)len;
	srq->in_unused--;
	srq->slots[slot] = (struct slot){ recv->wr_id, since, recv->sge_count, recv->signaled };
	srq->stock[srq->in_stock++] = slot;
	srq->there++;
	__atomic_fetch_add(&srq->used, 1, __ATOMIC_RELAXED);
	return 0;
}

int xiw_host_srq_post(struct xiw_host_srq *srq, const struct xiw_host_recv *recv,
		      unsigned int count, unsigned int *posted)
{
	unsigned int i = 0;
	int err = 0;

	if (posted)
		*posted = 0;
	if (xiw_host_dead(&srq->life))
		return -ECANCELED;
	pthread_mutex_lock(&srq->lock);
	while (i < count && !(err = place(srq, &recv[i])))
		i++;
	for (unsigned int s = 0; i && s < srq->nshares; s++)
		ask_for_balance(&srq->shares[s]);
	pthread_mutex_unlock(&srq->lock);
	if (posted)
		*posted = i;
	return err;
}

int xiw_host_srq_set_limit(struct xiw_host_srq *srq, unsigned int limit)
{
	if (xiw_host_dead(&srq->life))
		return -ECANCELED;
	if (limit > srq->depth)
		return -EINVAL;
	if (!srq->eq)
		return -ENOENT;
	pthread_mutex_lock(&srq->lock);
	srq->limit = limit;
	look_at_limit(srq);
	pthread_mutex_unlock(&srq->lock);
	return 0;
}

unsigned int xiw_host_srq_limit(const struct xiw_host_srq *srq)
{
	return __atomic_load_n(&srq->limit, __ATOMIC_RELAXED);
}

/* ---- QPs and the end ------------------------------------------------------------------------------------ */

static struct room **find(struct xiw_host_srq *srq, const struct xiw_host_cq *cq)
{
	struct room **at = &srq->rooms;

	while (*at && (*at)->cq != cq)
		at = &(*at)->next;
	return at;
}

int xiw_host_srq_use(struct xiw_host_srq *srq, struct xiw_host_cq *cq)
{
	struct room **at, *r;
	int err = 0;

	if (xiw_host_dead(&srq->life))
		return -ECANCELED;
	pthread_mutex_lock(&srq->lock);
	at = find(srq, cq);
	if (!*at) {
		r = malloc(sizeof(*r));
		err = r ? xiw_host_cq_reserve(cq, srq->depth) : -ENOMEM;
		if (err) {
			free(r);
		} else {
			*r = (struct room){ .cq = cq };
			*at = r;
		}
	}
	if (!err)
		(*at)->users++;
	pthread_mutex_unlock(&srq->lock);
	return err;
}

void xiw_host_srq_leave(struct xiw_host_srq *srq, struct xiw_host_cq *cq)
{
	struct room **at, *r;

	pthread_mutex_lock(&srq->lock);
	at = find(srq, cq);
	r = *at;
	if (!--r->users) {
		*at = r->next;
		xiw_host_cq_unreserve(cq, srq->depth);
		free(r);
	}
	pthread_mutex_unlock(&srq->lock);
}

static void end_share(void *ctx)
{
	struct share *s = ctx;

	pthread_mutex_lock(&s->srq->lock);
	xiw_srq_free(s->queue);
	s->queue = NULL;
	pthread_mutex_unlock(&s->srq->lock);
}

static void nothing(void *ctx)
{
	(void)ctx;
}

int xiw_host_srq_free(struct xiw_host_srq *srq)
{
	bool used;

	if (!srq)
		return 0;
	if (!xiw_host_dead(&srq->life)) {
		pthread_mutex_lock(&srq->lock);
		used = srq->rooms;
		pthread_mutex_unlock(&srq->lock);
		if (used)
			return -EBUSY;
		for (unsigned int i = 0; i < srq->nshares; i++)
			if (srq->shares[i].engine)
				xiw_host_ask(srq->shares[i].engine, end_share, &srq->shares[i]);
		/* No call that one engine has made of another one is under way any more. */
		for (unsigned int i = 0; i < srq->nshares; i++)
			if (srq->shares[i].engine)
				xiw_host_ask(srq->shares[i].engine, nothing, NULL);
		if (srq->eq)
			xiw_host_bell_remove(srq->eq, &srq->bell);
		xiw_host_eq_leave(srq->eq);
	}
	free(srq->slots);
	free(srq->iov);
	free(srq->stock);
	free(srq->unused);
	free(srq);
	return 0;
}
