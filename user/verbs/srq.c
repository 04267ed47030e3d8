// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Shared receive queues. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/objects.h"
#include "verbs/verbs.h"

XIW_INTERPOSE struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct xiw_srq_object *srq;
	struct xiw_host_srq_opts opts;
	int rc;

	if (!xiw_is_context(pd->context))
		return XIW_REAL(ibv_create_srq)(pd, init);
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return xiw_refuse(-ENOMEM);
	opts = (struct xiw_host_srq_opts){
		.pd = xiw_pd(pd)->number,
		.depth = init->attr.max_wr,
		.sge = init->attr.max_sge ? init->attr.max_sge : 1,
		.eq = xiw_context(pd->context)->async,
		.context = srq,
	};
	rc = xiw_host_srq_create(&opts, &srq->host);
	if (rc) {
		free(srq);
		return xiw_refuse(rc);
	}
	srq->attr = init->attr;
	srq->ibv.context = pd->context;
	srq->ibv.srq_context = init->srq_context;
	srq->ibv.pd = pd;
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	atomic_fetch_add(&xiw_pd(pd)->users, 1);
	return &srq->ibv;
}

XIW_INTERPOSE int ibv_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int attr_mask)
{
	if (!xiw_is_context(ibv->context))
		return XIW_REAL(ibv_modify_srq)(ibv, attr, attr_mask);
	if (attr_mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return EINVAL;
	if (attr_mask & IBV_SRQ_MAX_WR)
		return EOPNOTSUPP;
	if (!(attr_mask & IBV_SRQ_LIMIT))
		return 0;
	return -xiw_host_srq_set_limit(xiw_srq_object(ibv)->host, attr->srq_limit);
}

XIW_INTERPOSE int ibv_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
	if (!xiw_is_context(ibv->context))
		return XIW_REAL(ibv_query_srq)(ibv, attr);
	*attr = xiw_srq_object(ibv)->attr;
	attr->srq_limit = xiw_host_srq_limit(xiw_srq_object(ibv)->host);
	return 0;
}

/* Waits until the events that the program has got are acknowledged. */
XIW_INTERPOSE int ibv_destroy_srq(struct ibv_srq *ibv)
{
	struct xiw_srq_object *srq = xiw_srq_object(ibv);
	int rc;

	if (!xiw_is_context(ibv->context))
		return XIW_REAL(ibv_destroy_srq)(ibv);
	if (atomic_load(&srq->users))
		return EBUSY;
	rc = xiw_host_srq_free(srq->host);
	if (rc)
		return -rc;
	pthread_mutex_lock(&ibv->mutex);
	while (ibv->events_completed != srq->told)
		pthread_cond_wait(&ibv->cond, &ibv->mutex);
	pthread_mutex_unlock(&ibv->mutex);
	atomic_fetch_sub(&xiw_pd(ibv->pd)->users, 1);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&ibv->mutex);
	free(srq);
	return 0;
}
