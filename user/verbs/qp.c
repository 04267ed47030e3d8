// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Queue pairs. Their connections are librdmacm's business (connect.c). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "verbs/objects.h"
#include "verbs/verbs.h"

static struct {
	pthread_mutex_t lock;
	struct xiw_qp *first;
	uint32_t last_number;
} qps = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- all of them --------------------------------------------------------------------------------------- */

static struct xiw_qp *with_number(uint32_t number)
{
	struct xiw_qp *qp = qps.first;

	while (qp && qp->ibv.qp_num != number)
		qp = qp->next;
	return qp;
}

struct xiw_qp *xiw_qp_find(uint32_t number)
{
	struct xiw_qp *qp;

	pthread_mutex_lock(&qps.lock);
	qp = with_number(number);
	pthread_mutex_unlock(&qps.lock);
	return qp;
}

bool xiw_qp_info(uint32_t number, struct xiw_host_qp_info *info)
{
	struct xiw_qp *qp;

	pthread_mutex_lock(&qps.lock);
	qp = with_number(number);
	if (qp)
		xiw_host_qp_info(qp->host, info);
	pthread_mutex_unlock(&qps.lock);
	return qp;
}

struct xiw_qp *xiw_qp_of(uint32_t number, const void *context)
{
	struct xiw_host_qp_info info = {};
	struct xiw_qp *qp;

	pthread_mutex_lock(&qps.lock);
	qp = with_number(number);
	if (qp)
		xiw_host_qp_info(qp->host, &info);
	pthread_mutex_unlock(&qps.lock);
	return info.context == context ? qp : NULL;
}

static uint32_t next_number(void)
{
	uint32_t number;

	pthread_mutex_lock(&qps.lock);
	do /* 24 bits, as InfiniBand's; 0 and 1 are special there */
		qps.last_number = qps.last_number % 0xffffff + 1;
	while (qps.last_number < 2 || with_number(qps.last_number));
	number = qps.last_number;
	pthread_mutex_unlock(&qps.lock);
	return number;
}

static void enlist(struct xiw_qp *qp)
{
	pthread_mutex_lock(&qps.lock);
	qp->next = qps.first;
	qps.first = qp;
	pthread_mutex_unlock(&qps.lock);
}

static void delist(struct xiw_qp *qp)
{
	struct xiw_qp **at = &qps.first;

	pthread_mutex_lock(&qps.lock);
	while (*at != qp)
		at = &(*at)->next;
	*at = qp->next;
	pthread_mutex_unlock(&qps.lock);
}

/* ---- creation ------------------------------------------------------------------------------------------ */

static unsigned int at_least_1(uint32_t n)
{
	return n ? n : 1;
}

/* Drivers give more than is asked for, and rdma_xclient asks for none and sends 16 octets inline. */
#define INLINE_LEAST 64u

static unsigned int inline_max(const struct ibv_qp_init_attr *attr)
{
	uint32_t asked = attr->cap.max_inline_data;

	return asked < INLINE_LEAST ? INLINE_LEAST : asked;
}

static int make(struct xiw_qp *qp, const struct xiw_pd *pd, const struct ibv_qp_init_attr *attr)
{
	struct xiw_host_qp_opts opts = {
		.pd = pd->number,
		.send_cq = xiw_cq_object(attr->send_cq)->host,
		.recv_cq = xiw_cq_object(attr->recv_cq)->host,
		.srq = attr->srq ? xiw_srq_object(attr->srq)->host : NULL,
		.send_depth = at_least_1(attr->cap.max_send_wr),
		.recv_depth = at_least_1(attr->cap.max_recv_wr),
		.send_sge = at_least_1(attr->cap.max_send_sge),
		.recv_sge = at_least_1(attr->cap.max_recv_sge),
		.inline_max = inline_max(attr),
		.signal_all = attr->sq_sig_all,
		/* Whoever polls a completion may do so while another thread destroys the queue pair. */
		.context = (void *)(uintptr_t)qp->ibv.qp_num,
		.eq = xiw_context(pd->ibv.context)->async,
		.eq_context = qp,
	};

	return xiw_host_qp_create(&opts, &qp->host);
}

