// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What identifiers have of verbs' objects, and endpoints: identifiers with all of it, made by one call. */
#include <errno.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "verbs/cm.h"
#include "verbs/objects.h"
#include "verbs/theirs.h"
#include "verbs/verbs.h"

/* ---- completion queues of an identifier --------------------------------------------------------------------- */

static int create_cq(struct rdma_cm_id *cm, uint32_t size, struct ibv_comp_channel **channel,
		     struct ibv_cq **cq)
{
	*channel = ibv_create_comp_channel(cm->verbs);
	if (!*channel)
		return -1;
	*cq = ibv_create_cq(cm->verbs, size ? (int)size : 1, cm, *channel, 0);
	return *cq ? 0 : -1;
}

/* The members are public: rsockets have one queue for both, and one channel. */
static void destroy_cqs(struct rdma_cm_id *cm)
{
	if (cm->recv_cq)
		ibv_destroy_cq(cm->recv_cq);
	if (cm->send_cq && cm->send_cq != cm->recv_cq)
		ibv_destroy_cq(cm->send_cq);
	if (cm->recv_cq_channel)
		ibv_destroy_comp_channel(cm->recv_cq_channel);
	if (cm->send_cq_channel && cm->send_cq_channel != cm->recv_cq_channel)
		ibv_destroy_comp_channel(cm->send_cq_channel);
	cm->recv_cq = cm->send_cq = NULL;
	cm->recv_cq_channel = cm->send_cq_channel = NULL;
}

/* Those that the program does not bring. */
static int create_cqs(struct rdma_cm_id *cm, struct ibv_qp_init_attr *attr)
{
	if (!attr->recv_cq && !cm->recv_cq &&
	    create_cq(cm, attr->cap.max_recv_wr, &cm->recv_cq_channel, &cm->recv_cq))
		return -1;
	if (!attr->send_cq && !cm->send_cq &&
	    create_cq(cm, attr->cap.max_send_wr, &cm->send_cq_channel, &cm->send_cq))
		return -1;
	attr->recv_cq = attr->recv_cq ? attr->recv_cq : cm->recv_cq;
	attr->send_cq = attr->send_cq ? attr->send_cq : cm->send_cq;
	return 0;
}

/* ---- queue pairs and shared receive queues -------------------------------------------------------------------- */

XIW_INTERPOSE int rdma_create_qp(struct rdma_cm_id *cm, struct ibv_pd *pd,
				 struct ibv_qp_init_attr *attr)
{
	PASS_ON(cm, rdma_create_qp, pd, attr);
	pd = pd ? pd : cm->pd;
	if (cm->qp || !cm->verbs || !pd || pd->context != cm->verbs)
		return xiw_cm_result(-EINVAL);
	if (create_cqs(cm, attr))
		goto failed;
	attr->srq = attr->srq ? attr->srq : cm->srq;
	cm->qp = ibv_create_qp(pd, attr);
	if (!cm->qp)
		goto failed;
	cm->pd = pd;
	return 0;
failed:
	destroy_cqs(cm);
	return -1;
}

/* The members of the extended attributes that we know mean what those of the plain ones do. */
XIW_INTERPOSE int rdma_create_qp_ex(struct rdma_cm_id *cm, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr plain = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
	};

	PASS_ON(cm, rdma_create_qp_ex, attr);
	if (!xiw_qp_knows(attr))
		return xiw_cm_result(-EOPNOTSUPP);
	if (rdma_create_qp(cm, attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL, &plain))
		return -1;
	attr->cap = plain.cap;
	return 0;
}

XIW_INTERPOSE void rdma_destroy_qp(struct rdma_cm_id *cm)
{
	struct ibv_qp *qp;

	if (xiw_theirs(cm)) {
		XIW_REAL(rdma_destroy_qp)(xiw_theirs(cm));
		xiw_theirs_done(cm, 0);
		return;
	}
	/* From here on a thread that takes the identifier's last event leaves the QP alone. */
	pthread_mutex_lock(&xiw_id(cm)->lock);
	qp = cm->qp;
	cm->qp = NULL;
	pthread_mutex_unlock(&xiw_id(cm)->lock);
	if (qp)
		ibv_destroy_qp(qp);
	destroy_cqs(cm);
}

