// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is done for a file beside the engine: its next octets are allocated and their pages made before the peer may
 * write them, and octets that nothing can change any more are digested while later ones come.
 */
#include "serve.h"

/* Some milliseconds at most: in this time no other peer has its turn, and an end of the connection waits. */
#define STEP (4u << 20)
/* A file of this size is digested, at 0.5 GB/s or more, in little more time than it takes to wake a thread. */
#define SMALL (64u << 10)

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool step(struct xiw_job *job)
{
	struct xiw_serve_peer *p = job->owner;
	struct xiw_serve_work *w = &p->work;
	struct xiw_store *s = &p->store;
	uint64_t allocate = w->wanted - s->allocated, digest = w->settled - s->digested;
	enum xiw_xfer_status status = XIW_XFER_OK;

	if (w->status)
		return false;
	/* Space first, which the peer may be waiting for. */
	if (allocate)
		status = xiw_store_extend(s, least(allocate, STEP), w->keep_free);
	else if (digest && !xiw_store_digest(s, least(digest, STEP)))
		status = XIW_XFER_FAILED;
	w->status = status;
	return !status && (s->allocated < w->wanted || s->digested < w->settled);
}

void xiw_serve_work_begin(struct xiw_serve_peer *p, uint64_t keep_free)
{
	p->work.job = (struct xiw_job){ .step = step, .owner = p };
	p->work.keep_free = keep_free;
	p->work.wanted = p->work.settled = 0;
	p->work.status = XIW_XFER_OK;
}

void xiw_serve_work_now(struct xiw_serve_peer *p)
{
	while (step(&p->work.job))
		;
}

void xiw_serve_work_add(struct xiw_serve_peer *p)
{
	struct xiw_serve *s = (struct xiw_serve *)p->peer.receiver;

	if (p->store.size <= SMALL)
		xiw_serve_work_now(p);
	else if (!p->work.status)
		xiw_worker_add(&s->worker, &p->work.job);
}

void xiw_serve_work_drop(struct xiw_serve_peer *p)
{
	struct xiw_serve *s = (struct xiw_serve *)p->peer.receiver;

	xiw_worker_drop(&s->worker, &p->work.job);
}
