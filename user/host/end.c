// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How connections end, and queue pairs with them. Whoever ends one stops it: in a turn of its engine, and before the
 * function returns. From then on the peer reaches nothing of the program any more. TCP has what was posted, or the
 * library has a copy, or it is flushed; with DRAIN it may also be sent later, from the program's memory, which the
 * completion gives back. The rest of the end is the engine's: FIN, the peer's FIN, or a reset when the time is up.
 *
 * What TCP has leaves whatever becomes of the process. It has a refusal, and what was posted before a connection was
 * stopped. exit() stops all connections. A post alone only calls the engine's thread, which mostly runs within some
 * microseconds: to wait for it would cost each post that. So who leaves without exit() waits for it once (leave.c). A
 * process that is killed may lose the operation, unless its completion was there, and so may one that leaves by a way
 * that no library sees: system calls of its own, or libfabric, whose providers are behind libc.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "host/alone.h"
#include "host/engines.h"
#include "host/eq.h"
#include "host/interfaces.h"
#include "host/link.h"

#define SETTLE_S 1 /* the end of a process waits no longer for its connections' */

enum how {
	DRAIN, /* operations that are posted are still sent */
	NOW,   /* they complete at once */
	LEAVE, /* the same, and the QP goes */
	RESET, /* everything completes, and nobody waits for the peer */
};

struct stop {
	struct xiw_host_request *link;
	struct xiw_engine *engine;
	enum how how;
	bool again; /* `engine` is another one, which has the connection */
};

/* ---- in the engine's thread ------------------------------------------------------------------------------------ */

static void stop_stream(struct stop *s)
{
	struct xiw_host_request *l = s->link;
	struct xiw_host_qp *qp = l->qp;

	if (!qp)
		return;
	xiw_host_qp_pass(qp);
	xiw_rdma_stop(qp->rdma, s->how == DRAIN ? 0 : XIW_RDMA_STOP_SENDS);
	xiw_host_qp_stop(qp);
	xiw_host_link_count(l);
	/* Nothing of the connection is left in the queue that would name the QP. It may have ended with that. */
	xiw_host_take_all(s->engine);
	if (xiw_host_link_given_up(l))
		return;
	if (s->how == DRAIN) {
		xiw_host_qp_pass(qp);
		return;
	}
	xiw_host_qp_end(qp);
	pthread_mutex_lock(&xiw_host_lock);
	l->qp = NULL;
	pthread_mutex_unlock(&xiw_host_lock);
}

/*
 * The program has accepted, posted and disconnected, and the Initiator has not said yet that it is ready. When it has,
 * what is posted leaves. With an RNIC, rdma_accept() returns when the connection is established.
 */
static bool drain_later(struct stop *s)
{
	struct xiw_host_request *l = s->link;

	l->drains = s->how == DRAIN && !l->initiator && l->used && l->qp && l->qp->rdma &&
		    xiw_rdma_stop(l->qp->rdma, 0) == -EAGAIN;
	return l->drains;
}

void xiw_host_link_drain(struct xiw_host_request *l)
{
	struct stop s = { .link = l, .engine = l->engine, .how = DRAIN };

	stop_stream(&s);
}

/* One that is not established, or whose way is gone, is given up. */
static void give_up(struct stop *s)
{
	struct xiw_host_request *l = s->link;

	if (!l->conn) {
		xiw_host_link_finish(l, -ECANCELED); /* it was to be dialed again (dial_again()) */
		return;
	}
	xiw_conn_abort(l->conn);
	xiw_host_take_all(s->engine);
	/* Its last event may be where the queue has no room. */
	if (!xiw_host_link_given_up(l))
		xiw_host_link_end(l, -ECONNABORTED);
}

/*
 * In the thread of the engine that has the connection, or of any while it is on its way. Then the QP ends here, and the
 * connection when it arrives.
 */
static void stop(void *ctx)
{
	struct stop *s = ctx;
	struct xiw_host_request *l = s->link;
	struct xiw_engine *had;
	bool ended;

	xiw_host_take_all(s->engine); /* it may be established just now */
	ended = xiw_host_link_given_up(l);
	had = ended ? s->engine : xiw_host_link_settle(l, s->engine, NULL);
	s->again = had && had != s->engine;
	if (s->again)
		s->engine = had;
	else if (!had)
		xiw_host_link_finish(l, 0);
	else if (!ended && l->established && s->how != RESET)
		stop_stream(s);
	else if (!ended && !drain_later(s))
		give_up(s);
	if (s->again || s->how != LEAVE)
		return;
	pthread_mutex_lock(&xiw_host_lock);
	xiw_host_link_part(l);
	pthread_mutex_unlock(&xiw_host_lock);
}

