// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The asynchronous events of a device: those of queue pairs and of shared receive queues, and of its port (ports.c). A
 * completion queue has room for all that can be posted and never overflows, whatever size was asked for, and a
 * connection is established by librdmacm alone: there are neither IBV_EVENT_CQ_ERR nor IBV_EVENT_COMM_EST.
 */
#include <errno.h>

#include "verbs/objects.h"
#include "verbs/ops.h"
#include "verbs/verbs.h"

/* Who destroys the object waits from now on. */
void xiw_verbs_async_taken(const struct xiw_host_event *event)
{
	const bool of_srq = event->kind == XIW_HOST_SRQ_LOW;
	struct xiw_srq_object *srq = event->context;
	struct xiw_qp *qp = event->context;
	pthread_mutex_t *lock;

	if (event->kind == XIW_HOST_OTHER)
		return;
	lock = of_srq ? &srq->ibv.mutex : &qp->ibv.mutex;
	pthread_mutex_lock(lock);
	if (of_srq)
		srq->told++;
	else
		qp->told++;
	pthread_mutex_unlock(lock);
}

static enum ibv_event_type type(const struct xiw_host_event *event)
{
	switch (event->kind) {
	case XIW_HOST_OTHER:
		return (enum ibv_event_type)event->other;
	case XIW_HOST_SRQ_LOW:
		return IBV_EVENT_SRQ_LIMIT_REACHED;
	case XIW_HOST_QP_ACCESS:
		return IBV_EVENT_QP_ACCESS_ERR;
	case XIW_HOST_QP_INVALID:
		return IBV_EVENT_QP_REQ_ERR;
	case XIW_HOST_QP_LAST:
		return IBV_EVENT_QP_LAST_WQE_REACHED;
	default:
		return IBV_EVENT_QP_FATAL;
	}
}

XIW_INTERPOSE int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct xiw_host_event e;
	int rc;

	if (!xiw_is_context(context))
		return XIW_REAL(ibv_get_async_event)(context, event);
	rc = xiw_host_eq_wait(xiw_context(context)->async, &e, -1);
	if (rc < 0) {
		errno = -rc;
		return -1;
	}
	event->event_type = type(&e);
	if (e.kind == XIW_HOST_OTHER)
		event->element.port_num = 1;
	else if (e.kind == XIW_HOST_SRQ_LOW)
		event->element.srq = &((struct xiw_srq_object *)e.context)->ibv;
	else
		event->element.qp = &((struct xiw_qp *)e.context)->ibv;
	return 0;
}

static void count(pthread_mutex_t *lock, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(lock);
	++*completed;
	pthread_cond_broadcast(cond);
	pthread_mutex_unlock(lock);
}

XIW_INTERPOSE void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_srq *srq = event->element.srq;
	struct ibv_qp *qp = event->element.qp;

	switch (event->event_type) {
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		if (!xiw_is_context(srq->context))
			break;
		count(&srq->mutex, &srq->cond, &srq->events_completed);
		return;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		if (!xiw_is_context(qp->context))
			break;
		count(&qp->mutex, &qp->cond, &qp->events_completed);
		return;
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_DEVICE_FATAL: /* of no object, whosever it is */
		return;
	default: /* No other event has an object of ours. */
		break;
	}
	XIW_REAL(ibv_ack_async_event)(event);
}
