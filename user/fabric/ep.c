// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Endpoints: queue pairs, and the connections that they make. */
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"

static int ep_enable(struct xiw_fi_ep *ep)
{
	const struct xiw_host_qp_opts opts = {
		.pd = ep->domain->pd,
		.send_cq = ep->send_cq	 ? ep->send_cq->host
			   : ep->recv_cq ? ep->recv_cq->host
					 : NULL,
		.recv_cq = ep->recv_cq	 ? ep->recv_cq->host
			   : ep->send_cq ? ep->send_cq->host
					 : NULL,
		.srq = ep->srx ? ep->srx->host : NULL,
		.send_depth = ep->send_depth,
		.recv_depth = ep->recv_depth,
		.send_sge = XIW_FI_IOV_MAX,
		.recv_sge = XIW_FI_IOV_MAX,
		.inline_max = XIW_HOST_INLINE_MAX,
		.recv_selective = ep->recv_selective,
		.unchecked = true,
		.context = ep,
	};

	if (ep->qp)
		return 0;
	return opts.send_cq ? xiw_host_qp_create(&opts, &ep->qp) : -FI_ENOCQ;
}

/* ---- connections ------------------------------------------------------------------------------------------- */

static int ready(struct xiw_fi_ep *ep, struct xiw_host_conn_opts *opts, struct xiw_fi_frame *frame,
		 const void *param, size_t len)
{
	int err = ep->eq ? xiw_fi_frame(frame, param, len) : -FI_ENOEQ;

	if (err)
		return err;
	*opts = (struct xiw_host_conn_opts){
		.eq = ep->eq->host,
		.context = &ep->fid.fid,
		.ird = XIW_FI_READS,
		.ord = XIW_FI_READS,
		.extended = ep->immediate,
		.traffic_class = ep->traffic_class,
		.private_data = frame->octets,
		.private_len = frame->len,
	};
	return ep_enable(ep);
}

static int cm_connect(struct fid_ep *fid, const void *addr, const void *param, size_t len)
{
	struct xiw_fi_ep *ep = (struct xiw_fi_ep *)fid;
	struct xiw_host_conn_opts opts;
	struct xiw_fi_frame frame;
	int err = ready(ep, &opts, &frame, param, len);

	if (err)
		return err;
	if (addr) {
		ep->remote_len = xiw_fi_addr_len(addr);
		memcpy(&ep->remote, addr, ep->remote_len);
	}
	if (!ep->remote_len)
		return -FI_EINVAL;
	return xiw_host_connect(ep->qp, (void *)&ep->remote, ep->remote_len,
				ep->local_len ? (void *)&ep->local : NULL, ep->local_len, &opts);
}

static int cm_accept(struct fid_ep *fid, const void *param, size_t len)
{
	struct xiw_fi_ep *ep = (struct xiw_fi_ep *)fid;
	struct xiw_host_conn_opts opts;
	struct xiw_fi_frame frame;
	struct xiw_fi_request *r;
	int err = ready(ep, &opts, &frame, param, len);

	if (err)
		return err;
	r = xiw_fi_request_take(ep->request);
	if (!r)
		return -FI_EOPBADSTATE;
	err = xiw_host_accept(r->host, ep->qp, &opts);
	if (err == -FI_EINVAL || err == -FI_EISCONN)
		xiw_fi_request_give(r);
	else
		free(r);
	return err;
}

static int cm_shutdown(struct fid_ep *fid, uint64_t flags)
{
	struct xiw_fi_ep *ep = (struct xiw_fi_ep *)fid;

	if (flags)
		return -FI_EINVAL;
	return ep->qp ? xiw_host_disconnect(ep->qp) : -FI_ENOTCONN;
}

/* ---- addresses ----------------------------------------------------------------------------------------------- */

static int cm_setname(fid_t fid, void *addr, size_t len)
{
	struct xiw_fi_ep *ep = (struct xiw_fi_ep *)fid;

	if (len < xiw_fi_addr_len(addr))
		return -FI_EINVAL;
	ep->local_len = xiw_fi_addr_len(addr);
	memcpy(&ep->local, addr, ep->local_len);
	return 0;
}

static int cm_getname(fid_t fid, void *addr, size_t *len)
{
	struct xiw_fi_ep *ep = (struct xiw_fi_ep *)fid;
	struct xiw_host_qp_info info = {};

	if (ep->qp)
		xiw_host_qp_info(ep->qp, &info);
	if (info.local.ss_family)
		return xiw_fi_give_addr(&info.local, xiw_fi_addr_len(&info.local), addr, len);
	return ep->local_len ? xiw_fi_give_addr(&ep->local, ep->local_len, addr, len)
			     : -FI_EADDRNOTAVAIL;
}

