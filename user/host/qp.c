// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Queue pairs: how they are made, and what engines do with their work. */
#include "host/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "host/engines.h"

/* ---- creation ---------------------------------------------------------------------------------------- */

static bool valid(const struct xiw_host_qp_opts *o)
{
	return o->send_cq && o->recv_cq && o->send_depth && o->send_depth <= XIW_HOST_DEPTH_MAX &&
	       o->send_sge && o->send_sge <= XIW_HOST_SGE_MAX &&
	       o->inline_max <= XIW_HOST_INLINE_MAX &&
	       (o->srq || (o->recv_depth && o->recv_depth <= XIW_HOST_DEPTH_MAX && o->recv_sge &&
			   o->recv_sge <= XIW_HOST_SGE_MAX));
}

static bool make_sends(struct xiw_host_sends *s, const struct xiw_host_qp_opts *o)
{
	const uint32_t size = xiw_ring_room(0, o->send_depth);

	pthread_mutex_init(&s->lock, NULL);
	s->rules = (struct xiw_host_sge_rules){ o->pd, o->send_sge, o->unchecked };
	s->depth = o->send_depth;
	s->inline_max = o->inline_max;
	s->mask = size - 1;
	s->work = calloc(size, sizeof(*s->work));
	s->sent = calloc(size, sizeof(*s->sent));
	s->iov = calloc(size, o->send_sge * sizeof(*s->iov));
	s->bytes = calloc(size, o->inline_max + 1ul);
	return s->work && s->sent && s->iov && s->bytes;
}

static bool make_recvs(struct xiw_host_recvs *r, const struct xiw_host_qp_opts *o)
{
	uint32_t size;

	pthread_mutex_init(&r->lock, NULL);
	/* With a shared queue recv_depth may be anything, also what no ring has. */
	if (o->srq)
		return true;
	size = xiw_ring_room(0, o->recv_depth);
	r->rules = (struct xiw_host_sge_rules){ o->pd, o->recv_sge, o->unchecked };
	r->depth = o->recv_depth;
	r->mask = size - 1;
	r->recv = calloc(size, sizeof(*r->recv));
	r->buffers = calloc(size, sizeof(*r->buffers));
	r->iov = calloc(size, o->recv_sge * sizeof(*r->iov));
	return r->recv && r->buffers && r->iov;
}

static void free_memory(struct xiw_host_qp *qp)
{
	free(qp->sends.work);
	free(qp->sends.sent);
	free(qp->sends.iov);
	free(qp->sends.bytes);
	free(qp->recvs.recv);
	free(qp->recvs.buffers);
	free(qp->recvs.iov);
	free(qp);
}

static int reserve(struct xiw_host_qp *qp)
{
	int err = xiw_host_cq_reserve(qp->send_cq, qp->sends.depth);

	if (err)
		return err;
	err = qp->srq ? xiw_host_srq_use(qp->srq, qp->recv_cq)
		      : xiw_host_cq_reserve(qp->recv_cq, qp->recvs.depth);
	if (err)
		xiw_host_cq_unreserve(qp->send_cq, qp->sends.depth);
	return err;
}

/*
 * The engine's thread is to look at the rings. Either it sees the new head when it gets the QP, or this thread sees the
 * engine: both write before they read.
 */
void xiw_host_qp_call(struct xiw_host_qp *qp)
{
	struct xiw_engine *e;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	e = __atomic_load_n(&qp->engine, __ATOMIC_SEQ_CST);
	if (e && !__atomic_exchange_n(&qp->called, true, __ATOMIC_SEQ_CST))
		xiw_engine_call(e, &qp->call);
}

static void pass(struct xiw_engine *e, struct xiw_call *call, int status)
{
	struct xiw_host_qp *qp = (void *)((char *)call - offsetof(struct xiw_host_qp, call));

	(void)status;
	/* Whoever posts from now on makes a new call; what was posted before is seen here. */
	__atomic_store_n(&qp->called, false, __ATOMIC_SEQ_CST);
	/* Since the call was made, another engine may have tried to connect the QP. */
	if (__atomic_load_n(&qp->engine, __ATOMIC_SEQ_CST) == e)
		xiw_host_qp_pass(qp);
	else
		xiw_host_qp_call(qp);
}

