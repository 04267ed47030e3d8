// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Completion queues, and the channels that tell of completions. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "verbs/objects.h"
#include "verbs/ops.h"
#include "verbs/verbs.h"

/* ---- channels --------------------------------------------------------------------------------------- */

/* Who destroys the queue waits from now on. */
static void taken(const struct xiw_host_event *event)
{
	struct xiw_cq_object *q = event->context;

	pthread_mutex_lock(&q->ibv.mutex);
	q->told++;
	pthread_mutex_unlock(&q->ibv.mutex);
}

XIW_INTERPOSE struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct xiw_channel *c;
	int rc;

	if (!xiw_is_context(context))
		return XIW_REAL(ibv_create_comp_channel)(context);
	c = calloc(1, sizeof(*c));
	if (!c)
		return xiw_refuse(-ENOMEM);
	rc = xiw_host_eq_create(&c->eq);
	if (rc) {
		free(c);
		return xiw_refuse(rc);
	}
	xiw_host_eq_on_take(c->eq, taken);
	c->ibv.context = context;
	c->ibv.fd = xiw_host_eq_fd(c->eq);
	return &c->ibv;
}

XIW_INTERPOSE int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct xiw_channel *c = (struct xiw_channel *)channel;

	if (!xiw_is_context(channel->context))
		return XIW_REAL(ibv_destroy_comp_channel)(channel);
	if (atomic_load(&c->users))
		return EBUSY;
	xiw_host_eq_free(c->eq);
	free(c);
	return 0;
}

XIW_INTERPOSE int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
				   void **cq_context)
{
	struct xiw_channel *c = (struct xiw_channel *)channel;
	struct xiw_host_event event;
	struct xiw_cq_object *q;
	int rc;

	if (!xiw_is_context(channel->context))
		return XIW_REAL(ibv_get_cq_event)(channel, cq, cq_context);
	rc = xiw_host_eq_await(c->eq, &event);
	if (rc < 0) {
		errno = -rc;
		return -1;
	}
	q = event.context;
	*cq = &q->ibv;
	*cq_context = q->ibv.cq_context;
	return 0;
}

XIW_INTERPOSE void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	if (!xiw_is_context(cq->context)) {
		XIW_REAL(ibv_ack_cq_events)(cq, nevents);
		return;
	}
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_broadcast(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

/* ---- completion queues ------------------------------------------------------------------------------- */

XIW_INTERPOSE struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
					   struct ibv_comp_channel *channel, int comp_vector)
{
	struct xiw_channel *c = (struct xiw_channel *)channel;
	struct xiw_cq_object *q;
	int rc;

	if (!xiw_is_context(context))
		return XIW_REAL(ibv_create_cq)(context, cqe, cq_context, channel, comp_vector);
	if (cqe < 1 || cqe >= (int)XIW_CQ_ENTRIES_MAX || comp_vector ||
	    (channel && !xiw_is_context(channel->context)))
		return xiw_refuse(-EINVAL);
	q = calloc(1, sizeof(*q));
	if (!q)
		return xiw_refuse(-ENOMEM);
	rc = xiw_host_cq_create(c ? c->eq : NULL, q, &q->host);
	if (rc) {
		free(q);
		return xiw_refuse(rc);
	}
	q->ibv.context = context;
	q->ibv.channel = channel;
	q->ibv.cq_context = cq_context;
	q->ibv.cqe = cqe;
	pthread_mutex_init(&q->ibv.mutex, NULL);
	pthread_cond_init(&q->ibv.cond, NULL);
	if (c)
		atomic_fetch_add(&c->users, 1);
	return &q->ibv;
}

/* The queue has room for all that can be posted, whatever its size. */
XIW_INTERPOSE int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	if (!xiw_is_context(cq->context))
		return XIW_REAL(ibv_resize_cq)(cq, cqe);
	if (cqe < 1 || cqe >= (int)XIW_CQ_ENTRIES_MAX)
		return EINVAL;
	cq->cqe = cqe;
	return 0;
}