static int cm_getpeer(struct fid_ep *fid, void *addr, size_t *len)
{
	struct xiw_fi_ep *ep = (struct xiw_fi_ep *)fid;

	return ep->remote_len ? xiw_fi_give_addr(&ep->remote, ep->remote_len, addr, len)
			      : -FI_ENOTCONN;
}

static struct fi_ops_cm cm_ops = {
	.size = sizeof(cm_ops),
	.setname = cm_setname,
	.getname = cm_getname,
	.getpeer = cm_getpeer,
	.connect = cm_connect,
	.listen = XIW_FI_NONE,
	.accept = cm_accept,
	.reject = XIW_FI_NONE,
	.shutdown = cm_shutdown,
	.join = XIW_FI_NONE,
};

/* ---- bind ------------------------------------------------------------------------------------------------------ */

static int bind_eq(struct xiw_fi_ep *ep, struct xiw_fi_eq *eq)
{
	if (ep->eq)
		return -FI_EINVAL;
	ep->eq = eq;
	__atomic_fetch_add(&eq->users, 1, __ATOMIC_RELAXED);
	return 0;
}

static int bind_cq(struct xiw_fi_ep *ep, struct xiw_fi_cq *cq, uint64_t flags)
{
	if (flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION) ||
	    !(flags & (FI_TRANSMIT | FI_RECV)))
		return -FI_EBADFLAGS;
	if (cq->domain != ep->domain || (flags & FI_TRANSMIT && ep->send_cq) ||
	    (flags & FI_RECV && ep->recv_cq))
		return -FI_EINVAL;
	if (flags & FI_TRANSMIT) {
		__atomic_fetch_add(&cq->users, 1, __ATOMIC_RELAXED);
		ep->send_cq = cq;
		ep->selective = flags & FI_SELECTIVE_COMPLETION;
	}
	if (flags & FI_RECV) {
		__atomic_fetch_add(&cq->users, 1, __ATOMIC_RELAXED);
		ep->recv_cq = cq;
		ep->recv_selective = flags & FI_SELECTIVE_COMPLETION;
	}
	return 0;
}

static int bind_srx(struct xiw_fi_ep *ep, struct xiw_fi_srx *srx)
{
	if (ep->srx || srx->domain != ep->domain)
		return -FI_EINVAL;
	ep->srx = srx;
	__atomic_fetch_add(&srx->users, 1, __ATOMIC_RELAXED);
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct xiw_fi_ep *ep = (struct xiw_fi_ep *)fid;

	if (ep->qp)
		return -FI_EOPBADSTATE;
	switch (other->fclass) {
	case FI_CLASS_EQ:
		return bind_eq(ep, (struct xiw_fi_eq *)other);
	case FI_CLASS_CQ:
		return bind_cq(ep, (struct xiw_fi_cq *)other, flags);
	case FI_CLASS_SRX_CTX:
		return bind_srx(ep, (struct xiw_fi_srx *)other);
	default:
		return -FI_ENOSYS;
	}
}

/* ---- open and close -------------------------------------------------------------------------------------------- */

static void leave_cq(struct xiw_fi_cq *cq)
{
	if (cq)
		__atomic_fetch_sub(&cq->users, 1, __ATOMIC_RELEASE);
}

/* What it is bound to may be closed from now on, but for its completion queues. */
static void unbind(const struct xiw_fi_ep *ep)
{
	if (ep->eq)
		__atomic_fetch_sub(&ep->eq->users, 1, __ATOMIC_RELEASE);
	if (ep->srx)
		__atomic_fetch_sub(&ep->srx->users, 1, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&ep->domain->users, 1, __ATOMIC_RELEASE);
}

static int ep_close(struct fid *fid)
{
	struct xiw_fi_ep *ep = (struct xiw_fi_ep *)fid;
	struct xiw_fi_cq *sends = ep->send_cq, *recvs = ep->recv_cq, *messages = NULL;
	struct xiw_fi_request *r;

	r = xiw_fi_request_take(ep->request);
	if (r) {
		xiw_host_reject(r->host, NULL, 0);
		free(r);
	}
	if (ep->qp) {
		/* What is posted still completes, as ofi_rxm takes for granted, which frees its buffers then. */
		xiw_host_qp_finish(ep->qp);
		if (sends && xiw_fi_cq_keep(sends, ep))
			messages = sends;
		if (recvs && xiw_fi_cq_keep(recvs, ep))
			messages = recvs;
		xiw_host_qp_free(ep->qp);
		ep->qp = NULL;
	}
	if (ep->eq)
		xiw_fi_eq_purge(ep->eq, fid);
	unbind(ep);
	/* Whoever digs it up frees it. */
	if (messages)
		xiw_fi_cq_bury(messages, ep);
	else
		free(ep);
	leave_cq(sends);
	leave_cq(recvs);
	return 0;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	(void)arg;
	return command == FI_ENABLE ? ep_enable((struct xiw_fi_ep *)fid) : -FI_ENOSYS;
}

