/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues, as the engine's thread fills them. */
#ifndef XIW_CORE_CQ_H
#define XIW_CORE_CQ_H

#include "core/engine.h"

/* How many completions of the engine's own queue the application has not taken. */
static inline uint32_t xiw_completions(const struct xiw_engine *e)
{
	return e->cq.tail - __atomic_load_n(&e->cq.head, __ATOMIC_ACQUIRE);
}

/* True if an application that takes completions has some to look for. */
static inline bool xiw_told(const struct xiw_engine *e)
{
	return xiw_completions(e) || e->cqs.news;
}

/* Notes that a CQE for the application's io_uring could not be sent. */
void xiw_doorbell_failed(struct xiw_engine *e, int error);

/* True if the application hears no more of the connection: XIW_EV_CLOSED was its last event, or it was freed. */
bool xiw_conn_silent(const struct xiw_conn *c);

/* What an armed queue waits for. */
enum xiw_cq_armed {
	XIW_CQ_ANY = 1 << 0,
	XIW_CQ_SOLICITED = 1 << 1, /* or a failure */
};

/* Makes a queue that is part of the engine or one of its own. Returns 0 or -ENOMEM. */
int xiw_cq_init(struct xiw_cq *q, struct xiw_engine *e, uint32_t entries);

/* Frees the overflow and forgets what is in it. */
void xiw_overflow_free(struct xiw_cq *q);

/*
 * Queues a completion of a connection, in the queue for its operation, or of another object, which takes its
 * completions out by xiw_cq_forget() before it is freed; or of the engine itself.
 */
void xiw_complete(struct xiw_engine *e, const struct xiw_completion *c);
void xiw_complete_for(struct xiw_engine *e, const void *owner, const struct xiw_completion *c);

/* How many of all completions the application has taken, or xiw_cq_next() has skipped. */
uint64_t xiw_cq_taken(const struct xiw_cq *q);

/* The queue for one kind of the connection's completions. */
struct xiw_cq *xiw_outlet_cq(const struct xiw_conn *c, enum xiw_outlet_kind kind);

/* True if the application has taken a completion that names the connection. */
bool xiw_cq_heard(const struct xiw_conn *c);

/* Makes the queue skip all completions that name `owner`, which is about to be freed; NULL: all. */
void xiw_cq_forget(struct xiw_cq *q, const void *owner);
/* The same in all queues of a connection. */
void xiw_cq_forget_conn(struct xiw_conn *c);

/* Moves completions from overflows into the queues, as far as there is room. */
void xiw_cqs_refill(struct xiw_engine *e);

/*
 * Leads the completions of a connection's operations to these queues; NULL: to the engine's own. -EINVAL: a queue is
 * not of the connection's engine.
 */
int xiw_outlets_set(struct xiw_conn *c, struct xiw_cq *sends, struct xiw_cq *recvs);

/* The end of a connection's use of its queues, and of the queues' use of an engine that is being destroyed. */
void xiw_outlets_leave(struct xiw_conn *c);
void xiw_cqs_detach(struct xiw_engine *e);

/* Tells the application of an event of a connection. */
void xiw_conn_tell(struct xiw_conn *c, enum xiw_event event, int status);

/* Passes an event to the ULP, or to the application if there is no ULP. */
void xiw_conn_event(struct xiw_conn *c, enum xiw_event event, int status);

#endif
