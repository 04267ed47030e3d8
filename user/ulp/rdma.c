// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDMAP as a ULP (RFC 5040): struct xiw_rdma connects a stream's state machine (rdmap/stream.c) with a connection below
 * and the application above.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xiwarp/rdmap.h>

#include "base/opts.h"
#include "conn/conn.h"
#include "conn/limits.h"
#include "conn/send.h"
#include "core/agenda.h"
#include "core/cq.h"
#include "path/fpdu.h"
#include "rdmap/stream.h"

/* The size of the options in the first release. */
#define RDMA_OPTS_FIRST 16

XIW_OPTS_WHOLE(struct xiw_rdma_opts, ord);

#define DEPTH_DEFAULT 64
#define READS_DEFAULT 16
#define ID_TERMINATE UINT64_MAX
/* The longest Terminate Header has 52 octets. A longer message still fits, and its first octets are understood. */
#define TERMINATE_ROOM 256

struct xiw_rdma {
	struct xiw_conn *conn;
	struct xiw_rdmap_stream s;
	uint32_t with_ddp; /* messages in DDP's queue; one place stays free for a Terminate */
	bool connected, closing, ended;
	uint16_t ird, ord; /* used if nothing is negotiated */
	uint8_t term_out[XIW_RDMAP_TERM_MAX], term_in[TERMINATE_ROOM];
	uint8_t (*requests)[XIW_RDMAP_READ_LEN]; /* buffers of the Read Request queue */
};

/* ---- to the application ------------------------------------------------------------------------- */

static void report_completed(struct xiw_rdma *r)
{
	struct xiw_rdmap_op o;

	while (xiw_rdmap_completed(&r->s, &o)) {
		struct xiw_completion done = {
			.user_data = o.op.user_data,
			.conn = r->conn,
			.event = o.failed		      ? XIW_EV_FLUSHED
				 : o.op.kind == XIW_RDMA_READ ? XIW_EV_READ
							      : XIW_EV_SENT,
			.status = o.failed ? -ECANCELED : 0,
			.length = o.op.len,
			.to = o.op.to,
			.stag = o.op.stag,
		};

		if (!o.internal)
			xiw_complete(r->conn->engine, &done);
	}
}

/* ---- to DDP ------------------------------------------------------------------------------------- */

static int give(struct xiw_conn *c, const struct xiw_rdmap_out *out)
{
	struct xiw_message m = {
		.buf = out->buf,
		.len = out->len,
		.to = out->to,
		.stag = out->stag,
		.qn = out->qn,
		.tagged = out->tagged,
		.user_data = out->id,
	};

	memcpy(m.rsvdulp, out->rsvdulp, sizeof(m.rsvdulp));
	return out->from_region ? xiw_send_from_region(c, &m) : xiw_send(c, &m);
}

/*
 * Gives DDP as many messages as it has room for. Closes the connection if the application asked for it and all is
 * done.
 */
static void pump(struct xiw_rdma *r)
{
	struct xiw_conn *c = r->conn;
	struct xiw_rdmap_out out;
	int got = 0;

	while (r->connected && r->with_ddp + 1 < c->send.depth &&
	       (got = xiw_rdmap_next(&r->s, &out)) > 0) {
		if (give(c, &out))
			xiw_rdmap_sent(&r->s, out.id, false);
		else
			r->with_ddp++;
	}
	if (got < 0)
		xiw_conn_stream_error(c, 0, 0);
	report_completed(r);
	/* Until everything is sent, a Terminate may have to follow, for example because a region is freed. */
	if (r->closing && !r->ended && !r->with_ddp && xiw_rdmap_idle(&r->s))
		xiw_conn_ask_close(c);
}

/* ---- the end ------------------------------------------------------------------------------------ */

/*
 * A Terminate goes out as soon as possible, so messages without a segment yet are dropped (RFC 5040 section 7.1).
 * Nothing is sent behind it (section 5.4). The connection is closed gracefully, so that it arrives (section 6.2.1).
 */