static void end_idle(void *ctx)
{
	xiw_host_qp_end(ctx);
}

static void nothing(void *ctx)
{
	(void)ctx;
}

/* ---- the program's threads --------------------------------------------------------------------------------------- */

/* With xiw_host_lock: the connection of a QP, to be asked of its engine. Its owner for now is the caller, too. */
static void prepare(struct stop *s, struct xiw_host_request *l, enum how how,
		    struct xiw_group *group)
{
	*s = (struct stop){ .link = l, .how = how };
	s->engine = l->engine ? l->engine : xiw_group_engine(group, 0);
	l->owners++;
	if (l->end_asked || l->ended)
		return;
	__atomic_store_n(&l->end_asked, true, __ATOMIC_RELEASE);
	xiw_host_link_leave(l);
}

static void carry_out(struct stop *s)
{
	do
		xiw_host_ask(s->engine, stop, s);
	while (s->again);
	xiw_host_link_drop(s->link);
}

/* -ENOTCONN: the QP has no connection. */
static int stop_qp(struct xiw_host_qp *qp, enum how how)
{
	struct xiw_group *group;
	struct stop s;
	int err = xiw_host_dead(&qp->life) ? -ECANCELED : xiw_host_engines(&group);
	bool done = false;

	if (err)
		return err;
	pthread_mutex_lock(&xiw_host_lock);
	if (!qp->link)
		err = -ENOTCONN;
	else if (how == DRAIN && (qp->link->end_asked || qp->link->ended))
		done = true;
	else
		prepare(&s, qp->link, how, group);
	pthread_mutex_unlock(&xiw_host_lock);
	if (!err && !done)
		carry_out(&s);
	return err;
}

int xiw_host_disconnect(struct xiw_host_qp *qp)
{
	return stop_qp(qp, DRAIN);
}

/* It is an engine's from now on, which flushes what is posted. -EISCONN: it has a connection by now. */
static int finish_idle(struct xiw_host_qp *qp)
{
	struct xiw_group *group;
	int err = xiw_host_engines(&group);

	if (err)
		return err;
	pthread_mutex_lock(&xiw_host_lock);
	if (qp->link) {
		err = -EISCONN;
	} else {
		__atomic_store_n(&qp->state, XIW_HOST_ENDED, __ATOMIC_RELEASE);
		__atomic_store_n(&qp->engine, xiw_group_engine(group, 0), __ATOMIC_SEQ_CST);
	}
	pthread_mutex_unlock(&xiw_host_lock);
	if (!err)
		xiw_host_ask(qp->engine, end_idle, qp);
	return err;
}

/* While this asks, a connection may be refused, which makes the QP idle, or another thread may connect it. */
int xiw_host_qp_finish(struct xiw_host_qp *qp)
{
	int err;

	do {
		err = stop_qp(qp, NOW);
		if (err == -ENOTCONN || (!err && xiw_host_qp_state(qp) != XIW_HOST_ENDED))
			err = finish_idle(qp);
	} while (err == -EISCONN);
	return err;
}

/* No engine has a call of the QP any more. */
static void await_calls(struct xiw_host_qp *qp)
{
	struct xiw_group *group;

	if (xiw_host_engines(&group))
		return;
	for (unsigned int i = 0; i < xiw_group_engines(group); i++)
		if (qp->rewound || qp->engine == xiw_group_engine(group, i))
			xiw_host_ask(xiw_group_engine(group, i), nothing, NULL);
}

static void leave(struct xiw_host_qp *qp)
{
	struct xiw_host_request *l = qp->link;
	int err = stop_qp(qp, LEAVE);

	if (err == -ECANCELED)
		return;
	/* The calls that the connection's engine had were in front of this one. */
	if (err || qp->rewound)
		await_calls(qp);
	/* If it was refused meanwhile, it is the QP's no more. */
	if (l && qp->link == l)
		xiw_host_link_drop(l);
}

int xiw_host_qp_free(struct xiw_host_qp *qp)
{
	if (!qp)
		return 0;
	if (!xiw_host_dead(&qp->life))
		xiw_host_qp_hush(qp);
	/* One that no engine has seen has nothing to end. */
	if (qp->link || qp->engine || qp->rewound)
		leave(qp);
	xiw_host_qp_release(qp);
	return 0;
}

/* ---- the end of the process -------------------------------------------------------------------------------------- */

struct last_stop {
	struct xiw_call call;
	struct stop stop;
};

