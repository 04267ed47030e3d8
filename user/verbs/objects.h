/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The verbs objects: what a program sees of each, and the host layer's object behind it. */
#ifndef XIW_VERBS_OBJECTS_H
#define XIW_VERBS_OBJECTS_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "host/host.h"

struct xiw_pd {
	struct ibv_pd ibv;
	uint32_t number;
	atomic_uint users; /* regions, queue pairs, shared receive queues */
};

struct xiw_mr {
	struct ibv_mr ibv;
	struct xiw_host_mr *host;
};

struct xiw_channel {
	struct ibv_comp_channel ibv;
	struct xiw_host_eq *eq;
	atomic_uint users; /* completion queues */
};

struct xiw_cq_object {
	struct ibv_cq ibv;
	struct xiw_host_cq *host;
	atomic_uint users; /* queue pairs; one whose two queues are the same counts twice */
	unsigned int told; /* events that ibv_get_cq_event() has returned; under ibv.mutex */
};

struct xiw_srq_object {
	struct ibv_srq ibv;
	struct xiw_host_srq *host;
	struct ibv_srq_attr attr;
	atomic_uint users;
	unsigned int told; /* as above, of ibv_get_async_event() */
};

struct xiw_qp {
	struct ibv_qp ibv;
	struct xiw_host_qp *host;
	struct ibv_qp_init_attr init;
	unsigned int told; /* as above */
	struct xiw_qp *next; /* of all: rdma_accept() may name one by its number */
};

static inline struct xiw_pd *xiw_pd(struct ibv_pd *pd)
{
	return (struct xiw_pd *)pd;
}

static inline struct xiw_cq_object *xiw_cq_object(struct ibv_cq *cq)
{
	return (struct xiw_cq_object *)cq;
}

static inline struct xiw_srq_object *xiw_srq_object(struct ibv_srq *srq)
{
	return (struct xiw_srq_object *)srq;
}

static inline struct xiw_qp *xiw_qp(struct ibv_qp *qp)
{
	return (struct xiw_qp *)qp;
}

/*
 * Says whether nothing is asked of a queue pair that ours do not have. None of the calls of ibv_wr_start() and its like
 * may be asked for: send_ops_flags is 0.
 */
bool xiw_qp_knows(const struct ibv_qp_init_attr_ex *attr);

/* Of the context: ibv_create_qp_ex(). */
struct ibv_qp *xiw_verbs_create_qp_ex(struct ibv_context *context,
				      struct ibv_qp_init_attr_ex *attr);

/* Rights of verbs as those of the host layer, and back. */
unsigned int xiw_access_of(unsigned int ibv);
unsigned int xiw_ibv_access_of(unsigned int host);

/* The queue pair with this number; NULL: there is none. */
struct xiw_qp *xiw_qp_find(uint32_t number);

/* What is known of its connection. Returns false if there is none with this number. */
bool xiw_qp_info(uint32_t number, struct xiw_host_qp_info *info);

/* The queue pair with this number if its connection has this context: it may have been another one's before. */
struct xiw_qp *xiw_qp_of(uint32_t number, const void *context);

#endif
