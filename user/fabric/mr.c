// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory regions: the key is the STag, and the tagged offset of an octet is its address (FI_MR_VIRT_ADDR). */
#include <stdlib.h>

#include "fabric/fabric.h"

struct region {
	struct fid_mr fid;
	struct xiw_fi_domain *domain;
	struct xiw_host_mr *host;
};

static int region_close(struct fid *fid)
{
	struct region *r = (struct region *)fid;

	xiw_host_mr_free(r->host);
	__atomic_fetch_sub(&r->domain->users, 1, __ATOMIC_RELEASE);
	free(r);
	return 0;
}

static struct fi_ops region_fid_ops = {
	.size = sizeof(region_fid_ops),
	.close = region_close,
	.bind = XIW_FI_NONE,
	.control = XIW_FI_NONE,
	.ops_open = XIW_FI_NONE,
	.tostr = XIW_FI_NONE,
	.ops_set = XIW_FI_NONE,
};

#define ACCESS (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

static unsigned int rights(uint64_t access)
{
	return (access & (FI_RECV | FI_READ) ? XIW_HOST_LOCAL_WRITE : 0) |
	       (access & FI_REMOTE_READ ? XIW_HOST_REMOTE_READ : 0) |
	       (access & FI_REMOTE_WRITE ? XIW_HOST_REMOTE_WRITE : 0);
}

static int register_region(struct xiw_fi_domain *domain, const struct iovec *iov, size_t count,
			   uint64_t access, uint64_t offset, uint64_t flags, struct fid_mr **mr,
			   void *context)
{
	struct region *r;
	int err;

	if (flags)
		return -FI_EBADFLAGS;
	/* fi_mr(3): the offset is reserved, and must be 0. */
	if (count != 1 || offset || access & ~ACCESS)
		return -FI_EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -FI_ENOMEM;
	err = xiw_host_mr_register(domain->pd, iov->iov_base, iov->iov_len,
				   (uintptr_t)iov->iov_base, rights(access), &r->host);
	if (err) {
		free(r);
		return err;
	}
	r->domain = domain;
	r->fid.fid.fclass = FI_CLASS_MR;
	r->fid.fid.context = context;
	r->fid.fid.ops = &region_fid_ops;
	r->fid.mem_desc = r;
	r->fid.key = xiw_host_mr_stag(r->host);
	__atomic_fetch_add(&domain->users, 1, __ATOMIC_RELAXED);
	*mr = &r->fid;
	return 0;
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
		  uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
	const struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };

	(void)key; /* FI_MR_PROV_KEY */
	return register_region((struct xiw_fi_domain *)fid, &iov, 1, access, offset, flags, mr,
			       context);
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		   uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
	(void)key;
	return register_region((struct xiw_fi_domain *)fid, iov, count, access, offset, flags, mr,
			       context);
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		      struct fid_mr **mr)
{
	if (attr->auth_key_size)
		return -FI_EINVAL;
	return register_region((struct xiw_fi_domain *)fid, attr->mr_iov, attr->iov_count,
			       attr->access, attr->offset, flags, mr, attr->context);
}

struct fi_ops_mr xiw_fi_mr_ops = {
	.size = sizeof(xiw_fi_mr_ops),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};
