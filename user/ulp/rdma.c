// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDMAP between a connection and the application: what DDP delivers, what becomes of a connection, and how a stream
 * ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conn/conn.h"
#include "conn/limits.h"
#include "conn/send.h"
#include "core/agenda.h"
#include "core/cq.h"
#include "core/srq.h"
#include "core/timer.h"
#include "path/fpdu.h"
#include "ulp/rdma.h"

#define ID_TERMINATE UINT64_MAX
#define ID_PROMPT (UINT64_MAX - 1)

bool xiw_rdma_is_answer(uint64_t id)
{
	return id < ID_PROMPT && id & XIW_RDMAP_ID_RESPONSE;
}

/* ---- the end ------------------------------------------------------------------------------------ */

/*
 * A Terminate goes out as soon as possible, so messages without a segment yet are dropped (RFC 5040 section 7.1).
 * Nothing is sent behind it (section 5.4). The connection is closed gracefully, so that it arrives (section 6.2.1).
 */
void xiw_rdma_end_stream(struct xiw_rdma *r)
{
	struct xiw_conn *c = r->conn;
	struct xiw_message m = {
		.buf = r->term_out,
		.qn = XIW_RDMAP_QN_TERMINATE,
		.rsvdulp = { xiw_rdmap_control(XIW_RDMAP_OP_TERMINATE) },
		.user_data = ID_TERMINATE,
	};

	r->ended = true;
	xiw_rdmap_blame(&r->s);
	xiw_rdmap_abandon(&r->s);
	xiw_send_cancel(c);
	xiw_rdma_report(r);
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
	if (!c->send.allowed && !c->end.stopped) {
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
	xiw_rdma_end_stream(r);
}

static void on_closed(struct xiw_rdma *r, int status)
{
	r->ended = true;
	xiw_rdmap_abandon(&r->s);
	xiw_rdma_report(r);
	xiw_conn_tell(r->conn, XIW_EV_CLOSED, status);
}

/* ---- from DDP ----------------------------------------------------------------------------------- */

/* Immediate Data, which the buffer has as well, maybe in pieces, unless it is apart or that is too short. */
static uint64_t immediate_of(const struct xiw_ddp_msg *m)
{
	uint8_t octets[XIW_RDMAP_WORD_LEN];

	if (m->aside)
		return xiw_get_be64(m->aside);
	xiw_ddp_buf_read(&m->buf, octets, sizeof(octets));
	return xiw_get_be64(octets);
}

/* Tells the application of a Send or Immediate Data that has arrived. */
static void pass_send(struct xiw_conn *c, const struct xiw_ddp_msg *m, uint32_t invalidated)
{
	const uint8_t opcode = xiw_rdmap_opcode(m->rsvdulp[0]);
	const struct xiw_rdma *r = c->ulp_ctx;
	struct xiw_ddp_msg send = *m;

	send.stag = invalidated;
	if (xiw_rdmap_is_immediate(m->rsvdulp[0])) {
		send.to = immediate_of(m);
		send.len = r->apart ? r->s.immediate_to : XIW_RDMAP_WORD_LEN;
	}
	xiw_deliver(c, &send,
		    opcode == XIW_RDMAP_OP_SEND_SE || opcode == XIW_RDMAP_OP_SEND_SE_INV ||
				    opcode == XIW_RDMAP_OP_IMMEDIATE_SE
			    ? XIW_COMPLETION_SOLICITED
			    : 0);
	xiw_srq_received(c);
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
	enum xiw_rdmap_error err;

	err = xiw_rdmap_check_segment(&r->s, &g);
	/* An answer to a later Read than the oldest. */
	return err == XIW_RDMAP_STREAM && !in_turn ? -EAGAIN : (int)err;
}

/*
 * Immediate Data takes a buffer of the application (RFC 7306 section 6.3), but needs none of its octets, since the
 * completion has the value. Applications of other transports post empty buffers for it, or that to which the Write in
 * front of it goes.
 */
static uint8_t *aside(struct xiw_conn *c, const struct xiw_ddp_hdr *h, bool fits)
{
	struct xiw_rdma *r = c->ulp_ctx;

	return (r->apart || !fits) && h->last && !h->mo && h->qn == XIW_RDMAP_QN_SEND &&
			       r->s.exchanges && r->s.state == XIW_RDMAP_OPEN &&
			       xiw_rdmap_version(h->rsvdulp[0]) == XIW_RDMAP_RV &&
			       xiw_rdmap_is_immediate(h->rsvdulp[0])
		       ? r->aside
		       : NULL;
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
		uint64_t id = c->send.queue[(c->send.head + i) & (c->send.room - 1)].user_data;

		if (!xiw_rdma_is_answer(id))
			continue;
		xiw_rdmap_given(&r->s, id);
		return;
	}
}

