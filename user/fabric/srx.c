// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Shared receive contexts: buffers for the messages of several endpoints. */
#include <stdlib.h>

#include "fabric/fabric.h"

static int srx_close(struct fid *fid)
{
	struct xiw_fi_srx *srx = (struct xiw_fi_srx *)fid;
	int err;

	if (__atomic_load_n(&srx->users, __ATOMIC_ACQUIRE))
		return -FI_EBUSY;
	err = xiw_host_srq_free(srx->host);
	if (err)
		return err;
	__atomic_fetch_sub(&srx->domain->users, 1, __ATOMIC_RELEASE);
	free(srx);
	return 0;
}

static struct fi_ops srx_fid_ops = {
	.size = sizeof(srx_fid_ops),
	.close = srx_close,
	.bind = XIW_FI_NONE,
	.control = XIW_FI_NONE,
	.ops_open = XIW_FI_NONE,
	.tostr = XIW_FI_NONE,
	.ops_set = XIW_FI_NONE,
};

int xiw_fi_srx_open(struct fid_domain *fid, struct fi_rx_attr *attr, struct fid_ep **ep,
		    void *context)
{
	struct xiw_fi_domain *domain = (struct xiw_fi_domain *)fid;
	const struct xiw_host_srq_opts opts = {
		.pd = domain->pd,
		.depth = attr->size ? (unsigned int)attr->size : 1,
		.sge = XIW_FI_IOV_MAX,
		.unchecked = true,
	};
	struct xiw_fi_srx *srx;
	int err;

	if (!xiw_fi_rx_fits(attr))
		return -FI_EINVAL;
	srx = calloc(1, sizeof(*srx));
	if (!srx)
		return -FI_ENOMEM;
	err = xiw_host_srq_create(&opts, &srx->host);
	if (err) {
		free(srx);
		return err;
	}
	srx->fid.fid.fclass = FI_CLASS_SRX_CTX;
	srx->fid.fid.context = context;
	srx->fid.fid.ops = &srx_fid_ops;
	srx->fid.ops = (void *)&xiw_fi_nothing;
	srx->fid.cm = (void *)&xiw_fi_nothing;
	srx->fid.rma = (void *)&xiw_fi_nothing;
	srx->fid.tagged = (void *)&xiw_fi_nothing;
	srx->fid.atomic = (void *)&xiw_fi_nothing;
	srx->fid.collective = (void *)&xiw_fi_nothing;
	srx->fid.msg = &xiw_fi_srx_msg_ops;
	srx->domain = domain;
	srx->recv_flags = attr->op_flags;
	__atomic_fetch_add(&domain->users, 1, __ATOMIC_RELAXED);
	*ep = &srx->fid;
	return 0;
}
