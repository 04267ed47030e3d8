/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions that programs reach through a context rather than by name. */
#ifndef XIW_VERBS_OPS_H
#define XIW_VERBS_OPS_H

#include <infiniband/verbs.h>

struct xiw_host_event;

int xiw_verbs_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int xiw_verbs_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int xiw_verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int xiw_verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int xiw_verbs_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* An event of a device was taken: it counts. */
void xiw_verbs_async_taken(const struct xiw_host_event *event);

/* Of the context: ibv_advise_mr(). EINVAL: flags, or what no region of the domain has. */
int xiw_verbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
			struct ibv_sge *sges, uint32_t n);

#endif