static void end_stream(struct xiw_rdma *r)
{
	struct xiw_conn *c = r->conn;
	struct xiw_message m = {
		.buf = r->term_out,
		.qn = XIW_RDMAP_QN_TERMINATE,
		.rsvdulp = { xiw_rdmap_control(XIW_RDMAP_OP_TERMINATE) },
		.user_data = ID_TERMINATE,
	};

	r->ended = true;
	xiw_rdmap_abandon(&r->s);
	xiw_send_cancel(c);
	report_completed(r);
	if (r->s.state == XIW_RDMAP_FAILED) {
		m.len = xiw_rdmap_terminate_encode(&r->s.info.sent, r->term_out);
		/*
		 * A Responder may send after it has validated an FPDU (RFC 5044 section 7.1.2 rule 4). An error of a
		 * layer above MPA shows that MPA has validated one.
		 */
		if (r->s.info.sent.layer != XIW_RDMA_LAYER_LLP ||
		    c->end.mpa_error == XIW_MPA_ERR_RTR)
			c->send.allowed = true;
		if (!c->send.allowed || xiw_send(c, &m))
			r->s.info.sent.present = false;
	}
	/* A Terminate that may not be sent is nothing to wait for. */
	if (!c->send.allowed) {
		xiw_conn_ask_end(c, EPROTO, true);
		return;
	}
	/* The wait is limited, as the peer may not read the Terminate. */
	xiw_conn_limit_last(c);
	xiw_conn_ask_close(c);
}

/* The incoming stream is in error: a layer below has found it, or this one has, which then led to this event. */
static void on_error(struct xiw_rdma *r, int status)
{
	struct xiw_conn *c = r->conn;

	xiw_rdmap_lower_failed(&r->s, c->end.mpa_error, c->end.ddp_error, c->end.header,
			       c->end.header_len, c->end.segment_len);
	/* In any other state the peer's Terminate was the cause, and the application has been told of that. */
	if (r->s.state == XIW_RDMAP_FAILED)
		xiw_conn_tell(c, XIW_EV_ERROR, status);
	end_stream(r);
}

static void on_closed(struct xiw_rdma *r, int status)
{
	r->ended = true;
	xiw_rdmap_abandon(&r->s);
	report_completed(r);
	xiw_conn_tell(r->conn, XIW_EV_CLOSED, status);
}

/* ---- from DDP ----------------------------------------------------------------------------------- */

static void post_request(struct xiw_rdma *r, uint64_t i)
{
	xiw_post_recv(r->conn, XIW_RDMAP_QN_READ, r->requests[i], XIW_RDMAP_READ_LEN, i);
}

/* Tells the application of a Send that has arrived. */
static void pass_send(struct xiw_conn *c, const struct xiw_ddp_msg *m, uint32_t invalidated)
{
	struct xiw_ddp_msg send = *m;

	send.stag = invalidated;
	xiw_deliver(c, &send);
}

static int check(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t len,
		 const struct xiw_ddp_place *p, bool in_turn)
{
	const struct xiw_ddp_tagged *t = &c->ddp->tagged;
	struct xiw_rdma *r = c->ulp_ctx;
	const struct xiw_rdmap_seg g = {
		.tagged = h->tagged,
		.control = h->rsvdulp[0],
		.qn = h->qn,
		.stag = h->stag,
		.to = h->to,
		.len = len,
		.serial = p->serial,
		.in_turn = in_turn,
		.before = t->open ? t->len : 0,
	};

	return (int)xiw_rdmap_check_segment(&r->s, &g);
}

static void refuse(struct xiw_conn *c, int why, const struct xiw_header *h)
{
	struct xiw_rdma *r = c->ulp_ctx;

	xiw_conn_quote(c, h);
	xiw_rdmap_fail(&r->s, (enum xiw_rdmap_error)why, h->octets, h->len, h->segment_len, NULL);
	xiw_conn_stream_error(c, 0, 0);
}

/*
 * Notes the newest Read Response that TCP has as a whole. The peer may have it, and send the next Read Request, before
 * on_sent() is called for it.
 */
static void look_at_answers(struct xiw_rdma *r)
{
	const struct xiw_conn *c = r->conn;

	for (uint32_t i = c->send.staged; i--;) {
		uint64_t id = c->send.queue[(c->send.head + i) % c->send.depth].user_data;

		if (id == ID_TERMINATE || !(id & XIW_RDMAP_ID_RESPONSE))
			continue;
		xiw_rdmap_given(&r->s, id);
		return;
	}
}

/* Gives the buffer of a Send back to the application, which learns by FLUSHED that it is not used any more. */
static void give_back(struct xiw_conn *c, uint64_t user_data)
{
	const struct xiw_completion done = {
		.user_data = user_data,
		.conn = c,
		.event = XIW_EV_FLUSHED,
		.status = -ECANCELED,
	};

	xiw_complete(c->engine, &done);
}