static void count(struct xiw_qp *qp, unsigned int by)
{
	atomic_fetch_add(&xiw_pd(qp->ibv.pd)->users, by);
	atomic_fetch_add(&xiw_cq_object(qp->ibv.send_cq)->users, by);
	atomic_fetch_add(&xiw_cq_object(qp->ibv.recv_cq)->users, by);
	if (qp->ibv.srq)
		atomic_fetch_add(&xiw_srq_object(qp->ibv.srq)->users, by);
}

/* Another library's objects are behind a context that is not ours. */
static bool all_ours(const struct ibv_qp_init_attr *attr)
{
	return attr->send_cq && xiw_is_context(attr->send_cq->context) && attr->recv_cq &&
	       xiw_is_context(attr->recv_cq->context) &&
	       (!attr->srq || xiw_is_context(attr->srq->context));
}

XIW_INTERPOSE struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct xiw_qp *qp;
	int rc;

	if (!xiw_is_context(pd->context))
		return XIW_REAL(ibv_create_qp)(pd, attr);
	if (!all_ours(attr))
		return xiw_refuse(-EINVAL);
	if (attr->qp_type != IBV_QPT_RC)
		return xiw_refuse(-EOPNOTSUPP);
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return xiw_refuse(-ENOMEM);
	qp->ibv.qp_num = qp->ibv.handle = next_number();
	pthread_mutex_init(&qp->ibv.mutex, NULL);
	pthread_cond_init(&qp->ibv.cond, NULL);
	rc = make(qp, xiw_pd(pd), attr);
	if (rc) {
		free(qp);
		return xiw_refuse(rc);
	}
	attr->cap.max_inline_data = inline_max(attr);
	qp->init = *attr;
	qp->ibv.context = pd->context;
	qp->ibv.qp_context = attr->qp_context;
	qp->ibv.pd = pd;
	qp->ibv.send_cq = attr->send_cq;
	qp->ibv.recv_cq = attr->recv_cq;
	qp->ibv.srq = attr->srq;
	qp->ibv.qp_type = IBV_QPT_RC;
	count(qp, 1);
	enlist(qp);
	return &qp->ibv;
}

bool xiw_qp_knows(const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	return !(attr->comp_mask & ~known) &&
	       (!(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) || !attr->send_ops_flags);
}

/* The plain attributes are the first members of the extended ones. */
struct ibv_qp *xiw_verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	if (!xiw_qp_knows(attr))
		return xiw_refuse(-EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || attr->pd->context != context)
		return xiw_refuse(-EINVAL);
	return ibv_create_qp(attr->pd, (struct ibv_qp_init_attr *)attr);
}

/* Waits until the events that the program has got are acknowledged. */
XIW_INTERPOSE int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct xiw_qp *qp = xiw_qp(ibv);

	if (!xiw_is_context(ibv->context))
		return XIW_REAL(ibv_destroy_qp)(ibv);
	delist(qp);
	xiw_host_qp_free(qp->host);
	pthread_mutex_lock(&ibv->mutex);
	while (ibv->events_completed != qp->told)
		pthread_cond_wait(&ibv->cond, &ibv->mutex);
	pthread_mutex_unlock(&ibv->mutex);
	count(qp, -1u);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&ibv->mutex);
	free(qp);
	return 0;
}

/* ---- states -------------------------------------------------------------------------------------------- */

static enum ibv_qp_state state(const struct xiw_qp *qp)
{
	switch (xiw_host_qp_state(qp->host)) {
	case XIW_HOST_IDLE:
		return IBV_QPS_INIT;
	case XIW_HOST_CONNECTING:
	case XIW_HOST_OPEN:
		return IBV_QPS_RTS;
	default:
		return IBV_QPS_ERR;
	}
}

/*
 * A queue pair becomes ready by its connection alone, and serves for one: it stays in the error state. What a program
 * changes on the way has no effect, as with the drivers of RNICs: those that move the queue pairs of their connections
 * themselves (rdma_init_qp_attr()) go by way of RTR to RTS. The error state stops the connection, and all that is
 * posted completes, also where there was none. SQD ends it, too, but what is posted to be sent still leaves.
 */
