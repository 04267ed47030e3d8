// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Completions on their way to the application: the queue in memory, and CQEs in the application's ring. */
#include <limits.h>
#include <stdlib.h>

#include "engine/internal.h"

#define OVERFLOW_KEPT 256u /* events that it has room for while it is not needed */

static void ring_doorbell(struct xiw_engine *e, const struct xiw_completion *c)
{
	int res = c->status ? c->status : c->length > INT_MAX ? INT_MAX : (int)c->length;
	struct io_uring_sqe *sqe = xiw_sqe(e, e, XIW_OP_DOORBELL);

	io_uring_prep_msg_ring(sqe, e->opts.app_ring_fd, (unsigned int)res, c->user_data, 0);
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

/* Nobody is told of those that were rung. The completion stays in the queue, for who asks there. */
void xiw_doorbell_failed(struct xiw_engine *e, int error)
{
	e->doorbells_lost++;
	e->doorbell_error = error;
}

uint64_t xiw_engine_doorbells_lost(const struct xiw_engine *e)
{
	return e->doorbells_lost;
}

static void enqueue(struct xiw_engine *e, const struct xiw_completion *c)
{
	e->cq[e->cq_tail & e->cq_mask] = *c;
	__atomic_store_n(&e->cq_tail, e->cq_tail + 1, __ATOMIC_RELEASE);
	if (e->opts.app_ring_fd >= 0)
		ring_doorbell(e, c);
}

void xiw_complete(struct xiw_engine *e, const struct xiw_completion *c)
{
	const struct xiw_ulp *ulp = c->conn->ulp;

	if (!ulp || !ulp->completion(c->conn, c))
		xiw_complete_app(e, c);
}

/* The i-th of those that wait. */
static struct xiw_completion *overflowed(const struct xiw_engine *e, size_t i)
{
	return &e->overflow[(e->overflow_head + i) % e->overflow_room];
}

void xiw_overflow_free(struct xiw_engine *e)
{
	xiw_budget_free(&e->budget, e->overflow, e->overflow_room * sizeof(*e->overflow));
	e->overflow = NULL;
	e->overflow_n = e->overflow_room = e->overflow_head = 0;
}

/* Not refused for the budget's sake, since the application would miss an event; so others are. */
static bool more_overflow(struct xiw_engine *e)
{
	size_t room = e->overflow_room ? 2 * e->overflow_room : OVERFLOW_KEPT, n = e->overflow_n;
	struct xiw_completion *more = malloc(room * sizeof(*more));

	if (!more)
		return false;
	for (size_t i = 0; i < n; i++)
		more[i] = *overflowed(e, i);
	xiw_overflow_free(e);
	xiw_budget_force(&e->budget, room * sizeof(*more));
	e->overflow = more;
	e->overflow_room = room;
	e->overflow_n = n;
	return true;
}

void xiw_complete_app(struct xiw_engine *e, const struct xiw_completion *c)
{
	if (!e->overflow_n && xiw_cq_room(e)) {
		enqueue(e, c);
		return;
	}
	if (e->overflow_n == e->overflow_room && !more_overflow(e)) {
		e->lost_event = true; /* the application hears of it from xiw_engine_run() */
		return;
	}
	*overflowed(e, e->overflow_n++) = *c;
}

void xiw_cq_drain(struct xiw_engine *e)
{
	if (!e->overflow_n)
		return;
	while (e->overflow_n && xiw_cq_room(e)) {
		enqueue(e, overflowed(e, 0));
		e->overflow_head = (e->overflow_head + 1) % e->overflow_room;
		e->overflow_n--;
	}
	/* What one bad moment needed is not kept for good. */
	if (!e->overflow_n && e->overflow_room > OVERFLOW_KEPT)
		xiw_overflow_free(e);
}

void xiw_conn_event(struct xiw_conn *c, enum xiw_event event, int status)
{
	struct xiw_completion done = {
		.user_data = c->opts.user_data,
		.conn = c,
		.event = event,
		.status = status,
	};

	if (!c->freed)
		xiw_complete(c->engine, &done);
}

int xiw_engine_next(struct xiw_engine *e, struct xiw_completion *c)
{
	uint32_t head = e->cq_head;

	if (head == __atomic_load_n(&e->cq_tail, __ATOMIC_ACQUIRE))
		return 0;
	*c = e->cq[head & e->cq_mask];
	__atomic_store_n(&e->cq_head, head + 1, __ATOMIC_RELEASE);
	return 1;
}
