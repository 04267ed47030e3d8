// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Protection domains and memory regions. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/mr.h"
#include "verbs/objects.h"
#include "verbs/ops.h"
#include "verbs/verbs.h"

#define REMOTE_CHANGES (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
#define ACCESS_KNOWN                                                                               \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB |                   \
	 IBV_ACCESS_ON_DEMAND | IBV_ACCESS_OPTIONAL_RANGE)

XIW_INTERPOSE struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct xiw_pd *pd;

	if (!xiw_is_context(context))
		return XIW_REAL(ibv_alloc_pd)(context);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return xiw_refuse(-ENOMEM);
	pd->ibv.context = context;
	pd->number = xiw_host_pd();
	pd->ibv.handle = pd->number;
	return &pd->ibv;
}

XIW_INTERPOSE int ibv_dealloc_pd(struct ibv_pd *pd)
{
	if (!xiw_is_context(pd->context))
		return XIW_REAL(ibv_dealloc_pd)(pd);
	if (atomic_load(&xiw_pd(pd)->users))
		return EBUSY;
	free(pd);
	return 0;
}

unsigned int xiw_access_of(unsigned int ibv)
{
	return (ibv & IBV_ACCESS_LOCAL_WRITE ? XIW_HOST_LOCAL_WRITE : 0) |
	       (ibv & IBV_ACCESS_REMOTE_WRITE ? XIW_HOST_REMOTE_WRITE : 0) |
	       (ibv & IBV_ACCESS_REMOTE_READ ? XIW_HOST_REMOTE_READ : 0) |
	       (ibv & IBV_ACCESS_REMOTE_ATOMIC ? XIW_HOST_REMOTE_ATOMIC : 0);
}

unsigned int xiw_ibv_access_of(unsigned int host)
{
	return (host & XIW_HOST_LOCAL_WRITE ? IBV_ACCESS_LOCAL_WRITE : 0) |
	       (host & XIW_HOST_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (host & XIW_HOST_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0) |
	       (host & XIW_HOST_REMOTE_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			     unsigned int access)
{
	struct xiw_mr *mr;
	int rc;

	if (access & ~(unsigned int)ACCESS_KNOWN)
		return xiw_refuse(-EOPNOTSUPP);
	/* What the peer may change must be changeable here, too: as the kernel has it. */
	if (access & REMOTE_CHANGES && !(access & IBV_ACCESS_LOCAL_WRITE))
		return xiw_refuse(-EINVAL);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return xiw_refuse(-ENOMEM);
	rc = xiw_host_mr_register(
		xiw_pd(pd)->number, addr, length, access & IBV_ACCESS_ZERO_BASED ? 0 : iova,
		xiw_access_of(access) | (access & IBV_ACCESS_ON_DEMAND ? XIW_HOST_ON_DEMAND : 0),
		&mr->host);
	if (rc) {
		free(mr);
		return xiw_refuse(rc);
	}
	atomic_fetch_add(&xiw_pd(pd)->users, 1);
	mr->ibv = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = addr,
		.length = length,
		.handle = xiw_host_mr_stag(mr->host),
		.lkey = xiw_host_mr_stag(mr->host),
		.rkey = xiw_host_mr_stag(mr->host),
	};
	return &mr->ibv;
}

#undef ibv_reg_mr
XIW_INTERPOSE struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	if (!xiw_is_context(pd->context))
		return XIW_REAL(ibv_reg_mr)(pd, addr, length, access);
	return reg_mr(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

#undef ibv_reg_mr_iova
XIW_INTERPOSE struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
					     uint64_t iova, int access)
{
	if (!xiw_is_context(pd->context))
		return XIW_REAL(ibv_reg_mr_iova)(pd, addr, length, iova, access);
	return reg_mr(pd, addr, length, iova, (unsigned int)access);
}

XIW_INTERPOSE struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
					      uint64_t iova, unsigned int access)
{
	if (!xiw_is_context(pd->context))
		return XIW_REAL(ibv_reg_mr_iova2)(pd, addr, length, iova, access);
	return reg_mr(pd, addr, length, iova, access);
}

XIW_INTERPOSE int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct xiw_mr *m = (struct xiw_mr *)mr;
	int rc;

	if (!xiw_is_context(mr->context))
		return XIW_REAL(ibv_dereg_mr)(mr);
	rc = xiw_host_mr_free(m->host);
	if (rc)
		return -rc;
	atomic_fetch_sub(&xiw_pd(mr->pd)->users, 1);
	free(m);
	return 0;
}

/*
 * Memory may be on demand here: a page comes when it is touched. The advice has it come now. Where that fails, nothing
 * has changed, which is no error.
 */
static int advise(const struct xiw_pd *pd, const struct ibv_sge *sge, bool write)
{
	const struct xiw_host_sge_rules rules = { .pd = pd->number, .max = 1 };
	const struct xiw_host_sge s = { (void *)(uintptr_t)sge->addr, sge->length, sge->lkey };
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	struct xiw_host_seen seen = {};
	struct iovec iov;
	uintptr_t from;

	if (!sge->length || xiw_host_pieces(&s, 1, &rules, write, &seen, &iov) < 0)
		return EINVAL;
	from = (uintptr_t)iov.iov_base & ~page;
	madvise((void *)from, (uintptr_t)iov.iov_base + iov.iov_len - from,
		write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	return 0;
}

int xiw_verbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
			struct ibv_sge *sges, uint32_t n)
{
	const bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	int rc = 0;

	if (!write && advice != IBV_ADVISE_MR_ADVICE_PREFETCH &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return EOPNOTSUPP;
	if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH || !n)
		return EINVAL;
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = advise(xiw_pd(pd), &sges[i], write);
	return rc;
}
