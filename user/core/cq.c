// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The completion queue. The engine's thread writes completions into it, and the application takes them with
 * xiw_engine_next(), maybe in another thread. A full queue overflows into a list. If the application has named an
 * io_uring of its own, each completion is also announced there by a CQE (the doorbell).
 */
#include "core/cq.h"

#include <limits.h>
#include <stdlib.h>

#include "core/budget.h"
#include "core/ring.h"

#define OVERFLOW_KEPT 256u /* room that stays allocated when the overflow is empty */

static void ring_doorbell(struct xiw_engine *e, const struct xiw_completion *c)
{
	int res = c->status ? c->status : c->length > INT_MAX ? INT_MAX : (int)c->length;
	struct io_uring_sqe *sqe = xiw_sqe(e, e, XIW_OP_DOORBELL);

	io_uring_prep_msg_ring(sqe, e->opts.app_ring_fd, (unsigned int)res, c->user_data, 0);
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

/* The completion itself is still in the queue, where xiw_engine_next() finds it. */
void xiw_doorbell_failed(struct xiw_engine *e, int error)
{
	e->cq.doorbells_lost++;
	e->cq.doorbell_error = error;
}

uint64_t xiw_engine_doorbells_lost(const struct xiw_engine *e)
{
	return e->cq.doorbells_lost;
}

static void enqueue(struct xiw_engine *e, const struct xiw_entry *entry)
{
	struct xiw_entry *at = &e->cq.entries[e->cq.tail & e->cq.mask];

	at->done = entry->done;
	__atomic_store_n(&at->owner, entry->owner, __ATOMIC_RELAXED);
	__atomic_store_n(&e->cq.tail, e->cq.tail + 1, __ATOMIC_RELEASE);
	if (e->opts.app_ring_fd >= 0 && entry->owner)
		ring_doorbell(e, &entry->done);
}

/* Code that tells something after CLOSED has not checked the state. Builds with XIW_CHECKS abort then. */
bool xiw_conn_silent(const struct xiw_conn *c)
{
#ifdef XIW_CHECKS
	if (c->end.closed_told && !c->end.freed)
		abort();
#endif
	return c->end.closed_told || c->end.freed;
}

/* The i-th completion that waits in the overflow. */
static struct xiw_entry *overflowed(const struct xiw_engine *e, size_t i)
{
	return &e->cq.overflow[(e->cq.overflow_head + i) % e->cq.overflow_room];
}

void xiw_overflow_free(struct xiw_engine *e)
{
	xiw_budget_free(&e->budget, e->cq.overflow, e->cq.overflow_room * sizeof(*e->cq.overflow));
	e->cq.overflow = NULL;
	e->cq.overflow_n = e->cq.overflow_room = e->cq.overflow_head = 0;
}

/* The budget does not refuse this, since the application would miss an event. It refuses other things instead. */
static bool more_overflow(struct xiw_engine *e)
{
	size_t room = e->cq.overflow_room ? 2 * e->cq.overflow_room : OVERFLOW_KEPT,
	       n = e->cq.overflow_n;
	struct xiw_entry *more = malloc(room * sizeof(*more));

	if (!more)
		return false;
	for (size_t i = 0; i < n; i++)
		more[i] = *overflowed(e, i);
	xiw_overflow_free(e);
	xiw_budget_force(&e->budget, room * sizeof(*more));
	e->cq.overflow = more;
	e->cq.overflow_room = room;
	e->cq.overflow_n = n;
	return true;
}

static void tell(struct xiw_engine *e, const struct xiw_completion *c, const void *owner)
{
	const struct xiw_entry entry = { *c, owner };

	e->cq.told++;
	if (!e->cq.overflow_n && xiw_cq_room(e)) {
		enqueue(e, &entry);
		return;
	}
	if (e->cq.overflow_n == e->cq.overflow_room && !more_overflow(e)) {
		e->cq.lost = true; /* xiw_engine_run() returns -ENOMEM */
		return;
	}
	*overflowed(e, e->cq.overflow_n++) = entry;
}

void xiw_complete(struct xiw_engine *e, const struct xiw_completion *c)
{
	struct xiw_conn *conn = c->conn;

	if (xiw_conn_silent(conn))
		return;
	conn->end.closed_told = c->event == XIW_EV_CLOSED;
	/* Nobody takes completions from an engine that is being destroyed. */
	if (e->destroying)
		return;
	tell(e, c, conn);
	conn->end.last_told = e->cq.told;
	if (!conn->end.first_told)
		conn->end.first_told = e->cq.told;
}

void xiw_complete_listener(struct xiw_listener *l, const struct xiw_completion *c)
{
	if (!l->engine->destroying)
		tell(l->engine, c, l);
}

/* How many of all completions the application has taken or xiw_engine_next() has skipped. */
static uint64_t taken(const struct xiw_engine *e)
{
	uint32_t head = __atomic_load_n(&e->cq.head, __ATOMIC_ACQUIRE);

	return e->cq.told - e->cq.overflow_n - (e->cq.tail - head);
}

bool xiw_cq_heard(const struct xiw_conn *c)
{
	return c->end.first_told && c->end.first_told <= taken(c->engine);
}

/*
 * Another thread of the application may take completions meanwhile. Those that it takes after this do not name the
 * owner, as they are skipped. How it treats one that it took before is the application's business (xiwarp/conn.h).
 * Only this thread writes entries, and it never overwrites one that is still in the queue.
 */
void xiw_cq_forget(struct xiw_engine *e, const void *owner)
{
	for (uint32_t i = __atomic_load_n(&e->cq.head, __ATOMIC_ACQUIRE); i != e->cq.tail; i++) {
		struct xiw_entry *at = &e->cq.entries[i & e->cq.mask];

		if (at->owner == owner)
			__atomic_store_n(&at->owner, NULL, __ATOMIC_RELEASE);
	}
	/* The entries keep their places, because taken() counts them. */
	for (size_t i = 0; i < e->cq.overflow_n; i++)
		if (overflowed(e, i)->owner == owner)
			overflowed(e, i)->owner = NULL;
}

void xiw_cq_forget_conn(const struct xiw_conn *c)
{
	/* Usually the application has taken them all, and the queue need not be searched. */
	if (c->end.last_told > taken(c->engine))
		xiw_cq_forget(c->engine, c);
}

void xiw_cq_refill(struct xiw_engine *e)
{
	if (!e->cq.overflow_n)
		return;
	while (e->cq.overflow_n && xiw_cq_room(e)) {
		enqueue(e, overflowed(e, 0));
		e->cq.overflow_head = (e->cq.overflow_head + 1) % e->cq.overflow_room;
		e->cq.overflow_n--;
	}
	/* A large overflow is rare, so its memory is given back. */
	if (!e->cq.overflow_n && e->cq.overflow_room > OVERFLOW_KEPT)
		xiw_overflow_free(e);
}

void xiw_conn_tell(struct xiw_conn *c, enum xiw_event event, int status)
{
	struct xiw_completion done = {
		.user_data = c->opts.user_data,
		.conn = c,
		.event = event,
		.status = status,
	};

	xiw_complete(c->engine, &done);
}

void xiw_conn_event(struct xiw_conn *c, enum xiw_event event, int status)
{
	if (!c->ulp)
		xiw_conn_tell(c, event, status);
	else if (!xiw_conn_silent(c))
		c->ulp->event(c, event, status);
}

int xiw_engine_next(struct xiw_engine *e, struct xiw_completion *c)
{
	uint32_t head = e->cq.head;
	const void *owner;

	do {
		const struct xiw_entry *at = &e->cq.entries[head & e->cq.mask];

		if (head == __atomic_load_n(&e->cq.tail, __ATOMIC_ACQUIRE))
			return 0;
		owner = __atomic_load_n(&at->owner, __ATOMIC_ACQUIRE);
		if (owner)
			*c = at->done;
		__atomic_store_n(&e->cq.head, ++head, __ATOMIC_RELEASE);
	} while (!owner);
	return 1;
}
