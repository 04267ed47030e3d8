// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is done for a file beside the engine: space for its next octets is allocated before the peer may send them, and
 * octets that nothing can change any more are digested and written to it while later ones come.
 */
#include "serve.h"

/* Some milliseconds at most: in this time no other peer has its turn. */
#define STEP (4u << 20)
/* The end of a connection waits for so much to be written, in the engine's thread. */
#define PIECE (256u << 10)

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static enum xiw_xfer_status write_step(struct xiw_serve_work *w, struct xiw_store *s)
{
	const uint64_t end = s->written + least(w->settled - s->written, STEP);
	enum xiw_xfer_status status = XIW_XFER_OK;

	while (!status && s->written < end && !w->dropped)
		status = xiw_store_write(s, least(end - s->written, PIECE));
	return status;
}

static bool step(struct xiw_job *job)
{
	struct xiw_serve_peer *p = job->owner;
	struct xiw_serve_work *w = &p->work;
	struct xiw_store *s = &p->store;
	uint64_t allocate = w->wanted - s->allocated;
	enum xiw_xfer_status status = XIW_XFER_OK;

	if (w->status)
		return false;
	/* Space first, which the peer may be waiting for. */
	if (allocate)
		status = xiw_store_extend(s, least(allocate, STEP), w->keep_free);
	else
		status = write_step(w, s);
	w->status = status;
	return !status && (s->allocated < w->wanted || s->written < w->settled);
}

void xiw_serve_work_begin(struct xiw_serve_peer *p, uint64_t keep_free)
{
	p->work.job = (struct xiw_job){ .step = step, .owner = p };
	p->work.keep_free = keep_free;
	p->work.dropped = false;
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

	/* That takes little more time than to wake a thread. */
	if (p->store.size <= XIW_STORE_SMALL)
		xiw_serve_work_now(p);
	else if (!p->work.status)
		xiw_worker_add(&s->worker, &p->work.job);
}

void xiw_serve_work_drop(struct xiw_serve_peer *p)
{
	struct xiw_serve *s = (struct xiw_serve *)p->peer.receiver;

	p->work.dropped = true;
	xiw_worker_drop(&s->worker, &p->work.job);
}