static ssize_t size_left(struct fid_ep *fid, bool sends)
{
	struct xiw_fi_ep *ep = (struct xiw_fi_ep *)fid;
	struct xiw_host_qp_info info;

	if (!ep->qp)
		return -FI_EOPBADSTATE;
	xiw_host_qp_info(ep->qp, &info);
	return sends ? ep->send_depth - info.sends_posted : ep->recv_depth - info.recvs_posted;
}

static ssize_t rx_size_left(struct fid_ep *fid)
{
	return size_left(fid, false);
}

static ssize_t tx_size_left(struct fid_ep *fid)
{
	return size_left(fid, true);
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(ep_fid_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
	.ops_open = XIW_FI_NONE,
	.tostr = XIW_FI_NONE,
	.ops_set = XIW_FI_NONE,
};

static struct fi_ops_ep ep_ops = {
	.size = sizeof(ep_ops),
	.cancel = XIW_FI_NONE,
	.getopt = xiw_fi_getopt,
	.setopt = XIW_FI_NONE,
	.tx_ctx = XIW_FI_NONE,
	.rx_ctx = XIW_FI_NONE,
	.rx_size_left = rx_size_left,
	.tx_size_left = tx_size_left,
};

static unsigned int depth(size_t size)
{
	return size < 1 ? 1 : (unsigned int)size;
}

static void take_addr(const void *from, size_t from_len, struct sockaddr_storage *to,
		      socklen_t *len)
{
	if (!from || from_len > sizeof(*to))
		return;
	memcpy(to, from, from_len);
	*len = (socklen_t)from_len;
}

/* info->handle is a request to be accepted, or a passive endpoint whose address this one takes over. */
static int take_handle(struct xiw_fi_ep *ep, fid_t handle)
{
	struct xiw_fi_pep *pep = (struct xiw_fi_pep *)handle;
	size_t len = sizeof(ep->local);

	if (!handle)
		return 0;
	if (xiw_fi_request_is(handle)) {
		ep->request = handle;
		return 0;
	}
	if (handle->fclass != FI_CLASS_PEP || pep->listens)
		return -FI_EINVAL;
	if (pep->fid.cm->getname(handle, &ep->local, &len))
		return -FI_EINVAL;
	ep->local_len = (socklen_t)len;
	xiw_host_listener_free(pep->listener);
	pep->listener = NULL;
	return 0;
}

int xiw_fi_ep_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **ep, void *context)
{
	struct xiw_fi_domain *domain = (struct xiw_fi_domain *)fid;
	struct xiw_fi_ep *e;
	int err;

	if (!info->ep_attr || info->ep_attr->type != FI_EP_MSG || !info->tx_attr ||
	    !info->rx_attr || !xiw_fi_ep_fits(info))
		return -FI_EINVAL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -FI_ENOMEM;
	take_addr(info->src_addr, info->src_addrlen, &e->local, &e->local_len);
	take_addr(info->dest_addr, info->dest_addrlen, &e->remote, &e->remote_len);
	err = take_handle(e, info->handle);
	if (err) {
		free(e);
		return err;
	}
	e->fid.fid.fclass = FI_CLASS_EP;
	e->fid.fid.context = context;
	e->fid.fid.ops = &ep_fid_ops;
	e->fid.ops = &ep_ops;
	e->fid.cm = &cm_ops;
	e->fid.msg = &xiw_fi_msg_ops;
	e->fid.rma = &xiw_fi_rma_ops;
	e->fid.tagged = (void *)&xiw_fi_nothing;
	e->fid.atomic = (void *)&xiw_fi_nothing;
	e->fid.collective = (void *)&xiw_fi_nothing;
	e->domain = domain;
	e->op_flags = info->tx_attr->op_flags;
	e->recv_flags = info->rx_attr->op_flags;
	e->immediate = info->domain_attr && info->domain_attr->cq_data_size;
	e->send_depth = depth(info->tx_attr->size);
	e->recv_depth = depth(info->rx_attr->size);
	e->traffic_class = (uint8_t)(fi_tc_dscp_get(info->tx_attr->tclass) << 2);
	xiw_fi_flow_init(&e->flow);
	__atomic_fetch_add(&domain->users, 1, __ATOMIC_RELAXED);
	*ep = &e->fid;
	return 0;
}
