// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The functions of which the numbers tell enough. */
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>

#include "trace/trace.h"

#define A1(a) (uintptr_t)(a)
#define A2(a, b) A1(a), A1(b)
#define A3(a, ...) A1(a), A2(__VA_ARGS__)
#define A4(a, ...) A1(a), A3(__VA_ARGS__)
#define A5(a, ...) A1(a), A4(__VA_ARGS__)
#define A6(a, ...) A1(a), A5(__VA_ARGS__)

/* TRACE_...(name, (parameters), how many, arguments): what returns a number, a pointer of a type, or nothing. */
#define TRACE_INT(name, parameters, n, ...)                                                        \
	XIW_TRACED int name parameters                                                             \
	{                                                                                          \
		char text[64];                                                                     \
		int rc = XIW_NEXT(name)(__VA_ARGS__);                                              \
                                                                                                   \
		xiw_trace_call(#name, (uintptr_t[]){ A##n(__VA_ARGS__) }, n,                       \
			       xiw_trace_int(text, sizeof(text), rc));                             \
		return rc;                                                                         \
	}
#define TRACE_PTR(type, name, parameters, n, ...)                                                  \
	XIW_TRACED type *name parameters                                                           \
	{                                                                                          \
		char text[64];                                                                     \
		type *result = XIW_NEXT(name)(__VA_ARGS__);                                        \
                                                                                                   \
		xiw_trace_call(#name, (uintptr_t[]){ A##n(__VA_ARGS__) }, n,                       \
			       xiw_trace_pointer(text, sizeof(text), result));                     \
		return result;                                                                     \
	}