static void on_message(struct xiw_conn *c, const struct xiw_ddp_msg *m,
		       const struct xiw_header *last)
{
	struct xiw_rdma *r = c->ulp_ctx;
	const struct xiw_rdmap_in in = {
		.tagged = m->tagged,
		.contiguous = m->contiguous,
		.qn = m->qn,
		.stag = m->stag,
		.to = m->to,
		.len = m->len,
		.serial = m->serial,
		.rsvdulp = m->rsvdulp,
		.buf = m->tagged || m->qn == XIW_RDMAP_QN_SEND ? NULL
		       : m->qn == XIW_RDMAP_QN_READ	       ? r->requests[m->buf.user_data]
							       : r->term_in,
		.header = last->octets,
		.header_len = last->len,
		.segment_len = last->segment_len,
	};
	uint32_t invalidated;

	if (!m->tagged && m->qn == XIW_RDMAP_QN_READ)
		look_at_answers(r);

	switch (xiw_rdmap_received(&r->s, &in, &invalidated)) {
	case XIW_RDMAP_HANDLED:
		break;
	case XIW_RDMAP_DELIVER:
		pass_send(c, m, invalidated);
		break;
	case XIW_RDMAP_ENDED:
		xiw_conn_tell(c, XIW_EV_TERMINATED, -ECONNABORTED);
		xiw_conn_stream_error(c, 0, 0);
		break;
	case XIW_RDMAP_ERROR:
		xiw_conn_quote(c, last);
		/* DDP has taken the buffer of a refused Send off its queue. */
		if (!m->tagged && m->qn == XIW_RDMAP_QN_SEND)
			give_back(c, m->buf.user_data);
		xiw_conn_stream_error(c, 0, 0);
		break;
	}
	if (!m->tagged && m->qn == XIW_RDMAP_QN_READ)
		post_request(r, m->buf.user_data);
	pump(r);
}

static void on_connected(struct xiw_rdma *r)
{
	struct xiw_conn *c = r->conn;
	const bool agreed = c->startup.peer.has_enhanced;

	r->connected = true;
	xiw_rdmap_limits(
		&r->s,
		agreed && c->startup.terms.ird != XIW_DEPTH_ULP ? c->startup.terms.ird : r->ird,
		agreed && c->startup.terms.ord != XIW_DEPTH_ULP ? c->startup.terms.ord : r->ord);
	if (c->initiator && c->startup.terms.peer_to_peer && c->startup.terms.rtr == XIW_RTR_READ)
		xiw_rdmap_post_ready(&r->s);
}

/* DDP has given a message to TCP, or will not do so. */
static void on_sent(struct xiw_conn *c, uint64_t id, bool sent)
{
	struct xiw_rdma *r = c->ulp_ctx;

	if (id == ID_TERMINATE)
		return;
	r->with_ddp--;
	xiw_rdmap_sent(&r->s, id, sent);
	pump(r);
}

static void on_returned(struct xiw_conn *c, uint32_t qn, uint64_t user_data)
{
	if (qn == XIW_RDMAP_QN_SEND)
		give_back(c, user_data);
}

static void on_event(struct xiw_conn *c, enum xiw_event event, int status)
{
	struct xiw_rdma *r = c->ulp_ctx;

	switch (event) {
	case XIW_EV_CONNECTED:
		on_connected(r);
		break;
	case XIW_EV_EOF:
		xiw_rdmap_peer_gone(&r->s);
		report_completed(r);
		break;
	case XIW_EV_ERROR:
		on_error(r, status);
		return;
	case XIW_EV_CLOSED:
		on_closed(r, status);
		return;
	default:
		xiw_conn_tell(c, event, status);
		return;
	}
	xiw_conn_tell(c, event, status);
	pump(r);
}

static bool readable(struct xiw_conn *c, uint64_t id, uint32_t off)
{
	struct xiw_rdma *r = c->ulp_ctx;

	if (xiw_rdmap_readable(&r->s, id, off))
		return true;
	xiw_conn_stream_error(c, 0, 0);
	return false;
}

static void free_stream(struct xiw_conn *c)
{
	struct xiw_rdma *r = c->ulp_ctx;

	xiw_rdmap_free(&r->s);
	free(r->requests);
	free(r);
}

/* The depths were set after the stream was made. The Reply will promise them, so the stream must have room for them. */
static int set_depths(struct xiw_conn *c, uint16_t ird)
{
	struct xiw_rdma *r = c->ulp_ctx;
	uint32_t more = 2 * (uint32_t)ird;

	if (ird == XIW_DEPTH_ULP || more <= r->s.answer_depth)
		return 0;
	if (!xiw_conn_charge(c, (more - r->s.answer_depth) * sizeof(*r->s.answers)))
		return -ENOMEM;
	return xiw_rdmap_reserve(&r->s, ird);
}