/* Gives the buffer of a Send back to the application, which learns by FLUSHED that it is not used any more. */
static void give_back(struct xiw_conn *c, uint64_t user_data, enum xiw_cause cause)
{
	const struct xiw_completion done = {
		.user_data = user_data,
		.conn = c,
		.event = XIW_EV_FLUSHED,
		.status = -ECANCELED,
		.op = XIW_OPERATION_RECV,
		.cause = (uint8_t)cause,
	};

	xiw_complete(c->engine, &done);
}

static void tell_terminated(struct xiw_rdma *r)
{
	const struct xiw_completion done = {
		.user_data = r->conn->opts.user_data,
		.conn = r->conn,
		.event = XIW_EV_TERMINATED,
		.status = -ECONNABORTED,
		.cause = (uint8_t)xiw_rdmap_cause(&r->s.info.received),
	};

	xiw_complete(r->conn->engine, &done);
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
		.len = m->aside ? sizeof(r->aside) : m->len,
		.serial = m->serial,
		.rsvdulp = m->rsvdulp,
		.buf = m->tagged || m->qn == XIW_RDMAP_QN_SEND ? NULL : m->buf.base,
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
		xiw_rdmap_blame(&r->s);
		tell_terminated(r);
		xiw_conn_stream_error(c, 0, 0);
		break;
	case XIW_RDMAP_ERROR:
		xiw_conn_quote(c, last);
		/* DDP has taken the buffer of a refused Send off its queue. */
		if (!m->tagged && m->qn == XIW_RDMAP_QN_SEND)
			give_back(c, m->buf.user_data, XIW_CAUSE_LOCAL_ACCESS);
		xiw_conn_stream_error(c, 0, 0);
		break;
	}
	if (!m->tagged && m->qn == XIW_RDMAP_QN_READ)
		xiw_rdma_post_request(r);
	xiw_rdma_pump(r);
}

/* ---- a peer that says nothing ------------------------------------------------------------------- */

/* How long an Initiator has heard nothing when it sends another FPDU, and then the last one. */
static const unsigned int silences_ms[] = { 250, 1000 };

static void await_peer(struct xiw_rdma *r)
{
	struct xiw_conn *c = r->conn;

	if (r->prompts == sizeof(silences_ms) / sizeof(silences_ms[0]))
		return;
	c->timer.ulp_ms = c->engine->now_ms + silences_ms[r->prompts];
	xiw_timer(c);
}

/*
 * TCP loses nothing, but Linux's siw as a Responder may overlook FPDUs that come while it takes over the socket after
 * its Reply. It reads them when the next segment comes, and if both sides waited for each other, none would. A Write of
 * no octets is such a segment. No STag is checked for it (RFC 5041 section 5.2), and the peer's application does not
 * notice it. It does not wait in the stream's queue, where a fence may hold it up.
 */
static void on_due(struct xiw_conn *c)
{
	struct xiw_rdma *r = c->ulp_ctx;
	const struct xiw_message m = {
		.tagged = true,
		.rsvdulp = { xiw_rdmap_control(XIW_RDMAP_OP_WRITE) },
		.user_data = ID_PROMPT,
	};

	if (c->counts.fpdus || r->closing || r->ended)
		return;
	/* One place stays free for a Terminate. If the others are taken, there is enough to send. */
	if (r->with_ddp + 1 < c->send.depth && !xiw_send(c, &m))
		r->with_ddp++;
	r->prompts++;
	await_peer(r);
}

static void on_connected(struct xiw_rdma *r)
{
	struct xiw_conn *c = r->conn;
	const bool agreed = c->startup.peer.has_enhanced;
	uint16_t ird = r->ird, ord = r->ord;

	if (agreed && c->startup.terms.ird != XIW_DEPTH_ULP)
		ird = c->startup.terms.ird;
	if (agreed && c->startup.terms.ord != XIW_DEPTH_ULP)
		ord = c->startup.terms.ord;
	/* Each atomic operation needs a buffer for its answer (RFC 7306 section 5.2.2 rule 5). */
	if (r->s.exchanges && ord > c->opts.recv_depth)
		ord = (uint16_t)c->opts.recv_depth;
	r->connected = true;
	xiw_rdmap_limits(&r->s, ird, ord);
	if (!c->initiator)
		return;
	/* The peer waits for that Read. */
	if (c->startup.terms.peer_to_peer && c->startup.terms.rtr == XIW_RTR_READ &&
	    xiw_rdmap_post_ready(&r->s))
		xiw_conn_ask_end(c, ENOMEM, true);
	if (c->opts.rtr != XIW_RTR_NONE)
		await_peer(r);
}

