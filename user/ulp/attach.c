// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How an RDMAP Stream is made of a connection, and freed. */
#include <errno.h>
#include <stdlib.h>

#include "base/opts.h"
#include "conn/conn.h"
#include "conn/send.h"
#include "core/agenda.h"
#include "core/cq.h"
#include "core/srq.h"
#include "ulp/rdma.h"

/* The size of the options in the first release. */
#define RDMA_OPTS_FIRST 16

XIW_OPTS_WHOLE(struct xiw_rdma_opts, srq);

#define DEPTH_DEFAULT 64
#define READS_DEFAULT 16

static int check_attach(const struct xiw_conn *c, const struct xiw_rdma_opts *o)
{
	if (o->send_depth > XIW_RDMAP_MAX_DEPTH || o->ird >= XIW_DEPTH_ULP ||
	    o->ord >= XIW_DEPTH_ULP || c->opts.queues != XIW_RDMAP_QUEUES || c->send.depth < 2 ||
	    !xiw_all_zero(o->reserved, sizeof(o->reserved)) || (o->srq_max && !o->srq))
		return -EINVAL;
	if (c->ulp)
		return -EALREADY;
	return c->state >= XIW_OPEN ? -ENOTCONN : 0;
}

/*
 * If the connection's options leave the depths at 0, they become those of the stream; otherwise a peer that negotiates
 * would be told that it cannot use Reads. This is done only until our startup frame is made, and not if
 * xiw_conn_set_depths() has set them, even to 0.
 */
static void raise_depths(struct xiw_rdma *r)
{
	struct xiw_conn *c = r->conn;

	if (c->startup.depths_set || c->opts.ird || c->opts.ord ||
	    (c->initiator && c->state != XIW_CONNECTING))
		return;
	c->startup.terms.ird = r->ird;
	c->startup.terms.ord = r->ord;
}

/*
 * Posts a buffer for each Read and atomic operation that the peer may have open (RFC 5040 section 5.2.2, RFC 7306
 * section 5.2.2), and one for a Terminate.
 */
static int post_buffers(struct xiw_rdma *r, uint32_t reads)
{
	if (reads > r->conn->opts.recv_depth)
		reads = r->conn->opts.recv_depth;
	/* Nothing fails after the first post, so that no buffer is posted which is freed. */
	if (xiw_post_reserve(r->conn, XIW_RDMAP_QN_READ, reads) ||
	    xiw_post_reserve(r->conn, XIW_RDMAP_QN_TERMINATE, 1))
		return -ENOMEM;
	r->requests = calloc(reads, r->request_len);
	if (!r->requests)
		return -ENOMEM;
	for (uint32_t i = 0; i < reads; i++)
		xiw_rdma_post_request(r, i);
	return xiw_post_recv(r->conn, XIW_RDMAP_QN_TERMINATE, r->term_in, sizeof(r->term_in), 0);
}

/* Gives the stream its queues, and posts what it receives itself. Nothing fails once that is posted. */
static int equip(struct xiw_rdma *r, const struct xiw_rdma_opts *o, uint32_t reads)
{
	struct xiw_conn *c = r->conn;
	int err = xiw_outlets_set(c, o->send_cq, o->recv_cq);

	if (!err)
		err = xiw_srq_use(c, o->srq, o->srq_max);
	/* This comes after the allocation, since the connection keeps what it is charged until it is freed. */
	if (!err &&
	    !xiw_conn_charge(c, sizeof(*r) + xiw_rdmap_memory(&r->s) + reads * r->request_len))
		err = -ENOMEM;
	if (!err && o->extended)
		err = xiw_conn_add_queue(c);
	return err ? err : post_buffers(r, reads);
}

int xiw_rdma_attach(struct xiw_conn *c, const struct xiw_rdma_opts *opts, struct xiw_rdma **rdma)
{
	struct xiw_rdmap_opts o = { .pd = c->opts.pd, .stream = c->id };
	struct xiw_rdma_opts ro;
	struct xiw_rdma *r;
	int err = xiw_opts_take(&ro, sizeof(ro), RDMA_OPTS_FIRST, opts);

	if (!err)
		err = check_attach(c, &ro);
	if (err)
		return err;
	o.table = &c->engine->regions; /* a connection whose engine is gone has ended */
	o.extended = ro.extended;
	o.depth = ro.send_depth ? ro.send_depth : DEPTH_DEFAULT;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->conn = c;
	r->request_len = ro.extended ? XIW_RDMAP_ATOMIC_LEN : XIW_RDMAP_READ_LEN;
	r->ird = ro.ird ? ro.ird : READS_DEFAULT;
	r->ord = ro.ord ? ro.ord : READS_DEFAULT;
	/* An Initiator does not know before the Reply which of the two applies, so the larger one is taken. */
	o.ird_max = c->startup.terms.ird != XIW_DEPTH_ULP && c->startup.terms.ird > r->ird
			    ? c->startup.terms.ird
			    : r->ird;
	err = xiw_rdmap_init(&r->s, &o);
	if (!err)
		err = equip(r, &ro, o.ird_max);
	if (err) {
		xiw_outlets_leave(c);
		xiw_srq_leave(c);
		xiw_rdmap_free(&r->s);
		free(r->requests);
		free(r);
		return err;
	}
	/* The answers to our Reads may go where the peer may not write. */
	xiw_ddp_rx_sinks(c->ddp, XIW_RDMAP_OPCODE_MASK, XIW_RDMAP_OP_READ_RESPONSE);
	c->ulp = &xiw_rdma_ulp;
	c->ulp_ctx = r;
	raise_depths(r);
	/* RDMAP answers a Read that indicates that the Initiator is ready (RFC 6581 section 9.2), so it is offered. */
	if (!c->initiator && !c->opts.rtr)
		c->startup.terms.rtr |= XIW_RTR_READ;
	*rdma = r;
	return 0;
}