#define TRACE_VOID(name, parameters, n, ...)                                                       \
	XIW_TRACED void name parameters                                                            \
	{                                                                                          \
		xiw_trace_call(#name, (uintptr_t[]){ A##n(__VA_ARGS__) }, n, "");                  \
		XIW_NEXT(name)(__VA_ARGS__);                                                       \
	}

#define ID struct rdma_cm_id *id

TRACE_PTR(struct ibv_device *, ibv_get_device_list, (int *n), 1, n)
TRACE_INT(ibv_close_device, (struct ibv_context * context), 1, context)
TRACE_INT(ibv_query_device, (struct ibv_context * context, struct ibv_device_attr *attr), 2,
	  context, attr)
TRACE_INT(ibv_query_gid,
	  (struct ibv_context * context, uint8_t port, int index, union ibv_gid *gid), 4, context,
	  port, index, gid)
#undef ibv_query_port
TRACE_INT(ibv_query_port,
	  (struct ibv_context * context, uint8_t port, struct _compat_ibv_port_attr *attr), 3,
	  context, port, attr)
TRACE_INT(ibv_query_pkey, (struct ibv_context * context, uint8_t port, int index, __be16 *pkey), 4,
	  context, port, index, pkey)
TRACE_INT(ibv_get_pkey_index, (struct ibv_context * context, uint8_t port, __be16 pkey), 3, context,
	  port, pkey)
TRACE_INT(_ibv_query_gid_ex,
	  (struct ibv_context * context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry,
	   uint32_t flags, size_t size),
	  6, context, port, index, entry, flags, size)
/* No header has it. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
		       unsigned int *type);
TRACE_INT(ibv_query_gid_type,
	  (struct ibv_context * context, uint8_t port, unsigned int index, unsigned int *type), 4,
	  context, port, index, type)

TRACE_PTR(struct ibv_pd, ibv_alloc_pd, (struct ibv_context * context), 1, context)
TRACE_INT(ibv_dealloc_pd, (struct ibv_pd * pd), 1, pd)
#undef ibv_reg_mr
TRACE_PTR(struct ibv_mr, ibv_reg_mr, (struct ibv_pd * pd, void *addr, size_t len, int access), 4,
	  pd, addr, len, access)
TRACE_PTR(struct ibv_mr, ibv_reg_mr_iova2,
	  (struct ibv_pd * pd, void *addr, size_t len, uint64_t iova, unsigned int access), 5, pd,
	  addr, len, iova, access)
#undef ibv_reg_mr_iova
TRACE_PTR(struct ibv_mr, ibv_reg_mr_iova,
	  (struct ibv_pd * pd, void *addr, size_t len, uint64_t iova, int access), 5, pd, addr, len,
	  iova, access)
TRACE_PTR(struct ibv_mr, ibv_reg_dmabuf_mr,
	  (struct ibv_pd * pd, uint64_t offset, size_t len, uint64_t iova, int fd, int access), 6,
	  pd, offset, len, iova, fd, access)
TRACE_INT(ibv_rereg_mr,
	  (struct ibv_mr * mr, int flags, struct ibv_pd *pd, void *addr, size_t len, int access), 6,
	  mr, flags, pd, addr, len, access)
TRACE_INT(ibv_dereg_mr, (struct ibv_mr * mr), 1, mr)
TRACE_PTR(struct ibv_pd, ibv_import_pd, (struct ibv_context * context, uint32_t handle), 2, context,
	  handle)
TRACE_PTR(struct ibv_mr, ibv_import_mr, (struct ibv_pd * pd, uint32_t handle), 2, pd, handle)
TRACE_PTR(struct ibv_dm, ibv_import_dm, (struct ibv_context * context, uint32_t handle), 2, context,
	  handle)

TRACE_PTR(struct ibv_comp_channel, ibv_create_comp_channel, (struct ibv_context * context), 1,
	  context)
TRACE_INT(ibv_destroy_comp_channel, (struct ibv_comp_channel * channel), 1, channel)
TRACE_PTR(struct ibv_cq, ibv_create_cq,
	  (struct ibv_context * context, int cqe, void *cq_context,
	   struct ibv_comp_channel *channel, int vector),
	  5, context, cqe, cq_context, channel, vector)
TRACE_INT(ibv_resize_cq, (struct ibv_cq * cq, int cqe), 2, cq, cqe)
TRACE_INT(ibv_destroy_cq, (struct ibv_cq * cq), 1, cq)
TRACE_INT(ibv_get_cq_event,
	  (struct ibv_comp_channel * channel, struct ibv_cq **cq, void **cq_context), 3, channel,
	  cq, cq_context)
TRACE_VOID(ibv_ack_cq_events, (struct ibv_cq * cq, unsigned int n), 2, cq, n)
TRACE_INT(ibv_get_async_event, (struct ibv_context * context, struct ibv_async_event *event), 2,
	  context, event)

TRACE_PTR(struct ibv_srq, ibv_create_srq, (struct ibv_pd * pd, struct ibv_srq_init_attr *attr), 2,
	  pd, attr)
TRACE_INT(ibv_query_srq, (struct ibv_srq * srq, struct ibv_srq_attr *attr), 2, srq, attr)
TRACE_INT(ibv_modify_srq, (struct ibv_srq * srq, struct ibv_srq_attr *attr, int mask), 3, srq, attr,
	  mask)
TRACE_INT(ibv_destroy_srq, (struct ibv_srq * srq), 1, srq)
TRACE_PTR(struct ibv_qp, ibv_create_qp, (struct ibv_pd * pd, struct ibv_qp_init_attr *attr), 2, pd,
	  attr)
TRACE_INT(ibv_query_qp,
	  (struct ibv_qp * qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init),
	  4, qp, attr, mask, init)
TRACE_INT(ibv_destroy_qp, (struct ibv_qp * qp), 1, qp)
TRACE_PTR(struct ibv_qp_ex, ibv_qp_to_qp_ex, (struct ibv_qp * qp), 1, qp)
TRACE_INT(ibv_query_ece, (struct ibv_qp * qp, struct ibv_ece *ece), 2, qp, ece)
TRACE_INT(ibv_set_ece, (struct ibv_qp * qp, struct ibv_ece *ece), 2, qp, ece)
TRACE_INT(ibv_attach_mcast, (struct ibv_qp * qp, const union ibv_gid *gid, uint16_t lid), 3, qp,
	  gid, lid)
TRACE_INT(ibv_detach_mcast, (struct ibv_qp * qp, const union ibv_gid *gid, uint16_t lid), 3, qp,
	  gid, lid)
TRACE_PTR(struct ibv_ah, ibv_create_ah, (struct ibv_pd * pd, struct ibv_ah_attr *attr), 2, pd, attr)
TRACE_PTR(struct ibv_ah, ibv_create_ah_from_wc,
	  (struct ibv_pd * pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port), 4, pd, wc,
	  grh, port)
TRACE_INT(ibv_init_ah_from_wc,
	  (struct ibv_context * context, uint8_t port, struct ibv_wc *wc, struct ibv_grh *grh,
	   struct ibv_ah_attr *attr),
	  5, context, port, wc, grh, attr)
TRACE_INT(ibv_destroy_ah, (struct ibv_ah * ah), 1, ah)
TRACE_INT(ibv_resolve_eth_l2_from_gid,
	  (struct ibv_context * context, struct ibv_ah_attr *attr, uint8_t mac[6], uint16_t *vid),
	  4, context, attr, mac, vid)

TRACE_PTR(struct ibv_context *, rdma_get_devices, (int *n), 1, n)
XIW_TRACED struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *channel = XIW_NEXT(rdma_create_event_channel)();
	char text[64];

	xiw_trace_call("rdma_create_event_channel", NULL, 0,
		       xiw_trace_pointer(text, sizeof(text), channel));
	return channel;
}
TRACE_VOID(rdma_destroy_event_channel, (struct rdma_event_channel * channel), 1, channel)
TRACE_INT(rdma_create_id,
	  (struct rdma_event_channel * channel, struct rdma_cm_id **id, void *context,
	   enum rdma_port_space ps),
	  4, channel, id, context, ps)
TRACE_INT(rdma_destroy_id, (ID), 1, id)
TRACE_INT(rdma_create_ep,
	  (struct rdma_cm_id * *id, struct rdma_addrinfo *res, struct ibv_pd *pd,
	   struct ibv_qp_init_attr *attr),
	  4, id, res, pd, attr)
TRACE_VOID(rdma_destroy_ep, (ID), 1, id)
TRACE_INT(rdma_resolve_route, (ID, int timeout_ms), 2, id, timeout_ms)
TRACE_INT(rdma_create_qp, (ID, struct ibv_pd *pd, struct ibv_qp_init_attr *attr), 3, id, pd, attr)
TRACE_INT(rdma_create_qp_ex, (ID, struct ibv_qp_init_attr_ex *attr), 2, id, attr)
TRACE_VOID(rdma_destroy_qp, (ID), 1, id)
TRACE_INT(rdma_connect, (ID, struct rdma_conn_param *param), 2, id, param)
TRACE_INT(rdma_establish, (ID), 1, id)
TRACE_INT(rdma_listen, (ID, int backlog), 2, id, backlog)
TRACE_INT(rdma_get_request, (struct rdma_cm_id * listen, struct rdma_cm_id **id), 2, listen, id)
TRACE_INT(rdma_accept, (ID, struct rdma_conn_param *param), 2, id, param)
TRACE_INT(rdma_reject, (ID, const void *data, uint8_t len), 3, id, data, len)
TRACE_INT(rdma_disconnect, (ID), 1, id)
TRACE_INT(rdma_notify, (ID, enum ibv_event_type event), 2, id, event)
TRACE_INT(rdma_set_option, (ID, int level, int name, void *value, size_t len), 5, id, level, name,
	  value, len)
TRACE_INT(rdma_migrate_id, (ID, struct rdma_event_channel *channel), 2, id, channel)
TRACE_INT(rdma_init_qp_attr, (ID, struct ibv_qp_attr *attr, int *mask), 3, id, attr, mask)
TRACE_INT(rdma_join_multicast, (ID, struct sockaddr *addr, void *context), 3, id, addr, context)
TRACE_INT(rdma_join_multicast_ex, (ID, struct rdma_cm_join_mc_attr_ex *attr, void *context), 3, id,
	  attr, context)
TRACE_INT(rdma_leave_multicast, (ID, struct sockaddr *addr), 2, id, addr)
TRACE_INT(rdma_set_local_ece, (ID, struct ibv_ece *ece), 2, id, ece)
TRACE_INT(rdma_get_remote_ece, (ID, struct ibv_ece *ece), 2, id, ece)
TRACE_INT(rdma_reject_ece, (ID, const void *data, uint8_t len), 3, id, data, len)
TRACE_INT(rdma_create_srq, (ID, struct ibv_pd *pd, struct ibv_srq_init_attr *attr), 3, id, pd, attr)
TRACE_INT(rdma_create_srq_ex, (ID, struct ibv_srq_init_attr_ex *attr), 2, id, attr)
TRACE_VOID(rdma_destroy_srq, (ID), 1, id)
TRACE_INT(rdma_getaddrinfo,
	  (const char *node, const char *service, const struct rdma_addrinfo *hints,
	   struct rdma_addrinfo **res),
	  4, node, service, hints, res)
TRACE_INT(rsocket, (int domain, int type, int protocol), 3, domain, type, protocol)