/* DDP has given a message to TCP, or will not do so. */
static void on_sent(struct xiw_conn *c, uint64_t id, bool sent)
{
	struct xiw_rdma *r = c->ulp_ctx;

	if (id == ID_TERMINATE)
		return;
	r->with_ddp--;
	if (id != ID_PROMPT) {
		xiw_regions_enter(c->engine);
		xiw_rdmap_sent(&r->s, id, sent);
		xiw_regions_leave(c->engine);
	}
	xiw_rdma_pump(r);
}

/* Of the buffer whose message was arriving when the stream ended. */
static enum xiw_cause arriving_cause(const struct xiw_conn *c)
{
	struct xiw_ddp_hdr h;

	if (xiw_ddp_hdr_decode(&h, c->end.header, c->end.header_len, c->end.header_len) ||
	    h.tagged || h.qn != XIW_RDMAP_QN_SEND)
		return XIW_CAUSE_FLUSHED;
	switch (c->end.ddp_error) {
	case XIW_DDP_UNTAGGED_TOO_LONG:
		return XIW_CAUSE_LOCAL_LENGTH;
	case XIW_DDP_LOCAL_CATASTROPHIC:
		return XIW_CAUSE_LOCAL_PROTECTION;
	default:
		return XIW_CAUSE_FLUSHED;
	}
}

/* The first buffer that is returned is that of the message which was arriving. */
static void on_returned(struct xiw_conn *c, uint32_t qn, uint64_t user_data)
{
	struct xiw_rdma *r = c->ulp_ctx;

	if (qn != XIW_RDMAP_QN_SEND)
		return;
	give_back(c, user_data, r->returned ? XIW_CAUSE_FLUSHED : arriving_cause(c));
	r->returned = true;
}

static void take_event(struct xiw_conn *c, enum xiw_event event, int status)
{
	struct xiw_rdma *r = c->ulp_ctx;

	switch (event) {
	case XIW_EV_CONNECTED:
		on_connected(r);
		break;
	case XIW_EV_EOF:
		xiw_rdmap_peer_gone(&r->s);
		xiw_rdma_report(r);
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
	xiw_rdma_pump(r);
}

/* Operations that end with the stream give up the STags that were made for them. */
static void on_event(struct xiw_conn *c, enum xiw_event event, int status)
{
	xiw_regions_enter(c->engine);
	take_event(c, event, status);
	xiw_regions_leave(c->engine);
}

static bool readable(struct xiw_conn *c, uint64_t id, uint32_t off)
{
	struct xiw_rdma *r = c->ulp_ctx;

	if (xiw_rdmap_readable(&r->s, id, off))
		return true;
	xiw_conn_stream_error(c, 0, 0);
	return false;
}
/* The STags that were made for Reads do not outlive the connection. */
static void on_ended(struct xiw_conn *c)
{
	struct xiw_rdma *r = c->ulp_ctx;

	xiw_regions_enter(c->engine);
	xiw_rdmap_drop_sinks(&r->s);
	xiw_regions_leave(c->engine);
}

static void free_stream(struct xiw_conn *c)
{
	struct xiw_rdma *r = c->ulp_ctx;

	xiw_rdmap_free(&r->s);
	free(r->recv_rooms);
	free(r);
}

/* The depths were set after the stream was made. The Reply will promise them, so the stream must have room for them. */
static int set_depths(struct xiw_conn *c, uint16_t ird)
{
	struct xiw_rdma *r = c->ulp_ctx;

	if (ird == XIW_DEPTH_ULP)
		return 0;
	if (!xiw_conn_charge(c, xiw_rdmap_reserve_size(&r->s, ird)))
		return -ENOMEM;
	return xiw_rdmap_reserve(&r->s, ird);
}
const struct xiw_ulp xiw_rdma_ulp = {
	.sent = on_sent,
	.returned = on_returned,
	.event = on_event,
	.ended = on_ended,
	.check = check,
	.refuse = refuse,
	.aside = aside,
	.aside_len = XIW_RDMAP_WORD_LEN,
	.message = on_message,
	.readable = readable,
	.set_depths = set_depths,
	.due = on_due,
	.free = free_stream,
};
