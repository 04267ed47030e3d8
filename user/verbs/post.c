// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Work requests: lists of the program's, handed to the host layer in batches. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>

#include "verbs/objects.h"
#include "verbs/ops.h"
#include "verbs/verbs.h"

#define BATCH 16

/* The lists of both have the same form, so they need not be copied. */
_Static_assert(sizeof(struct ibv_sge) == sizeof(struct xiw_host_sge) &&
		       offsetof(struct ibv_sge, addr) == offsetof(struct xiw_host_sge, addr) &&
		       offsetof(struct ibv_sge, length) == offsetof(struct xiw_host_sge, len) &&
		       offsetof(struct ibv_sge, lkey) == offsetof(struct xiw_host_sge, lkey) &&
		       sizeof(((struct ibv_sge *)0)->addr) == sizeof(void *),
	       "struct ibv_sge differs from struct xiw_host_sge");

static const struct xiw_host_sge *sges(const struct ibv_sge *list)
{
	return (const struct xiw_host_sge *)list;
}

/* ---- sends ------------------------------------------------------------------------------------------- */

/*
 * RFC 7306 has no Send with Immediate Data, windows are not bound, and devices offer no checksums (IBV_SEND_IP_CSUM).
 * The host layer refuses what it does not know.
 */
#define NO_KIND ((enum xiw_rdma_kind) - 1)

#define FLAGS (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE)

static enum xiw_rdma_kind kind(const struct ibv_send_wr *wr)
{
	if (wr->send_flags & ~(unsigned int)FLAGS)
		return NO_KIND;
	switch (wr->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_INV:
		return XIW_RDMA_SEND;
	case IBV_WR_RDMA_WRITE:
		return XIW_RDMA_WRITE;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return XIW_RDMA_WRITE_IMMEDIATE;
	case IBV_WR_RDMA_READ:
		return XIW_RDMA_READ;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return XIW_RDMA_FETCH_ADD;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return XIW_RDMA_CMP_SWAP;
	default:
		return NO_KIND;
	}
}

/* RNICs ignore IBV_SEND_SOLICITED where the peer's program is told of nothing. */
static bool tells_peer(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_INV ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static unsigned int flags(const struct ibv_send_wr *wr)
{
	const bool solicited = wr->send_flags & IBV_SEND_SOLICITED && tells_peer(wr->opcode);

	return (wr->send_flags & IBV_SEND_SIGNALED ? XIW_HOST_SIGNALED : 0) |
	       (solicited ? XIW_HOST_SOLICITED : 0) |
	       (wr->send_flags & IBV_SEND_FENCE ? XIW_HOST_FENCE : 0) |
	       (wr->send_flags & IBV_SEND_INLINE ? XIW_HOST_INLINE : 0) |
	       (wr->opcode == IBV_WR_SEND_WITH_INV ? XIW_HOST_INVALIDATE : 0);
}

static void translate(const struct ibv_send_wr *wr, struct xiw_host_wr *to)
{
	*to = (struct xiw_host_wr){
		.wr_id = wr->wr_id,
		.kind = kind(wr),
		.flags = flags(wr),
		.sge = sges(wr->sg_list),
		.sge_count = (unsigned int)wr->num_sge, /* a negative number is too many */
	};
	switch (to->kind) {
	case XIW_RDMA_SEND:
		to->invalidate = wr->invalidate_rkey;
		break;
	case XIW_RDMA_FETCH_ADD:
	case XIW_RDMA_CMP_SWAP:
		to->stag = wr->wr.atomic.rkey;
		to->to = wr->wr.atomic.remote_addr;
		to->atomic.value = wr->wr.atomic.compare_add;
		if (to->kind == XIW_RDMA_CMP_SWAP)
			to->atomic = (struct xiw_rdma_atomic){
				.value = wr->wr.atomic.swap,
				.mask = UINT64_MAX,
				.compare = wr->wr.atomic.compare_add,
				.compare_mask = UINT64_MAX,
			};
		break;
	default:
		to->stag = wr->wr.rdma.rkey;
		to->to = wr->wr.rdma.remote_addr;
		to->immediate = be32toh(wr->imm_data);
	}
}

/* Some programs do not look at what ibv_post_send() returns. */
static int told(int rc)
{
	static bool said;

	if (rc == -EOPNOTSUPP && !__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		fprintf(stderr,
			"xiwarp: Immediate Data and atomic operations need xiwarp run --extended "
			"at "
			"both ends%s\n",
			xiw_verbs_extended() ? ", and the peer is without" : "");
	return -rc;
}

int xiw_verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct xiw_host_wr batch[BATCH];

	while (wr) {
		struct ibv_send_wr *end = wr;
		unsigned int n = 0, posted = 0;
		int rc;

		for (; end && n < BATCH; end = end->next)
			translate(end, &batch[n++]);
		rc = xiw_host_post_send(xiw_qp(qp)->host, batch, n, &posted);
		while (posted--)
			wr = wr->next;
		if (rc) {
			*bad = wr;
			return told(rc);
		}
	}
	return 0;
}

/* ---- receives ---------------------------------------------------------------------------------------- */

/* Posts to the shared queue if there is one, else to the queue pair. */
static int post_recv(struct xiw_host_srq *srq, struct xiw_host_qp *qp, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad)
{
	struct xiw_host_recv batch[BATCH];

	while (wr) {
		struct ibv_recv_wr *end = wr;
		unsigned int n = 0, posted = 0;
		int rc;

		for (; end && n < BATCH; end = end->next)
			batch[n++] = (struct xiw_host_recv){
				.wr_id = end->wr_id,
				.sge = sges(end->sg_list),
				.sge_count = (unsigned int)end->num_sge, /* as above */
			};
		rc = srq ? xiw_host_srq_post(srq, batch, n, &posted)
			 : xiw_host_post_recv(qp, batch, n, &posted);
		while (posted--)
			wr = wr->next;
		if (rc) {
			*bad = wr;
			return -rc;
		}
	}
	return 0;
}

int xiw_verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return post_recv(NULL, xiw_qp(qp)->host, wr, bad);
}

int xiw_verbs_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return post_recv(xiw_srq_object(srq)->host, NULL, wr, bad);
}
