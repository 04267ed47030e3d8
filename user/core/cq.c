// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completion queues. The engine's thread writes completions into them, and the application takes them, maybe in another
 * thread. A full queue overflows into a list. If the application has named an io_uring of its own, each completion is
 * also announced there by a CQE (the doorbell). cqs.c has what the application does with a queue.
 */
#include "core/cq.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "core/budget.h"
#include "core/ring.h"

#define OVERFLOW_KEPT 256u /* room that stays allocated when the overflow is empty */

static void ring_doorbell(struct xiw_cq *q, const struct xiw_completion *c)
{
	struct xiw_engine *e = q->engine;
	int res = c->status ? c->status : c->length > INT_MAX ? INT_MAX : (int)c->length;
	struct io_uring_sqe *sqe = xiw_sqe(e, e, XIW_OP_DOORBELL);

	io_uring_prep_msg_ring(sqe, q->app_ring_fd, (unsigned int)res, c->user_data, 0);
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

/* The completion itself is still in its queue, where xiw_cq_next() finds it. */
void xiw_doorbell_failed(struct xiw_engine *e, int error)
{
	e->cqs.doorbells_lost++;
	e->cqs.doorbell_error = error;
}

uint64_t xiw_engine_doorbells_lost(const struct xiw_engine *e)
{
	return e->cqs.doorbells_lost;
}

/*
 * Tells a thread that waits for the queue's descriptor. xiw_cq_arm() writes `armed`, too, so either this sees that the
 * queue is armed, or the application, which looks into the queue after arming it, sees the new tail.
 */
static void notify(struct xiw_cq *q, const struct xiw_completion *c)
{
	const uint32_t now = __atomic_fetch_or(&q->armed, 0, __ATOMIC_ACQ_REL);
	const uint32_t enough = c->status || c->flags & XIW_COMPLETION_SOLICITED ? XIW_CQ_SOLICITED
										 : 0;

	if (!(now & (XIW_CQ_ANY | enough)))
		return;
	__atomic_store_n(&q->armed, 0, __ATOMIC_RELAXED);
	eventfd_write(q->fd, 1);
}

static void enqueue(struct xiw_cq *q, const struct xiw_entry *entry)
{
	struct xiw_entry *at = &q->entries[q->tail & q->mask];

	at->done = entry->done;
	__atomic_store_n(&at->owner, entry->owner, __ATOMIC_RELAXED);
	__atomic_store_n(&q->tail, q->tail + 1, __ATOMIC_RELEASE);
	if (!entry->owner)
		return;
	if (q->app_ring_fd >= 0)
		ring_doorbell(q, &entry->done);
	if (q->fd >= 0)
		notify(q, &entry->done);
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
static struct xiw_entry *overflowed(const struct xiw_cq *q, size_t i)
{
	return &q->overflow[(q->overflow_head + i) % q->overflow_room];
}

void xiw_overflow_free(struct xiw_cq *q)
{
	if (!q->overflow)
		return;
	xiw_budget_free(&q->engine->budget, q->overflow, q->overflow_room * sizeof(*q->overflow));
	q->overflow = NULL;
	q->overflow_n = q->overflow_room = q->overflow_head = 0;
}

/* The budget does not refuse this, since the application would miss an event. It refuses other things instead. */
static bool more_overflow(struct xiw_cq *q)
{
	size_t room = q->overflow_room ? 2 * q->overflow_room : OVERFLOW_KEPT, n = q->overflow_n;
	struct xiw_entry *more = malloc(room * sizeof(*more));

	if (!more)
		return false;
	for (size_t i = 0; i < n; i++)
		more[i] = *overflowed(q, i);
	xiw_overflow_free(q);
	xiw_budget_force(&q->engine->budget, room * sizeof(*more));
	q->overflow = more;
	q->overflow_room = room;
	q->overflow_n = n;
	return true;
}

static void tell(struct xiw_cq *q, const struct xiw_completion *c, const void *owner)
{
	const struct xiw_entry entry = { *c, owner };
	struct xiw_cqs *all = &q->engine->cqs;

	q->told++;
	all->news |= q != &q->engine->cq;
	if (!q->overflow_n && xiw_cq_room_in(q)) {
		enqueue(q, &entry);
		return;
	}
	if (q->overflow_n == q->overflow_room && !more_overflow(q)) {
		all->lost = true; /* xiw_engine_run() returns -ENOMEM */
		return;
	}
	if (!q->overflow_n) {
		q->next_overflowing = all->overflowing;
		all->overflowing = q;
	}
	*overflowed(q, q->overflow_n++) = entry;
	/* Nothing else wakes a thread that waits for a solicited completion while the queue is full of others. */
	if (q->fd >= 0)
		notify(q, c);
}

/* What an operation led to goes to the connection's queue for it, and everything else to the engine's own. */
static enum xiw_outlet_kind outlet_of(uint8_t op)
{
	return op == XIW_OPERATION_NONE	  ? XIW_OUTLET_EVENTS
	       : op == XIW_OPERATION_RECV ? XIW_OUTLET_RECVS
					  : XIW_OUTLET_SENDS;
}

struct xiw_cq *xiw_outlet_cq(const struct xiw_conn *c, enum xiw_outlet_kind kind)
{
	return c->uses.outlets[kind].cq ? c->uses.outlets[kind].cq : &c->engine->cq;
}

void xiw_complete(struct xiw_engine *e, const struct xiw_completion *c)
{
	struct xiw_conn *conn = c->conn;
	const enum xiw_outlet_kind kind = outlet_of(c->op);
	struct xiw_cq *q = xiw_outlet_cq(conn, kind);

	if (xiw_conn_silent(conn))
		return;
	conn->end.closed_told = c->event == XIW_EV_CLOSED;
	/* Nobody takes completions from an engine that is being destroyed. */
	if (e->destroying)
		return;
	tell(q, c, conn);
	conn->uses.outlets[kind].last_told = q->told;
	if (q == &e->cq && !conn->end.first_told)
		conn->end.first_told = q->told;
}

void xiw_complete_for(struct xiw_engine *e, const void *owner, const struct xiw_completion *c)
{
	if (!e->destroying)
		tell(&e->cq, c, owner);
}

uint64_t xiw_cq_taken(const struct xiw_cq *q)
{
	uint32_t head = __atomic_load_n(&q->head, __ATOMIC_ACQUIRE);

	return q->told - q->overflow_n - (q->tail - head);
}

bool xiw_cq_heard(const struct xiw_conn *c)
{
	return c->end.first_told && c->end.first_told <= xiw_cq_taken(&c->engine->cq);
}

/*
 * Another thread of the application may take completions meanwhile. Those that it takes after this do not name the
 * owner, as they are skipped. How it treats one that it took before is the application's business (xiwarp/conn.h).
 * Only this thread writes entries, and it never overwrites one that is still in the queue.
 */
void xiw_cq_forget(struct xiw_cq *q, const void *owner)
{
	for (uint32_t i = __atomic_load_n(&q->head, __ATOMIC_ACQUIRE); i != q->tail; i++) {
		struct xiw_entry *at = &q->entries[i & q->mask];

		if (!owner || at->owner == owner)
			__atomic_store_n(&at->owner, NULL, __ATOMIC_RELEASE);
	}
	/* The entries keep their places, because xiw_cq_taken() counts them. */
	for (size_t i = 0; i < q->overflow_n; i++)
		if (!owner || overflowed(q, i)->owner == owner)
			overflowed(q, i)->owner = NULL;
}

void xiw_cq_forget_conn(struct xiw_conn *c)
{
	for (unsigned int i = 0; i < XIW_OUTLETS; i++) {
		struct xiw_cq *q = xiw_outlet_cq(c, i);

		/* Usually the application has taken them all, and the queue need not be searched. */
		if (c->uses.outlets[i].last_told > xiw_cq_taken(q))
			xiw_cq_forget(q, c);
	}
}

static void refill(struct xiw_cq *q)
{
	while (q->overflow_n && xiw_cq_room_in(q)) {
		enqueue(q, overflowed(q, 0));
		q->overflow_head = (q->overflow_head + 1) % q->overflow_room;
		q->overflow_n--;
	}
	/* A large overflow is rare, so its memory is given back. */
	if (!q->overflow_n && q->overflow_room > OVERFLOW_KEPT)
		xiw_overflow_free(q);
}

void xiw_cqs_refill(struct xiw_engine *e)
{
	struct xiw_cq **at = &e->cqs.overflowing, *q;

	while ((q = *at)) {
		refill(q);
		if (q->overflow_n)
			at = &q->next_overflowing;
		else
			*at = q->next_overflowing;
	}
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

int xiw_cq_next(struct xiw_cq *q, struct xiw_completion *c)
{
	uint32_t head = q->head;
	const void *owner;

	do {
		const struct xiw_entry *at = &q->entries[head & q->mask];

		if (head == __atomic_load_n(&q->tail, __ATOMIC_ACQUIRE))
			return 0;
		owner = __atomic_load_n(&at->owner, __ATOMIC_ACQUIRE);
		if (owner)
			*c = at->done;
		__atomic_store_n(&q->head, ++head, __ATOMIC_RELEASE);
	} while (!owner);
	return 1;
}

int xiw_engine_next(struct xiw_engine *e, struct xiw_completion *c)
{
	return xiw_cq_next(&e->cq, c);
}