static void stop_last(struct xiw_engine *e, struct xiw_call *call, int status)
{
	struct last_stop *s = (void *)((char *)call - offsetof(struct last_stop, call));

	(void)e;
	(void)status;
	stop(&s->stop);
	if (s->stop.again && !xiw_engine_call(s->stop.engine, call))
		return;
	xiw_host_link_drop(s->stop.link);
	free(s);
}

/* With xiw_host_lock. Nobody waits. */
static void ask_to_stop(struct xiw_host_request *l, enum how how, struct xiw_group *group)
{
	struct last_stop *s = calloc(1, sizeof(*s));

	if (!s)
		return;
	s->call.run = stop_last;
	prepare(&s->stop, l, how, group);
	xiw_engine_call(s->stop.engine, &s->call);
}

/* Of those that the program has given up, the engines see to the end. With xiw_host_lock. */
static void reset_homeless(bool (*is_here)(const struct sockaddr *addr))
{
	struct xiw_group *group = xiw_host_group();

	for (struct xiw_host_request *l = group ? xiw_host_links : NULL; l; l = l->all.next)
		if (!xiw_host_dead(&l->life) && l->qp && !l->ended && l->local.ss_family &&
		    !is_here((const struct sockaddr *)&l->local))
			ask_to_stop(l, RESET, group);
}

__attribute__((constructor)) static void begin(void)
{
	xiw_host_addresses_gone = reset_homeless;
	xiw_host_end_with_program();
}

/* Nobody waits here: a handler of a signal may end the process while its thread is in a turn. */
static void stop_all(void)
{
	struct xiw_group *group = NULL;

	pthread_mutex_lock(&xiw_host_lock);
	for (struct xiw_host_request *l = xiw_host_links; l; l = l->all.next)
		if (!xiw_host_dead(&l->life) && l->qp && !l->end_asked && !l->ended &&
		    (group || (group = xiw_host_group())))
			ask_to_stop(l, DRAIN, group);
	pthread_mutex_unlock(&xiw_host_lock);
}

/*
 * A process that ends has its connections stopped, and waits until both sides have closed, so that what it has posted
 * arrives. The end of the process would reset those whose peers are still sending.
 */
__attribute__((destructor)) void xiw_host_settle(void)
{
	struct timespec until;

	stop_all();
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += SETTLE_S;
	pthread_mutex_lock(&xiw_host_lock);
	while (xiw_host_links_leave() &&
	       !pthread_cond_clockwait(&xiw_host_link_ended, &xiw_host_lock, CLOCK_MONOTONIC,
				       &until))
		;
	pthread_mutex_unlock(&xiw_host_lock);
}

/* ---- what else there is of a connection ------------------------------------------------------------------------- */

int xiw_host_qp_move(struct xiw_host_qp *qp, struct xiw_host_eq *eq)
{
	struct xiw_host_request *l;
	int err = 0;

	if (xiw_host_dead(&qp->life))
		return -ECANCELED;
	pthread_mutex_lock(&xiw_host_lock);
	l = qp->link;
	if (!l)
		err = -ENOTCONN;
	else if (l->eq && l->eq != eq)
		err = xiw_host_eq_use(eq);
	if (!err && l->eq && l->eq != eq) {
		xiw_host_eq_hand_over(l->eq, eq, l->context);
		xiw_host_eq_leave(l->eq);
		l->eq = eq;
	}
	pthread_mutex_unlock(&xiw_host_lock);
	return err;
}

void xiw_host_qp_mute(struct xiw_host_qp *qp)
{
	struct xiw_host_request *l;

	if (xiw_host_dead(&qp->life))
		return;
	pthread_mutex_lock(&xiw_host_lock);
	l = qp->link;
	if (l) {
		xiw_host_eq_leave(l->eq);
		l->eq = NULL;
	}
	pthread_mutex_unlock(&xiw_host_lock);
}

void xiw_host_qp_info(const struct xiw_host_qp *qp, struct xiw_host_qp_info *info)
{
	*info = (struct xiw_host_qp_info){
		.sends_posted = __atomic_load_n(&qp->sends.used, __ATOMIC_ACQUIRE),
		.recvs_posted = __atomic_load_n(&qp->recvs.used, __ATOMIC_ACQUIRE),
	};
	pthread_mutex_lock(&xiw_host_lock);
	if (qp->link) {
		info->context = qp->link->context;
		info->local = qp->link->local;
		info->remote = qp->link->remote;
		info->ird = qp->link->agreed_ird;
		info->ord = qp->link->agreed_ord;
		info->octets_direct = qp->link->octets.direct;
		info->octets_kernel = qp->link->octets.kernel;
	}
	info->extended = xiw_host_qp_state(qp) == XIW_HOST_OPEN && qp->extended;
	pthread_mutex_unlock(&xiw_host_lock);
}