int xiw_host_qp_create(const struct xiw_host_qp_opts *opts, struct xiw_host_qp **qp)
{
	struct xiw_host_qp *q;
	int err;

	if (!valid(opts))
		return -EINVAL;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->send_cq = opts->send_cq;
	q->recv_cq = opts->recv_cq;
	q->srq = opts->srq;
	q->pd = opts->pd;
	q->access = XIW_HOST_LOCAL_WRITE | XIW_HOST_REMOTE_WRITE | XIW_HOST_REMOTE_READ |
		    XIW_HOST_REMOTE_ATOMIC;
	q->signal_all = opts->signal_all;
	q->recv_selective = opts->recv_selective;
	q->context = opts->context;
	q->call.run = pass;
	err = make_sends(&q->sends, opts) && make_recvs(&q->recvs, opts) ? reserve(q) : -ENOMEM;
	if (err) {
		free_memory(q);
		return err;
	}
	xiw_host_born(&q->life);
	err = xiw_host_eq_use(opts->eq);
	if (err) {
		xiw_host_qp_release(q);
		return err;
	}
	q->eq = opts->eq;
	q->fault.context = q->last.context = opts->eq_context;
	*qp = q;
	return 0;
}

void xiw_host_qp_release(struct xiw_host_qp *qp)
{
	if (!xiw_host_dead(&qp->life)) {
		xiw_host_cq_purge(qp->send_cq, qp);
		xiw_host_cq_purge(qp->recv_cq, qp);
		xiw_host_cq_unreserve(qp->send_cq, qp->sends.depth);
		if (qp->srq)
			xiw_host_srq_leave(qp->srq, qp->recv_cq);
		else
			xiw_host_cq_unreserve(qp->recv_cq, qp->recvs.depth);
	}
	free_memory(qp);
}

enum xiw_host_state xiw_host_qp_state(const struct xiw_host_qp *qp)
{
	return __atomic_load_n(&qp->state, __ATOMIC_ACQUIRE);
}

/* ---- rights ------------------------------------------------------------------------------------------ */

void xiw_host_qp_apply_access(struct xiw_host_qp *qp)
{
	const uint32_t access = __atomic_load_n(&qp->access, __ATOMIC_SEQ_CST);

	if (qp->rdma)
		xiw_rdma_set_access(qp->rdma,
				    (access & XIW_HOST_REMOTE_WRITE ? XIW_ACCESS_WRITE : 0) |
					    (access & XIW_HOST_REMOTE_READ ? XIW_ACCESS_READ : 0) |
					    (access & XIW_HOST_REMOTE_ATOMIC ? XIW_ACCESS_ATOMIC
									     : 0));
}

static void apply_access(void *qp)
{
	xiw_host_qp_apply_access(qp);
}

/* The engine is asked for after the rights are stored: it has them when it takes the QP, or is told here. */
int xiw_host_qp_set_access(struct xiw_host_qp *qp, unsigned int access)
{
	struct xiw_engine *e;

	if (xiw_host_dead(&qp->life))
		return -ECANCELED;
	if (access & ~(unsigned int)(XIW_HOST_LOCAL_WRITE | XIW_HOST_REMOTE_WRITE |
				     XIW_HOST_REMOTE_READ | XIW_HOST_REMOTE_ATOMIC))
		return -EINVAL;
	__atomic_store_n(&qp->access, access, __ATOMIC_SEQ_CST);
	e = __atomic_load_n(&qp->engine, __ATOMIC_SEQ_CST);
	if (e)
		xiw_host_ask(e, apply_access, qp);
	return 0;
}

unsigned int xiw_host_qp_access(const struct xiw_host_qp *qp)
{
	return __atomic_load_n(&qp->access, __ATOMIC_SEQ_CST);
}

/* ---- completions, in the engine's thread --------------------------------------------------------------- */

/* The oldest operation is complete. */
static void sent(struct xiw_host_qp *qp, uint8_t cause)
{
	struct xiw_host_sends *s = &qp->sends;
	const struct xiw_host_sent *o = &s->sent[s->tail++ & s->mask];

	/* Nothing succeeds behind what has failed, even if TCP had taken it. */
	if (s->failed && cause == XIW_CAUSE_NONE)
		cause = XIW_CAUSE_FLUSHED;
	s->failed |= cause != XIW_CAUSE_NONE;
	if (o->signaled || cause != XIW_CAUSE_NONE) {
		const struct xiw_host_wc wc = {
			.wr_id = o->wr_id,
			.context = qp->context,
			.length = o->length,
			.op = (uint8_t)xiw_rdma_operation(o->kind),
			.cause = cause,
			.kind = o->kind,
		};

		xiw_host_cq_add(qp->send_cq, &wc, qp, &s->used);
	} else {
		__atomic_fetch_sub(&s->used, 1, __ATOMIC_RELEASE);
	}
}

