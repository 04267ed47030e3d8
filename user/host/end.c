// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How connections end, and queue pairs with them. */
#include <errno.h>
#include <time.h>

#include "base/cancel.h"
#include "host/engines.h"
#include "host/eq.h"
#include "host/link.h"

#define LINGER_S 1 /* how long xiw_host_qp_free() waits for an orderly end */

/*
 * In the thread of the engine that has the connection, or of any while it is on its way. Then the QP ends here, and the
 * connection when it arrives.
 */
void xiw_host_link_end_now(struct xiw_engine *e, struct xiw_call *call, int status)
{
	struct xiw_host_request *l =
		(void *)((char *)call - offsetof(struct xiw_host_request, end));
	const bool ended = xiw_host_link_given_up(l);
	struct xiw_engine *had = ended ? e : xiw_host_link_settle(l, e, NULL);

	(void)status;
	if (had && had != e) {
		xiw_engine_call(had, call);
		return;
	}
	if (!had) {
		xiw_host_link_finish(l, 0);
	} else if (!ended && l->established) {
		xiw_rdma_close(l->qp->rdma);
	} else if (!ended && l->conn) {
		xiw_conn_abort(l->conn);
	}
	xiw_host_link_drop(l);
}

int xiw_host_disconnect(struct xiw_host_qp *qp)
{
	struct xiw_group *group;
	struct xiw_engine *e;
	struct xiw_host_request *l;
	int err = xiw_host_dead(&qp->life) ? -ECANCELED : xiw_host_engines(&group);

	if (err)
		return err;
	pthread_mutex_lock(&xiw_host_lock);
	l = qp->link;
	if (!l) {
		err = -ENOTCONN;
	} else if (!l->end_asked && !l->ended) {
		l->end_asked = true;
		xiw_host_link_leave(l);
		l->owners++;
		e = l->engine ? l->engine : xiw_group_engine(group, 0);
		xiw_engine_call(e, &l->end);
	}
	pthread_mutex_unlock(&xiw_host_lock);
	return err;
}

/*
 * The connection has had its time. Buffers that the library has come back with its end, and are taken before the link
 * lets go of it.
 */
static void reset(void *ctx)
{
	struct xiw_host_request *l = ctx;

	if (!l->ended && l->conn) {
		xiw_conn_abort(l->conn);
		xiw_host_take_all(l->engine);
	}
	if (!l->ended)
		xiw_host_link_end(l, -ECONNABORTED);
}

static void nothing(void *ctx)
{
	(void)ctx;
}

/* Waits until the connection has ended. */
static void wait_for_end(struct xiw_host_request *l)
{
	const int cancel = xiw_cancel_off();
	struct timespec until;
	struct xiw_engine *e;
	bool ended;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += LINGER_S;
	pthread_mutex_lock(&xiw_host_lock);
	while (!l->ended && (!l->engine || !err))
		err = l->engine ? pthread_cond_clockwait(&xiw_host_link_ended, &xiw_host_lock,
							 CLOCK_MONOTONIC, &until)
				: pthread_cond_wait(&xiw_host_link_ended, &xiw_host_lock);
	ended = l->ended;
	e = l->engine;
	xiw_host_link_tell_last(l);
	pthread_mutex_unlock(&xiw_host_lock);
	if (!ended)
		xiw_host_ask(e, reset, l);
	xiw_cancel_restore(cancel);
}

static void end_idle(void *ctx)
{
	xiw_host_qp_end(ctx);
}

/* It is an engine's from now on, which flushes what is posted. */
static int finish_idle(struct xiw_host_qp *qp)
{
	struct xiw_group *group;
	int err = xiw_host_engines(&group);

	if (err)
		return err;
	pthread_mutex_lock(&xiw_host_lock);
	if (qp->link)
		err = -EISCONN;
	else
		__atomic_store_n(&qp->state, XIW_HOST_ENDED, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&xiw_host_lock);
	if (err)
		return err;
	__atomic_store_n(&qp->engine, xiw_group_engine(group, 0), __ATOMIC_SEQ_CST);
	xiw_host_ask(qp->engine, end_idle, qp);
	return 0;
}

int xiw_host_qp_finish(struct xiw_host_qp *qp)
{
	int err = xiw_host_disconnect(qp);

	if (err == -ENOTCONN)
		err = finish_idle(qp);
	if (err)
		return err;
	if (qp->link)
		wait_for_end(qp->link);
	/* No call of this QP is under way behind this one. */
	xiw_host_ask(qp->engine, nothing, NULL);
	return 0;
}

int xiw_host_qp_free(struct xiw_host_qp *qp)
{
	if (!qp)
		return 0;
	if (!xiw_host_dead(&qp->life))
		xiw_host_qp_hush(qp);
	/* One that no engine has seen has nothing to end. */
	if ((qp->link || qp->engine) && !xiw_host_qp_finish(qp) && qp->link) {
		xiw_host_qp_mute(qp);
		xiw_host_link_drop(qp->link);
	}
	xiw_host_qp_release(qp);
	return 0;
}

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
		info->local = qp->link->local;
		info->remote = qp->link->remote;
		info->ird = qp->link->agreed_ird;
		info->ord = qp->link->agreed_ord;
		info->octets_direct = qp->link->octets_direct;
		info->octets_kernel = qp->link->octets_kernel;
	}
	info->extended = xiw_host_qp_state(qp) == XIW_HOST_OPEN && qp->extended;
	pthread_mutex_unlock(&xiw_host_lock);
}