XIW_INTERPOSE int rdma_create_srq(struct rdma_cm_id *cm, struct ibv_pd *pd,
				  struct ibv_srq_init_attr *attr)
{
	PASS_ON(cm, rdma_create_srq, pd, attr);
	pd = pd ? pd : cm->pd;
	if (cm->srq || !cm->verbs || !pd || pd->context != cm->verbs)
		return xiw_cm_result(-EINVAL);
	cm->srq = ibv_create_srq(pd, attr);
	if (!cm->srq)
		return -1;
	cm->pd = pd;
	return 0;
}

XIW_INTERPOSE int rdma_create_srq_ex(struct rdma_cm_id *cm, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr plain = { .srq_context = attr->srq_context, .attr = attr->attr };
	uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;

	PASS_ON(cm, rdma_create_srq_ex, attr);
	if (attr->comp_mask & ~known ||
	    (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC))
		return xiw_cm_result(-EOPNOTSUPP);
	return rdma_create_srq(cm, attr->comp_mask & IBV_SRQ_INIT_ATTR_PD ? attr->pd : NULL,
			       &plain);
}

XIW_INTERPOSE void rdma_destroy_srq(struct rdma_cm_id *cm)
{
	if (xiw_theirs(cm)) {
		XIW_REAL(rdma_destroy_srq)(xiw_theirs(cm));
		xiw_theirs_done(cm, 0);
		return;
	}
	if (cm->srq)
		ibv_destroy_srq(cm->srq);
	cm->srq = NULL;
}

/* ---- endpoints ------------------------------------------------------------------------------------------------ */

static int listening(struct xiw_id *id, struct rdma_addrinfo *res, struct ibv_pd *pd,
		     const struct ibv_qp_init_attr *init)
{
	if (rdma_bind_addr(&id->cm, res->ai_src_addr))
		return -1;
	if (pd)
		id->cm.pd = pd;
	/* What the real one says is taken over with the next function. */
	if (pd && id->real)
		id->real->pd = pd;
	if (init) {
		id->has_init = true;
		id->init = *init;
	}
	return 0;
}

static int connecting(struct xiw_id *id, struct rdma_addrinfo *res, struct ibv_pd *pd,
		      struct ibv_qp_init_attr *init)
{
	if (rdma_resolve_addr(&id->cm, res->ai_src_addr, res->ai_dst_addr, 2000) ||
	    rdma_resolve_route(&id->cm, 2000))
		return -1;
	return init ? rdma_create_qp(&id->cm, pd, init) : 0;
}

XIW_INTERPOSE int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res,
				 struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct rdma_cm_id *cm;
	int rc;

	if (rdma_create_id(NULL, &cm, NULL, (enum rdma_port_space)res->ai_port_space))
		return -1;
	if (init)
		init->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	if (res->ai_flags & RAI_PASSIVE)
		rc = listening(xiw_id(cm), res, pd, init);
	else
		rc = connecting(xiw_id(cm), res, pd, init);
	if (rc) {
		rc = errno;
		rdma_destroy_id(cm);
		return xiw_cm_result(-rc);
	}
	*id = cm;
	return 0;
}

XIW_INTERPOSE void rdma_destroy_ep(struct rdma_cm_id *cm)
{
	if (cm->qp)
		rdma_destroy_qp(cm);
	if (cm->srq)
		rdma_destroy_srq(cm);
	rdma_destroy_id(cm);
}

XIW_INTERPOSE int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	struct xiw_id *l = xiw_id(listen);
	struct rdma_cm_event *event;
	struct ibv_qp_init_attr init = l->init;

	if (!l->sync)
		return xiw_cm_result(-EINVAL);
	if (listen->event)
		rdma_ack_cm_event(listen->event);
	listen->event = NULL;
	if (rdma_get_cm_event(listen->channel, &event))
		return -1;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		rdma_ack_cm_event(event);
		return xiw_cm_result(-EINVAL);
	}
	event->id->event = event;
	if (l->has_init && rdma_create_qp(event->id, listen->pd, &init)) {
		int why = errno;

		rdma_destroy_id(event->id);
		return xiw_cm_result(-why);
	}
	*id = event->id;
	return 0;
}