/* The buffer of a completion. Those that the queue pair does not share complete in the order in which they came. */
static uint64_t taken(struct xiw_host_qp *qp, uint64_t user_data, bool *signaled)
{
	if (qp->srq)
		return xiw_host_srq_taken(qp->srq, user_data, signaled);
	*signaled = qp->recvs.buffers[qp->recvs.tail++ & qp->recvs.mask].signaled;
	return user_data;
}

static void received(struct xiw_host_qp *qp, const struct xiw_completion *c)
{
	uint32_t *used = qp->srq ? xiw_host_srq_used(qp->srq) : &qp->recvs.used;
	bool signaled;
	struct xiw_host_wc wc = {
		.wr_id = taken(qp, c->user_data, &signaled),
		.context = qp->context,
		.op = XIW_OPERATION_RECV,
		.cause = c->cause,
	};

	if (c->event == XIW_EV_RECEIVED) {
		wc.length = (uint32_t)c->length;
		if (c->flags & XIW_COMPLETION_SOLICITED)
			wc.flags |= XIW_HOST_WC_SOLICITED;
		if (xiw_rdma_immediate(c, &wc.immediate))
			wc.flags |= XIW_HOST_WC_IMMEDIATE;
		if (xiw_rdma_invalidated(c)) {
			wc.flags |= XIW_HOST_WC_INVALIDATED;
			wc.invalidated = c->stag;
		}
	} else if (wc.cause == XIW_CAUSE_NONE) {
		wc.cause = XIW_CAUSE_FLUSHED;
	}
	if (qp->recv_selective && !signaled && wc.cause == XIW_CAUSE_NONE &&
	    !(wc.flags & XIW_HOST_WC_IMMEDIATE))
		__atomic_fetch_sub(used, 1, __ATOMIC_RELEASE);
	else
		xiw_host_cq_add(qp->recv_cq, &wc, qp, used);
}

/* Of an atomic operation, the oldest that was posted. Returns what its completion says. */
static uint8_t put_result(struct xiw_host_qp *qp, uint64_t value)
{
	struct xiw_host_sends *s = &qp->sends;
	const uint32_t at = s->tail & s->mask;
	struct iovec *iov = &s->iov[at * s->rules.max];

	if (!xiw_host_recheck(qp->engine, &s->rules, &s->sent[at].era, iov, 1)) {
		if (qp->rdma)
			xiw_rdma_terminate(qp->rdma);
		return XIW_CAUSE_LOCAL_PROTECTION;
	}
	memcpy(iov->iov_base, &value, sizeof(value));
	return XIW_CAUSE_NONE;
}

void xiw_host_qp_complete(struct xiw_host_qp *qp, const struct xiw_completion *c)
{
	if (c->op == XIW_OPERATION_RECV) {
		received(qp, c);
		return;
	}
	if (c->event == XIW_EV_FLUSHED)
		sent(qp, c->cause ? c->cause : XIW_CAUSE_FLUSHED);
	else
		sent(qp, c->event == XIW_EV_ATOMIC ? put_result(qp, c->value) : XIW_CAUSE_NONE);
	/* If the library had no place for more, it has one now. */
	if (qp->sends.passed != __atomic_load_n(&qp->sends.head, __ATOMIC_ACQUIRE))
		xiw_host_qp_pass(qp);
}

/* ---- passing on ----------------------------------------------------------------------------------------- */

/* So many of the ring lie side by side, from a place on. */
static uint32_t run_of(uint32_t from, uint32_t to, uint32_t mask)
{
	const uint32_t n = to - from, rest = mask + 1 - (from & mask);

	return n < rest ? n : rest;
}

/*
 * An operation was refused although it was checked. The stream ends with it: what follows must not overtake it. If the
 * stream ends already, it is flushed with the others.
 */
static void refused(struct xiw_host_qp *qp, int err)
{
	struct xiw_host_sends *s = &qp->sends;

	qp->open = false;
	if (err == -EPIPE || err == -ENOTCONN)
		return;
	s->sent[s->passed & s->mask].cause = err == -EOPNOTSUPP ? XIW_CAUSE_REMOTE_INVALID
								: XIW_CAUSE_LOCAL_PROTECTION;
	xiw_rdma_terminate(qp->rdma);
}

/* Of so many operations that are next: how many come before a Read whose pieces are not registered any more. */
static uint32_t recheck_sends(struct xiw_host_qp *qp, uint32_t n)
{
	struct xiw_host_sends *s = &qp->sends;

	if (s->sent[s->passed & s->mask].era == xiw_host_era())
		return n;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t at = (s->passed + i) & s->mask;
		const struct xiw_rdma_work *w = &s->work[at];

		if (w->kind == XIW_RDMA_READ &&
		    !xiw_host_recheck(qp->engine, &s->rules, &s->sent[at].era,
				      &s->iov[at * s->rules.max], w->iov_count))
			return i;
	}
	return n;
}

