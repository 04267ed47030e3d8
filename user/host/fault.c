// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a queue pair tells besides completions and the events of its connection. */
#include "host/eq.h"
#include "host/qp.h"

/* RFC 5040 section 4.8, RFC 5041 section 8. */
enum { RDMAP_PROTECTION = 1, RDMAP_OPERATION = 2, DDP_TAGGED = 1, DDP_UNTAGGED = 2 };

static enum xiw_host_event_kind kind_of(const struct xiw_rdma_terminate_info *sent)
{
	if (!sent->present || sent->layer == XIW_RDMA_LAYER_LLP)
		return XIW_HOST_QP_FATAL;
	if (sent->layer == XIW_RDMA_LAYER_DDP)
		return sent->etype == DDP_TAGGED     ? XIW_HOST_QP_ACCESS
		       : sent->etype == DDP_UNTAGGED ? XIW_HOST_QP_INVALID
						     : XIW_HOST_QP_FATAL;
	return sent->etype == RDMAP_PROTECTION	? XIW_HOST_QP_ACCESS
	       : sent->etype == RDMAP_OPERATION ? XIW_HOST_QP_INVALID
						: XIW_HOST_QP_FATAL;
}

static void ring(struct xiw_host_qp *qp, struct xiw_host_bell *bell, enum xiw_host_event_kind kind)
{
	pthread_mutex_lock(&xiw_host_lock);
	if (qp->eq) {
		bell->kind = kind;
		xiw_host_bell_ring(qp->eq, bell);
	}
	pthread_mutex_unlock(&xiw_host_lock);
}

void xiw_host_qp_failed(struct xiw_host_qp *qp, bool by_peer)
{
	struct xiw_rdma_info info;

	if (!qp->rdma || qp->fault.kind)
		return;
	xiw_rdma_info(qp->rdma, &info, sizeof(info));
	ring(qp, &qp->fault, by_peer ? XIW_HOST_QP_FATAL : kind_of(&info.sent));
}

void xiw_host_qp_tell_last(struct xiw_host_qp *qp)
{
	if (qp->srq && !qp->last.kind)
		ring(qp, &qp->last, XIW_HOST_QP_LAST);
}

void xiw_host_qp_hush(struct xiw_host_qp *qp)
{
	pthread_mutex_lock(&xiw_host_lock);
	if (qp->eq) {
		xiw_host_bell_remove(qp->eq, &qp->fault);
		xiw_host_bell_remove(qp->eq, &qp->last);
		xiw_host_eq_leave(qp->eq);
		qp->eq = NULL;
	}
	pthread_mutex_unlock(&xiw_host_lock);
}