/* Waits until all events that the program has got are acknowledged, as libibverbs does. */
XIW_INTERPOSE int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct xiw_cq_object *q = (struct xiw_cq_object *)cq;
	struct xiw_channel *c = (struct xiw_channel *)cq->channel;

	if (!xiw_is_context(cq->context))
		return XIW_REAL(ibv_destroy_cq)(cq);
	if (atomic_load(&q->users))
		return EBUSY;
	/* Who has an event may poll until it is acknowledged. */
	xiw_host_cq_mute(q->host);
	pthread_mutex_lock(&cq->mutex);
	while (cq->comp_events_completed != q->told)
		pthread_cond_wait(&cq->cond, &cq->mutex);
	pthread_mutex_unlock(&cq->mutex);
	xiw_host_cq_free(q->host);
	if (c)
		atomic_fetch_sub(&c->users, 1);
	pthread_cond_destroy(&cq->cond);
	pthread_mutex_destroy(&cq->mutex);
	free(q);
	return 0;
}

int xiw_verbs_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	int rc = xiw_host_cq_arm(xiw_cq_object(cq)->host, solicited_only);

	return rc == -ENOENT ? 0 : -rc; /* without a channel there is nobody to tell */
}

/* ---- what completions say ----------------------------------------------------------------------------- */

static enum ibv_wc_status status(uint8_t cause)
{
	static const enum ibv_wc_status of[XIW_CAUSE_MAX] = {
		[XIW_CAUSE_NONE] = IBV_WC_SUCCESS,
		[XIW_CAUSE_FLUSHED] = IBV_WC_WR_FLUSH_ERR,
		[XIW_CAUSE_LOCAL_LENGTH] = IBV_WC_LOC_LEN_ERR,
		[XIW_CAUSE_LOCAL_PROTECTION] = IBV_WC_LOC_PROT_ERR,
		[XIW_CAUSE_LOCAL_ACCESS] = IBV_WC_LOC_ACCESS_ERR,
		[XIW_CAUSE_BAD_RESPONSE] = IBV_WC_BAD_RESP_ERR,
		[XIW_CAUSE_REMOTE_INVALID] = IBV_WC_REM_INV_REQ_ERR,
		[XIW_CAUSE_REMOTE_ACCESS] = IBV_WC_REM_ACCESS_ERR,
		[XIW_CAUSE_REMOTE_OPERATION] = IBV_WC_REM_OP_ERR,
		[XIW_CAUSE_TIMEOUT] = IBV_WC_RETRY_EXC_ERR,
		[XIW_CAUSE_NOT_READY] = IBV_WC_RNR_RETRY_EXC_ERR,
	};

	_Static_assert(XIW_CAUSE_MAX == XIW_CAUSE_NOT_READY + 1, "a cause has no status");
	return of[cause];
}

static enum ibv_wc_opcode opcode(const struct xiw_host_wc *wc)
{
	switch ((enum xiw_operation)wc->op) {
	case XIW_OPERATION_RECV:
		return wc->flags & XIW_HOST_WC_IMMEDIATE ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	case XIW_OPERATION_WRITE:
		return IBV_WC_RDMA_WRITE;
	case XIW_OPERATION_READ:
		return IBV_WC_RDMA_READ;
	case XIW_OPERATION_FETCH_ADD:
		return IBV_WC_FETCH_ADD;
	case XIW_OPERATION_CMP_SWAP:
		return IBV_WC_COMP_SWAP;
	default:
		return IBV_WC_SEND;
	}
}

static struct ibv_wc translate(const struct xiw_host_wc *from)
{
	struct ibv_wc wc = {
		.wr_id = from->wr_id,
		.status = status(from->cause),
		.opcode = opcode(from),
		.vendor_err = from->cause,
		.byte_len = from->length,
		.qp_num = (uint32_t)(uintptr_t)from->context,
	};

	if (from->flags & XIW_HOST_WC_IMMEDIATE) {
		wc.wc_flags = IBV_WC_WITH_IMM;
		wc.imm_data = htobe32((uint32_t)from->immediate);
	} else if (from->flags & XIW_HOST_WC_INVALIDATED) {
		wc.wc_flags = IBV_WC_WITH_INV;
		wc.invalidated_rkey = from->invalidated;
	}
	return wc;
}

int xiw_verbs_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct xiw_host_wc batch[16];
	int done = 0;

	while (done < n) {
		int room = n - done < 16 ? n - done : 16;
		int got = xiw_host_cq_poll(xiw_cq_object(cq)->host, batch, room);

		for (int i = 0; i < got; i++)
			wc[done++] = translate(&batch[i]);
		if (got < room)
			break;
	}
	return done;
}