static void pass_sends(struct xiw_host_qp *qp)
{
	struct xiw_host_sends *s = &qp->sends;
	uint32_t head = __atomic_load_n(&s->head, __ATOMIC_SEQ_CST);

	while (qp->open && s->passed != head) {
		const uint32_t n = recheck_sends(qp, run_of(s->passed, head, s->mask));
		unsigned int posted = 0;
		int err =
			n ? xiw_rdma_post_many(qp->rdma, &s->work[s->passed & s->mask], n, &posted)
			  : -EACCES;

		s->passed += posted;
		if (err == -EAGAIN)
			return;
		if (err)
			refused(qp, err);
	}
}

static void flush_recvs(struct xiw_host_qp *qp, uint32_t head)
{
	struct xiw_host_recvs *r = &qp->recvs;

	for (; r->passed != head; r->passed++) {
		const struct xiw_completion c = {
			.user_data = r->recv[r->passed & r->mask].user_data,
			.event = XIW_EV_FLUSHED,
			.op = XIW_OPERATION_RECV,
			.cause = XIW_CAUSE_FLUSHED,
		};

		received(qp, &c);
	}
}

/* Those that are passed on next. An empty one ends the stream with the first octet that comes for it. */
static void recheck_recvs(struct xiw_host_qp *qp, uint32_t head)
{
	struct xiw_host_recvs *r = &qp->recvs;

	if (r->passed == head || r->buffers[r->passed & r->mask].era == xiw_host_era())
		return;
	for (uint32_t i = r->passed; i != head; i++) {
		const struct xiw_rdma_recv *recv = &r->recv[i & r->mask];

		xiw_host_recheck(qp->engine, &r->rules, &r->buffers[i & r->mask].era,
				 &r->iov[(i & r->mask) * r->rules.max], recv->iov_count);
	}
}

static void pass_recvs(struct xiw_host_qp *qp)
{
	struct xiw_host_recvs *r = &qp->recvs;
	uint32_t head = __atomic_load_n(&r->head, __ATOMIC_SEQ_CST);
	int err = 0;

	if (qp->rdma)
		recheck_recvs(qp, head);
	while (qp->rdma && r->passed != head && !err) {
		unsigned int posted = 0;

		err = xiw_rdma_post_recv_many(qp->rdma, &r->recv[r->passed & r->mask],
					      run_of(r->passed, head, r->mask), &posted);
		r->passed += posted;
	}
	/* Of a stream that has ended, they are flushed at its end. Without memory it cannot go on. */
	if (err && err != -ESHUTDOWN)
		xiw_rdma_terminate(qp->rdma);
}

static void flush_sends(struct xiw_host_qp *qp)
{
	struct xiw_host_sends *s = &qp->sends;

	for (uint32_t head = __atomic_load_n(&s->head, __ATOMIC_SEQ_CST); s->tail != head;) {
		const uint8_t cause = s->sent[s->tail & s->mask].cause;

		sent(qp, cause ? cause : XIW_CAUSE_FLUSHED);
	}
	s->passed = s->tail;
}

void xiw_host_qp_pass(struct xiw_host_qp *qp)
{
	if (!qp->stopped) {
		pass_recvs(qp);
		pass_sends(qp);
		return;
	}
	flush_recvs(qp, __atomic_load_n(&qp->recvs.head, __ATOMIC_SEQ_CST));
	if (qp->ended || qp->sends.tail == qp->sends.passed)
		flush_sends(qp);
}

void xiw_host_qp_stop(struct xiw_host_qp *qp)
{
	qp->open = false;
	qp->stopped = true;
	__atomic_store_n(&qp->state, XIW_HOST_ENDED, __ATOMIC_RELEASE);
}

/* Before there is a connection, no buffer that the library gives back has completed (conn.c). */
void xiw_host_qp_end(struct xiw_host_qp *qp)
{
	xiw_host_qp_stop(qp);
	qp->rdma = NULL;
	qp->ended = true;
	qp->recvs.passed = qp->recvs.tail;
	xiw_host_qp_pass(qp);
	xiw_host_qp_tell_last(qp);
}

void xiw_host_qp_rewind(struct xiw_host_qp *qp)
{
	pthread_mutex_lock(&qp->sends.lock);
	qp->rdma = NULL;
	flush_sends(qp);
	qp->sends.failed = false;
	qp->recvs.passed = qp->recvs.tail;
	qp->rewound = true;
	__atomic_store_n(&qp->engine, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&qp->state, XIW_HOST_IDLE, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&qp->sends.lock);
}
