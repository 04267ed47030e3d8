// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What devices of ours do not have: address handles and multicast (iWARP has connections only), objects shared with
 * another process, device memory. The real library must not see our objects: it would take them for its own.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>

#include "verbs/theirs.h"
#include "verbs/verbs.h"

/* REFUSE(type, what is returned, errno, name, (parameters), (arguments), the context of the object) */
#define REFUSE(type, refusal, why, name, parameters, arguments, context)                           \
	XIW_INTERPOSE type name parameters                                                         \
	{                                                                                          \
		if (!xiw_is_context(context))                                                      \
			return XIW_REAL(name) arguments;                                           \
		errno = (why);                                                                     \
		return (refusal);                                                                  \
	}

#define NO EOPNOTSUPP

REFUSE(struct ibv_ah *, NULL, NO, ibv_create_ah, (struct ibv_pd * pd, struct ibv_ah_attr *attr),
       (pd, attr), pd->context)
REFUSE(struct ibv_ah *, NULL, NO, ibv_create_ah_from_wc,
       (struct ibv_pd * pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num),
       (pd, wc, grh, port_num), pd->context)
REFUSE(int, -1, NO, ibv_init_ah_from_wc,
       (struct ibv_context * context, uint8_t port_num, struct ibv_wc *wc, struct ibv_grh *grh,
	struct ibv_ah_attr *attr),
       (context, port_num, wc, grh, attr), context)
REFUSE(int, NO, NO, ibv_destroy_ah, (struct ibv_ah * ah), (ah), ah->context)
REFUSE(int, NO, NO, ibv_attach_mcast, (struct ibv_qp * qp, const union ibv_gid *gid, uint16_t lid),
       (qp, gid, lid), qp->context)
REFUSE(int, NO, NO, ibv_detach_mcast, (struct ibv_qp * qp, const union ibv_gid *gid, uint16_t lid),
       (qp, gid, lid), qp->context)
REFUSE(int, NO, NO, ibv_resolve_eth_l2_from_gid,
       (struct ibv_context * context, struct ibv_ah_attr *attr, uint8_t mac[6], uint16_t *vid),
       (context, attr, mac, vid), context)

REFUSE(struct ibv_pd *, NULL, NO, ibv_import_pd, (struct ibv_context * context, uint32_t handle),
       (context, handle), context)
REFUSE(struct ibv_mr *, NULL, NO, ibv_import_mr, (struct ibv_pd * pd, uint32_t handle),
       (pd, handle), pd->context)
REFUSE(struct ibv_dm *, NULL, NO, ibv_import_dm, (struct ibv_context * context, uint32_t handle),
       (context, handle), context)
REFUSE(struct ibv_mr *, NULL, NO, ibv_reg_dmabuf_mr,
       (struct ibv_pd * pd, uint64_t offset, size_t len, uint64_t iova, int fd, int access),
       (pd, offset, len, iova, fd, access), pd->context)
REFUSE(int, IBV_REREG_MR_ERR_INPUT, NO, ibv_rereg_mr,
       (struct ibv_mr * mr, int flags, struct ibv_pd *pd, void *addr, size_t len, int access),
       (mr, flags, pd, addr, len, access), mr->context)

/* No queue pair of ours has the calls of ibv_wr_start() and its like: programs then post lists of requests. */
REFUSE(struct ibv_qp_ex *, NULL, NO, ibv_qp_to_qp_ex, (struct ibv_qp * qp), (qp), qp->context)
REFUSE(int, 0, 0, ibv_query_qp_data_in_order,
       (struct ibv_qp * qp, enum ibv_wr_opcode op, uint32_t flags), (qp, op, flags), qp->context)
REFUSE(int, NO, NO, ibv_query_ece, (struct ibv_qp * qp, struct ibv_ece *ece), (qp, ece),
       qp->context)
REFUSE(int, NO, NO, ibv_set_ece, (struct ibv_qp * qp, struct ibv_ece *ece), (qp, ece), qp->context)

/* ---- librdmacm: what identifiers of ours do not do -------------------------------------------------------- */

static int refused(int why)
{
	errno = why;
	return -1;
}

XIW_INTERPOSE int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	PASS_ON(id, rdma_join_multicast, addr, context);
	return refused(NO);
}

XIW_INTERPOSE int rdma_join_multicast_ex(struct rdma_cm_id *id,
					 struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	PASS_ON(id, rdma_join_multicast_ex, attr, context);
	return refused(NO);
}

XIW_INTERPOSE int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	PASS_ON(id, rdma_leave_multicast, addr);
	return refused(NO);
}

XIW_INTERPOSE int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	PASS_ON(id, rdma_set_local_ece, ece);
	return refused(NO);
}

XIW_INTERPOSE int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	PASS_ON(id, rdma_get_remote_ece, ece);
	return refused(NO);
}

/* rsockets use the inside of librdmacm. Without one, its other functions have nothing of ours to work on. */
XIW_INTERPOSE int rsocket(int domain, int type, int protocol)
{
	(void)domain, (void)type, (void)protocol;
	return refused(ENODEV);
}
