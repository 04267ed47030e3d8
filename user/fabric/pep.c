// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Passive endpoints: listeners, which are bound as soon as somebody asks for their address. */
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"

/* ---- addresses ------------------------------------------------------------------------------------------------- */

static int bind_it(struct xiw_fi_pep *pep)
{
	const struct sockaddr_in any = { .sin_family = AF_INET };
	const void *addr = pep->addr_len ? (const void *)&pep->addr : &any;
	int err = 0;

	if (!pep->listener)
		err = xiw_host_bind(addr, xiw_fi_addr_len(addr), XIW_HOST_V6ONLY_DEFAULT,
				    pep->eq ? pep->eq->host : pep->fabric->unbound, &pep->fid.fid,
				    &pep->listener);
	return err ? err : xiw_host_listener_addr(pep->listener, &pep->addr, &pep->addr_len);
}

static int pep_setname(fid_t fid, void *addr, size_t len)
{
	struct xiw_fi_pep *pep = (struct xiw_fi_pep *)fid;

	if (pep->listens)
		return -FI_EBUSY;
	if (len < xiw_fi_addr_len(addr))
		return -FI_EINVAL;
	xiw_host_listener_free(pep->listener);
	pep->listener = NULL;
	pep->addr_len = xiw_fi_addr_len(addr);
	memcpy(&pep->addr, addr, pep->addr_len);
	return 0;
}

static int pep_getname(fid_t fid, void *addr, size_t *len)
{
	struct xiw_fi_pep *pep = (struct xiw_fi_pep *)fid;
	int err = bind_it(pep);

	return err ? err : xiw_fi_give_addr(&pep->addr, pep->addr_len, addr, len);
}

/* ---- listening --------------------------------------------------------------------------------------------------- */

static int pep_listen(struct fid_pep *fid)
{
	struct xiw_fi_pep *pep = (struct xiw_fi_pep *)fid;
	int err = pep->eq ? bind_it(pep) : -FI_ENOEQ;

	if (!err)
		err = xiw_host_listen(pep->listener, pep->backlog);
	if (!err)
		pep->listens = true;
	return err;
}

/* FI_BACKLOG counts for fi_listen(), as with libfabric's own provider for verbs. */
static int pep_control(struct fid *fid, int command, void *arg)
{
	struct xiw_fi_pep *pep = (struct xiw_fi_pep *)fid;

	if (command != FI_BACKLOG)
		return -FI_ENOSYS;
	if (!arg || *(int *)arg < 0)
		return -FI_EINVAL;
	if (pep->listens)
		return -FI_EBUSY;
	pep->backlog = *(int *)arg;
	return 0;
}

static int pep_reject(struct fid_pep *fid, fid_t handle, const void *param, size_t len)
{
	struct xiw_fi_request *r;
	struct xiw_fi_frame frame;
	int err = xiw_fi_frame(&frame, param, len);

	(void)fid;
	if (err)
		return err;
	r = xiw_fi_request_take(handle);
	if (!r)
		return -FI_EINVAL;
	err = xiw_host_reject(r->host, frame.octets, frame.len);
	free(r);
	return err;
}

static int pep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct xiw_fi_pep *pep = (struct xiw_fi_pep *)fid;
	struct xiw_fi_eq *eq = (struct xiw_fi_eq *)other;
	int err = 0;

	if (other->fclass != FI_CLASS_EQ || pep->eq || flags)
		return -FI_EINVAL;
	if (pep->listener)
		err = xiw_host_listener_move(pep->listener, eq->host);
	if (err)
		return err;
	pep->eq = eq;
	__atomic_fetch_add(&eq->users, 1, __ATOMIC_RELAXED);
	return 0;
}

static int pep_close(struct fid *fid)
{
	struct xiw_fi_pep *pep = (struct xiw_fi_pep *)fid;

	xiw_host_listener_free(pep->listener);
	if (pep->eq) {
		xiw_fi_eq_purge(pep->eq, fid);
		__atomic_fetch_sub(&pep->eq->users, 1, __ATOMIC_RELEASE);
	}
	__atomic_fetch_sub(&pep->fabric->users, 1, __ATOMIC_RELEASE);
	fi_freeinfo(pep->info);
	free(pep);
	return 0;
}

static struct fi_ops pep_fid_ops = {
	.size = sizeof(pep_fid_ops),
	.close = pep_close,
	.bind = pep_bind,
	.control = pep_control,
	.ops_open = XIW_FI_NONE,
	.tostr = XIW_FI_NONE,
	.ops_set = XIW_FI_NONE,
};

static struct fi_ops_ep pep_ops = {
	.size = sizeof(pep_ops),
	.cancel = XIW_FI_NONE,
	.getopt = xiw_fi_getopt,
	.setopt = XIW_FI_NONE,
	.tx_ctx = XIW_FI_NONE,
	.rx_ctx = XIW_FI_NONE,
	.rx_size_left = XIW_FI_NONE,
	.tx_size_left = XIW_FI_NONE,
};

static struct fi_ops_cm pep_cm_ops = {
	.size = sizeof(pep_cm_ops),
	.setname = pep_setname,
	.getname = pep_getname,
	.getpeer = XIW_FI_NONE,
	.connect = XIW_FI_NONE,
	.listen = pep_listen,
	.accept = XIW_FI_NONE,
	.reject = pep_reject,
	.shutdown = XIW_FI_NONE,
	.join = XIW_FI_NONE,
};

int xiw_fi_pep_open(struct fid_fabric *fid, struct fi_info *info, struct fid_pep **pep,
		    void *context)
{
	struct xiw_fi_fabric *fabric = (struct xiw_fi_fabric *)fid;
	struct xiw_fi_pep *p = calloc(1, sizeof(*p));

	if (!p)
		return -FI_ENOMEM;
	p->info = xiw_fi_info_copy(info);
	if (!p->info) {
		free(p);
		return -FI_ENOMEM;
	}
	if (info->src_addr && info->src_addrlen <= sizeof(p->addr)) {
		memcpy(&p->addr, info->src_addr, info->src_addrlen);
		p->addr_len = (socklen_t)info->src_addrlen;
	}
	p->fid.fid.fclass = FI_CLASS_PEP;
	p->fid.fid.context = context;
	p->fid.fid.ops = &pep_fid_ops;
	p->fid.ops = &pep_ops;
	p->fid.cm = &pep_cm_ops;
	p->fabric = fabric;
	__atomic_fetch_add(&fabric->users, 1, __ATOMIC_RELAXED);
	*pep = &p->fid;
	return 0;
}
