// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How an RDMAP Stream is made of a connection, and freed. */
#include <errno.h>
#include <stdlib.h>

#include "base/opts.h"
#include "conn/conn.h"
#include "conn/send.h"
#include "core/agenda.h"
#include "core/blocks.h"
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
	if (c->state >= XIW_OPEN)
		return -ENOTCONN;
	return c->ddp->queues[XIW_RDMAP_QN_READ].count ||
			       c->ddp->queues[XIW_RDMAP_QN_TERMINATE].count
		       ? -EINVAL
		       : 0;
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
 * Gives the stream its queues, and posts what it receives itself: Read Requests and Atomic Requests (RFC 5040 section
 * 5.2.2, RFC 7306 section 5.2.2), and a Terminate. The queue of RFC 7306 is added last and nothing fails after it, so
 * that a failure leaves three queues, and no buffer that is freed.
 */
static int take_queues(struct xiw_rdma *r, const struct xiw_rdma_opts *o)
{
	struct xiw_conn *c = r->conn;
	int err = xiw_outlets_set(c, o->send_cq, o->recv_cq);

	if (!err)
		err = xiw_srq_use(c, o->srq, o->srq_max);
	if (!err)
		err = xiw_post_reserve(c, XIW_RDMAP_QN_READ, 1);
	if (!err)
		err = xiw_post_reserve(c, XIW_RDMAP_QN_TERMINATE, 1);
	if (!err && o->extended)
		err = xiw_conn_add_queue(c);
	if (err)
		return err;
	xiw_rdma_post_request(r);
	return xiw_post_recv(c, XIW_RDMAP_QN_TERMINATE, r->term_in, sizeof(r->term_in), 0);
}

/* Charges the stream, and gives it its queues. If that fails, another attempt may be made. */
static int equip(struct xiw_rdma *r, const struct xiw_rdma_opts *o)
{
	const size_t size = sizeof(*r) + xiw_rdmap_memory(&r->s);
	int err;

	if (!xiw_conn_charge(r->conn, size))
		return -ENOMEM;
	err = take_queues(r, o);
	if (err) {
		xiw_outlets_leave(r->conn);
		xiw_srq_leave(r->conn);
		xiw_conn_uncharge(r->conn, size);
	}
	return err;
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
	r->apart = ro.immediate_apart;
	r->request_len = ro.extended ? XIW_RDMAP_ATOMIC_LEN : XIW_RDMAP_READ_LEN;
	r->ird = ro.ird ? ro.ird : READS_DEFAULT;
	r->ord = ro.ord ? ro.ord : READS_DEFAULT;
	/* An Initiator does not know before the Reply which of the two applies, so the larger one is taken. */
	o.ird_max = c->startup.terms.ird != XIW_DEPTH_ULP && c->startup.terms.ird > r->ird
			    ? c->startup.terms.ird
			    : r->ird;
	o.source = xiw_blocks_of(c);
	err = xiw_rdmap_init(&r->s, &o);
	if (!err)
		err = equip(r, &ro);
	if (err) {
		xiw_rdmap_free(&r->s);
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