static const struct xiw_ulp rdmap_ulp = {
	.sent = on_sent,
	.returned = on_returned,
	.event = on_event,
	.check = check,
	.refuse = refuse,
	.message = on_message,
	.readable = readable,
	.set_depths = set_depths,
	.free = free_stream,
};

/* ---- the application's functions ---------------------------------------------------------------- */

static int check_attach(const struct xiw_conn *c, const struct xiw_rdma_opts *o)
{
	if (o->send_depth > XIW_RDMAP_MAX_DEPTH || o->ird >= XIW_DEPTH_ULP ||
	    o->ord >= XIW_DEPTH_ULP || c->opts.queues != XIW_RDMAP_QUEUES || c->send.depth < 2)
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

/* Posts a buffer for each Read that the peer may have open (RFC 5040 section 5.2.2), and one for a Terminate. */
static int post_buffers(struct xiw_rdma *r, uint32_t reads)
{
	if (reads > r->conn->opts.recv_depth)
		reads = r->conn->opts.recv_depth;
	r->requests = calloc(reads, sizeof(*r->requests));
	if (!r->requests)
		return -ENOMEM;
	for (uint32_t i = 0; i < reads; i++)
		post_request(r, i);
	return xiw_post_recv(r->conn, XIW_RDMAP_QN_TERMINATE, r->term_in, sizeof(r->term_in), 0);
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
	o.table = &c->engine->regions;
	o.depth = ro.send_depth ? ro.send_depth : DEPTH_DEFAULT;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->conn = c;
	r->ird = ro.ird ? ro.ird : READS_DEFAULT;
	r->ord = ro.ord ? ro.ord : READS_DEFAULT;
	/* An Initiator does not know before the Reply which of the two applies, so the larger one is taken. */
	o.ird_max = c->startup.terms.ird != XIW_DEPTH_ULP && c->startup.terms.ird > r->ird
			    ? c->startup.terms.ird
			    : r->ird;
	err = xiw_rdmap_init(&r->s, &o);
	/* This comes after the allocation, since the connection keeps what it is charged until it is freed. */
	if (!err && !xiw_conn_charge(c, sizeof(*r) + xiw_rdmap_memory(&r->s) +
						o.ird_max * sizeof(*r->requests)))
		err = -ENOMEM;
	if (!err)
		err = post_buffers(r, o.ird_max);
	if (err) {
		xiw_rdmap_free(&r->s);
		free(r->requests);
		free(r);
		return err;
	}
	c->ulp = &rdmap_ulp;
	c->ulp_ctx = r;
	raise_depths(r);
	/* RDMAP answers a Read that indicates that the Initiator is ready (RFC 6581 section 9.2), so it is offered. */
	if (!c->initiator && !c->opts.rtr)
		c->startup.terms.rtr |= XIW_RTR_READ;
	*rdma = r;
	return 0;
}

int xiw_rdma_post(struct xiw_rdma *r, const struct xiw_rdma_op *op)
{
	int err;

	if (r->closing || r->ended || r->conn->end.closing)
		return -EPIPE;
	if (!r->connected)
		return -ENOTCONN;
	err = xiw_rdmap_post(&r->s, op);
	if (!err)
		pump(r);
	return err;
}

int xiw_rdma_post_recv(struct xiw_rdma *r, void *buf, uint32_t len, uint64_t user_data)
{
	return xiw_post_recv(r->conn, XIW_RDMAP_QN_SEND, buf, len, user_data);
}

int xiw_rdma_close(struct xiw_rdma *r)
{
	if (!r->connected)
		return xiw_conn_close(r->conn);
	if (!r->closing && !r->ended)
		xiw_conn_limit_close(r->conn); /* as an answer may never come */
	r->closing = true;
	pump(r);
	return 0;
}

void xiw_rdma_terminate(struct xiw_rdma *r)
{
	if (!r->connected || r->ended || r->s.state != XIW_RDMAP_OPEN) {
		if (!r->connected)
			xiw_conn_abort(r->conn);
		return;
	}
	xiw_rdmap_lower_failed(&r->s, 0, 0, NULL, 0, 0);
	xiw_conn_stream_error(r->conn, 0, 0);
}

void xiw_rdma_info(const struct xiw_rdma *r, struct xiw_rdma_info *info, size_t size)
{
	xiw_opts_give(info, size, &r->s.info, sizeof(r->s.info));
}