static int change(struct xiw_qp *qp, enum ibv_qp_state to)
{
	const enum ibv_qp_state from = state(qp);

	if (to == IBV_QPS_ERR)
		return -xiw_host_qp_finish(qp->host);
	if (to == IBV_QPS_SQD && from == IBV_QPS_RTS)
		return -xiw_host_disconnect(qp->host);
	if (to == IBV_QPS_RESET && from != IBV_QPS_INIT)
		return EOPNOTSUPP;
	if (from == IBV_QPS_INIT)
		return to <= IBV_QPS_RTS ? 0 : EINVAL;
	/* rping -c -q does so when its connection is there. */
	return from == IBV_QPS_RTS && to <= IBV_QPS_RTS ? 0 : EINVAL;
}

/* Names the peer's queue pair by its number, as InfiniBand has it. Attributes of rdma_init_qp_attr() do not. */
static bool connects_by_hand(const struct ibv_qp_attr *attr, int mask)
{
	static bool said;

	if (!(mask & IBV_QP_STATE) || attr->qp_state != IBV_QPS_RTR ||
	    !(mask & (IBV_QP_AV | IBV_QP_DEST_QPN)))
		return false;
	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		fputs("xiwarp: the program connects queue pairs by their numbers, which iWARP does "
		      "not have: let it connect with rdma_cm (perftest: -R)\n",
		      stderr);
	return true;
}

/* ---- attributes ---------------------------------------------------------------------------------------- */

/* These do something. */
#define EFFECTIVE (IBV_QP_STATE | IBV_QP_ACCESS_FLAGS)

/*
 * InfiniBand's, which iWARP does not have: TCP has its own timers, numbers and path, and rdma_conn_param the number of
 * Reads. Programs set them as their tutorials do, and the connection is as good without. The port is the device's one.
 */
#define MEANINGLESS                                                                                \
	(IBV_QP_CUR_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY | IBV_QP_AV |            \
	 IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_RQ_PSN |  \
	 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_SQ_PSN |                          \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_DEST_QPN)

/*
 * All others would promise what there is not: another depth (IBV_QP_CAP), a limit of the rate (IBV_QP_RATE_LIMIT),
 * another path (IBV_QP_ALT_PATH, IBV_QP_PATH_MIG_STATE), an event (IBV_QP_EN_SQD_ASYNC_NOTIFY).
 */
static int check(const struct ibv_qp_attr *attr, int mask)
{
	if (mask & ~(EFFECTIVE | MEANINGLESS))
		return EOPNOTSUPP;
	return mask & IBV_QP_PORT && attr->port_num != 1 ? EINVAL : 0;
}

static int set_access(struct xiw_qp *qp, unsigned int ibv)
{
	if (ibv & ~(unsigned int)(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC))
		return EINVAL;
	return -xiw_host_qp_set_access(qp->host, xiw_access_of(ibv));
}

XIW_INTERPOSE int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask)
{
	int err;

	if (!xiw_is_context(ibv->context))
		return XIW_REAL(ibv_modify_qp)(ibv, attr, attr_mask);
	if (connects_by_hand(attr, attr_mask))
		return EINVAL;
	err = check(attr, attr_mask);
	if (!err && attr_mask & IBV_QP_ACCESS_FLAGS)
		err = set_access(xiw_qp(ibv), attr->qp_access_flags);
	if (err)
		return err;
	if (attr_mask & IBV_QP_STATE) {
		int rc = change(xiw_qp(ibv), attr->qp_state);

		if (rc)
			return rc;
		ibv->state = attr->qp_state;
	}
	return 0;
}

XIW_INTERPOSE int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask,
			       struct ibv_qp_init_attr *init_attr)
{
	struct xiw_qp *qp = xiw_qp(ibv);
	struct xiw_host_qp_info info;

	if (!xiw_is_context(ibv->context))
		return XIW_REAL(ibv_query_qp)(ibv, attr, attr_mask, init_attr);
	xiw_host_qp_info(qp->host, &info);
	*attr = (struct ibv_qp_attr){
		.qp_state = state(qp),
		.cur_qp_state = state(qp),
		.path_mtu = IBV_MTU_1024,
		.qp_access_flags = xiw_ibv_access_of(xiw_host_qp_access(qp->host)),
		.cap = qp->init.cap,
		.max_rd_atomic = (uint8_t)info.ord,
		.max_dest_rd_atomic = (uint8_t)info.ird,
		.port_num = 1,
	};
	ibv->state = attr->qp_state;
	*init_attr = qp->init;
	return 0;
}
