// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Completions on their way to the application: the queue in memory, and CQEs in the application's ring. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "engine/internal.h"

static void ring_doorbell(struct xiw_engine *e, const struct xiw_completion *c)
{
	int res = c->status ? c->status : c->length > INT_MAX ? INT_MAX : (int)c->length;
	struct io_uring_sqe *sqe = xiw_sqe(e, NULL, XIW_OP_NONE);

	io_uring_prep_msg_ring(sqe, e->opts.app_ring_fd, (unsigned int)res, c->user_data, 0);
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
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

void xiw_complete_app(struct xiw_engine *e, const struct xiw_completion *c)
{
	if (!e->overflow_n && xiw_cq_room(e)) {
		enqueue(e, c);
		return;
	}
	if (e->overflow_n == e->overflow_room) {
		size_t room = e->overflow_room ? 2 * e->overflow_room : 256;
		void *more = realloc(e->overflow, room * sizeof(*e->overflow));

		if (!more) {
			e->lost_event =
				true; /* the application hears of it from xiw_engine_run() */
			return;
		}
		e->overflow = more;
		e->overflow_room = room;
	}
	e->overflow[e->overflow_n++] = *c;
}

void xiw_cq_drain(struct xiw_engine *e)
{
	size_t i;

	if (!e->overflow_n)
		return;
	for (i = 0; i < e->overflow_n && xiw_cq_room(e); i++)
		enqueue(e, &e->overflow[i]);
	e->overflow_n -= i;
	memmove(e->overflow, e->overflow + i, e->overflow_n * sizeof(*e->overflow));
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
