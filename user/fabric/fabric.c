// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The provider, its fabric and its domains. */
#include "fabric/fabric.h"

#include <stdlib.h>
#include <string.h>

#include <rdma/providers/fi_prov.h>

/* ---- domain ------------------------------------------------------------------------------------------------ */

static int domain_close(struct fid *fid)
{
	struct xiw_fi_domain *domain = (struct xiw_fi_domain *)fid;

	if (__atomic_load_n(&domain->users, __ATOMIC_ACQUIRE))
		return -FI_EBUSY;
	__atomic_fetch_sub(&domain->fabric->users, 1, __ATOMIC_RELEASE);
	free(domain);
	return 0;
}

static int domain_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
			   void *context)
{
	(void)fid;
	(void)context;
	return xiw_fi_flow_open(name, flags, ops);
}

static struct fi_ops domain_fid_ops = {
	.size = sizeof(domain_fid_ops),
	.close = domain_close,
	.bind = XIW_FI_NONE,
	.control = XIW_FI_NONE,
	.ops_open = domain_ops_open,
	.tostr = XIW_FI_NONE,
	.ops_set = XIW_FI_NONE,
};

static int endpoint2(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		     uint64_t flags, void *context)
{
	return flags ? -FI_ENOSYS : xiw_fi_ep_open(domain, info, ep, context);
}

static struct fi_ops_domain domain_ops = {
	.size = sizeof(domain_ops),
	.av_open = XIW_FI_NONE,
	.cq_open = xiw_fi_cq_open,
	.endpoint = xiw_fi_ep_open,
	.scalable_ep = XIW_FI_NONE,
	.cntr_open = XIW_FI_NONE,
	.poll_open = XIW_FI_NONE,
	.stx_ctx = XIW_FI_NONE,
	.srx_ctx = xiw_fi_srx_open,
	.query_atomic = XIW_FI_NONE,
	.query_collective = XIW_FI_NONE,
	.endpoint2 = endpoint2,
};

static int domain_open(struct fid_fabric *fid, struct fi_info *info, struct fid_domain **domain,
		       void *context)
{
	struct xiw_fi_fabric *fabric = (struct xiw_fi_fabric *)fid;
	struct xiw_fi_domain *d;

	if (!info->domain_attr || !info->domain_attr->name)
		return -FI_EINVAL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -FI_ENOMEM;
	d->fid.fid.fclass = FI_CLASS_DOMAIN;
	d->fid.fid.context = context;
	d->fid.fid.ops = &domain_fid_ops;
	d->fid.ops = &domain_ops;
	d->fid.mr = &xiw_fi_mr_ops;
	d->fabric = fabric;
	d->pd = xiw_host_pd();
	__atomic_fetch_add(&fabric->users, 1, __ATOMIC_RELAXED);
	*domain = &d->fid;
	return 0;
}

static int domain2(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		   uint64_t flags, void *context)
{
	return flags ? -FI_ENOSYS : domain_open(fabric, info, domain, context);
}

/* ---- fabric ------------------------------------------------------------------------------------------------ */

static int fabric_close(struct fid *fid)
{
	struct xiw_fi_fabric *fabric = (struct xiw_fi_fabric *)fid;

	if (__atomic_load_n(&fabric->users, __ATOMIC_ACQUIRE))
		return -FI_EBUSY;
	xiw_host_eq_free(fabric->unbound);
	free(fabric);
	return 0;
}

static int trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int err = 0;

	(void)fabric;
	for (int i = 0; i < count && !err; i++) {
		if (fids[i]->fclass == FI_CLASS_EQ)
			err = xiw_fi_eq_trywait((struct xiw_fi_eq *)fids[i]);
		else if (fids[i]->fclass == FI_CLASS_CQ)
			err = xiw_fi_cq_trywait((struct xiw_fi_cq *)fids[i]);
		else
			err = -FI_EINVAL;
	}
	return err;
}

static struct fi_ops fabric_fid_ops = {
	.size = sizeof(fabric_fid_ops),
	.close = fabric_close,
	.bind = XIW_FI_NONE,
	.control = XIW_FI_NONE,
	.ops_open = XIW_FI_NONE,
	.tostr = XIW_FI_NONE,
	.ops_set = XIW_FI_NONE,
};

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(fabric_ops),
	.domain = domain_open,
	.passive_ep = xiw_fi_pep_open,
	.eq_open = xiw_fi_eq_open,
	.wait_open = XIW_FI_NONE,
	.trywait = trywait,
	.domain2 = domain2,
};

static int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	struct xiw_fi_fabric *f;
	int err;

	if (attr->name && strcmp(attr->name, XIW_FI_FABRIC_NAME))
		return -FI_ENODATA;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -FI_ENOMEM;
	err = xiw_host_eq_create(&f->unbound);
	if (err) {
		free(f);
		return err;
	}
	f->fid.fid.fclass = FI_CLASS_FABRIC;
	f->fid.fid.context = context;
	f->fid.fid.ops = &fabric_fid_ops;
	f->fid.ops = &fabric_ops;
	*fabric = &f->fid;
	return 0;
}

/* ---- provider ---------------------------------------------------------------------------------------------- */

static void cleanup(void)
{
}

/* Of the connections that the program has closed. */
__attribute__((destructor)) static void report(void)
{
	xiw_host_report();
}

static struct fi_provider provider = {
	.version = FI_VERSION(0, 1),
	.name = "xiwarp",
	.getinfo = xiw_fi_getinfo,
	.fabric = fabric_open,
	.cleanup = cleanup,
};

/* The entry, by fi_provider(3). */
FI_EXT_INI;

FI_EXT_INI
{
	/* libfabric leaves out a provider that knows less than the application asks for. This one works with all. */
	provider.fi_version = fi_version();
	return &provider;
}
