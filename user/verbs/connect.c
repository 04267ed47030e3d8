// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* librdmacm's connections. */
#include <errno.h>
#include <string.h>

#include "verbs/cm.h"
#include "verbs/objects.h"
#include "verbs/theirs.h"
#include "verbs/verbs.h"

/* The identifier's own queue pair, or the one that the parameters name; NULL: neither. */
static struct xiw_qp *qp_of(struct xiw_id *id, const struct rdma_conn_param *param)
{
	if (id->cm.qp)
		return xiw_qp(id->cm.qp);
	return param ? xiw_qp_find(param->qp_num) : NULL;
}

/* Without parameters, or with the largest number, as many Reads as there may be. */
static uint16_t depth(const struct rdma_conn_param *param, uint8_t n)
{
	return !param || n == RDMA_MAX_RESP_RES ? XIW_HOST_READS_MAX : n;
}

static struct xiw_host_conn_opts opts(struct xiw_id *id, const struct rdma_conn_param *param)
{
	struct xiw_host_conn_opts o = {
		.eq = xiw_id_eq(id),
		.context = id,
		.ird = depth(param, param ? param->responder_resources : 0),
		.ord = depth(param, param ? param->initiator_depth : 0),
		.extended = xiw_verbs_extended(),
		.forgets = !id->sync,
		.traffic_class = (uint8_t)id->options[RDMA_OPTION_ID_TOS].value[0],
	};

	if (param && param->private_data) {
		o.private_data = param->private_data;
		o.private_len = param->private_data_len;
	}
	return o;
}

static socklen_t length(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in);
}

/* Before the connection begins: another thread may have taken its events when this one goes on. */
static uint32_t set_qp_num(struct xiw_id *id, uint32_t number)
{
	const uint32_t was = id->qp_num;

	id->qp_num = number;
	return was;
}

XIW_INTERPOSE int rdma_connect(struct rdma_cm_id *cm, struct rdma_conn_param *param)
{
	struct rdma_addr *addr = &cm->route.addr;
	struct xiw_id *id = xiw_id(cm);
	struct xiw_host_conn_opts o;
	struct xiw_qp *qp;
	uint32_t was;
	int rc;

	PASS_ON_AND_WAIT(cm, rdma_connect, param);
	o = opts(id, param);
	qp = qp_of(id, param);
	if (!qp || !addr->dst_storage.ss_family)
		return xiw_cm_result(-EINVAL);
	/* The port that was bound is the connection's now. */
	xiw_host_listener_free(id->listener);
	id->listener = NULL;
	was = set_qp_num(id, qp->ibv.qp_num);
	rc = xiw_host_connect(qp->host, &addr->dst_addr, length(&addr->dst_storage),
			      &addr->src_addr, length(&addr->src_storage), &o);
	if (rc)
		id->qp_num = was;
	return rc ? xiw_cm_result(rc) : xiw_cm_complete(id);
}

XIW_INTERPOSE int rdma_accept(struct rdma_cm_id *cm, struct rdma_conn_param *param)
{
	struct xiw_id *id = xiw_id(cm);
	struct xiw_host_conn_opts o;
	struct xiw_qp *qp;
	uint32_t was;
	int rc;

	PASS_ON_AND_WAIT(cm, rdma_accept, param);
	o = opts(id, param);
	qp = qp_of(id, param);
	if (!qp || !id->request)
		return xiw_cm_result(-EINVAL);
	was = set_qp_num(id, qp->ibv.qp_num);
	rc = xiw_host_accept(id->request, qp->host, &o);
	if (rc)
		id->qp_num = was;
	if (rc != -EINVAL && rc != -EISCONN)
		id->request = NULL;
	return rc ? xiw_cm_result(rc) : xiw_cm_complete(id);
}

XIW_INTERPOSE int rdma_reject(struct rdma_cm_id *cm, const void *private_data, uint8_t len)
{
	struct xiw_id *id = xiw_id(cm);
	int rc;

	PASS_ON(cm, rdma_reject, private_data, len);
	rc = id->request ? xiw_host_reject(id->request, private_data, len) : -EINVAL;
	if (rc != -EINVAL)
		id->request = NULL;
	return xiw_cm_result(rc);
}

XIW_INTERPOSE int rdma_reject_ece(struct rdma_cm_id *cm, const void *private_data, uint8_t len)
{
	PASS_ON(cm, rdma_reject_ece, private_data, len);
	return rdma_reject(cm, private_data, len);
}

/* For queue pairs that the program moves to their states itself. Ours is ready when its connection is. */
XIW_INTERPOSE int rdma_establish(struct rdma_cm_id *cm)
{
	struct xiw_qp *qp;

	PASS_ON(cm, rdma_establish);
	qp = xiw_qp_find(xiw_id(cm)->qp_num);
	return xiw_cm_result(qp && xiw_host_qp_state(qp->host) == XIW_HOST_OPEN ? 0 : -EINVAL);
}

XIW_INTERPOSE int rdma_notify(struct rdma_cm_id *cm, enum ibv_event_type event)
{
	PASS_ON(cm, rdma_notify, event);
	return 0;
}

XIW_INTERPOSE int rdma_disconnect(struct rdma_cm_id *cm)
{
	struct xiw_id *id = xiw_id(cm);
	struct xiw_qp *qp;
	int rc;

	PASS_ON_AND_WAIT(cm, rdma_disconnect);
	/* A queue pair that is gone, or another identifier's by now, has no connection of this one. */
	qp = xiw_qp_of(id->qp_num, id);
	rc = !id->qp_num ? -EINVAL : qp ? xiw_host_disconnect(qp->host) : 0;
	if (rc)
		return xiw_cm_result(rc);
	return id->ended ? 0 : xiw_cm_complete(id);
}

/* As the kernel's iw_cm has it: the connection makes the queue pair ready to send. */
XIW_INTERPOSE int rdma_init_qp_attr(struct rdma_cm_id *cm, struct ibv_qp_attr *attr, int *mask)
{
	PASS_ON(cm, rdma_init_qp_attr, attr, mask);
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
	case IBV_QPS_RTR:
		attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
		if (xiw_verbs_extended())
			attr->qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
		*mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS;
		return 0;
	case IBV_QPS_RTS:
		*mask = 0;
		return 0;
	default:
		return xiw_cm_result(-EINVAL);
	}
}
