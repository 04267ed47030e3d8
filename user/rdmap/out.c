/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a stream sends: operations that are posted, and the answers to the peer's Reads and atomic operations. RFC 5040
 * sections 5.2 and 6, RFC 7306.
 */
#include "rdmap/stream.h"

#include <errno.h>

#include "rdmap/reads.h"

static bool op_waits(struct xiw_rdmap_stream *s)
{
	const struct xiw_rdmap_op *o;

	/* What the peer will not answer is complete already. */
	while (s->next != s->tail && xiw_rdmap_op_at(s, s->next)->sent)
		s->next++;
	if (s->next == s->tail)
		return true;
	o = xiw_rdmap_op_at(s, s->next);
	if (o->op.flags & XIW_RDMA_FENCE && s->reads_out)
		return true;
	/*
	 * Section 6.1: never more Reads than were negotiated, with which atomic operations count (RFC 7306 section
	 * 5.2). The operations behind one that waits, wait as well (rule 13).
	 */
	return xiw_rdmap_is_asking(o->op.kind) && !o->internal && s->reads_out >= s->ord;
}

/* Carries out a change of rights. False: the region is not there, and the stream has failed. */
static bool change(struct xiw_rdmap_stream *s, struct xiw_rdmap_op *o)
{
	const struct xiw_ddp_region *r = xiw_ddp_region_lookup(s->table, o->op.stag);
	const bool there = r && r->serial == o->serial;

	o->sent = true;
	s->next++;
	if (there)
		xiw_ddp_region_set_access(s->table, o->op.stag, o->op.access);
	if (there || o->op.kind == XIW_RDMA_LOCAL_INVALIDATE)
		return true;
	o->failed = true;
	o->cause = XIW_CAUSE_LOCAL_PROTECTION;
	xiw_rdmap_lower_failed(s, 0, 0, NULL, 0, 0);
	return false;
}

static bool change_all(struct xiw_rdmap_stream *s)
{
	while (!op_waits(s) && xiw_rdmap_is_change(xiw_rdmap_op_at(s, s->next)->op.kind))
		if (!change(s, xiw_rdmap_op_at(s, s->next)))
			return false;
	return true;
}

static void put_send(const struct xiw_rdma_work *op, struct xiw_rdmap_out *out)
{
	static const uint8_t opcodes[] = {
		XIW_RDMAP_OP_SEND,
		XIW_RDMAP_OP_SEND_SE,
		XIW_RDMAP_OP_SEND_INV,
		XIW_RDMAP_OP_SEND_SE_INV,
	};

	out->qn = XIW_RDMAP_QN_SEND;
	out->rsvdulp[0] =
		xiw_rdmap_control(opcodes[op->flags & (XIW_RDMA_SOLICITED | XIW_RDMA_INVALIDATE)]);
	if (op->flags & XIW_RDMA_INVALIDATE)
		xiw_put_be32(out->rsvdulp + XIW_RDMAP_OFF_INVALIDATE, op->invalidate);
}

static void put_immediate(const struct xiw_rdmap_op *o, struct xiw_rdmap_out *out)
{
	out->qn = XIW_RDMAP_QN_SEND;
	out->rsvdulp[0] = xiw_rdmap_control(o->op.flags & XIW_RDMA_SOLICITED
						    ? XIW_RDMAP_OP_IMMEDIATE_SE
						    : XIW_RDMAP_OP_IMMEDIATE);
	out->buf = o->request;
	out->len = XIW_RDMAP_WORD_LEN;
}

/* A Read Request or an Atomic Request. */
static void put_request(struct xiw_rdmap_stream *s, struct xiw_rdmap_op *o,
			struct xiw_rdmap_out *out)
{
	struct xiw_rdmap_exchange *x;

	if (!s->reads_out++)
		s->read_at = s->next;
	out->qn = XIW_RDMAP_QN_READ;
	if (o->op.kind == XIW_RDMA_READ) {
		out->rsvdulp[0] = xiw_rdmap_control(XIW_RDMAP_OP_READ_REQUEST);
		out->buf = o->request;
		out->len = XIW_RDMAP_READ_LEN;
		return;
	}
	x = xiw_rdmap_exchange_at(s, s->next);
	out->rsvdulp[0] = xiw_rdmap_control(XIW_RDMAP_OP_ATOMIC_REQUEST);
	out->buf = x->request;
	out->len = XIW_RDMAP_ATOMIC_LEN;
	out->answer = x->answer;
}

static void put_op(struct xiw_rdmap_stream *s, struct xiw_rdmap_out *out)
{
	struct xiw_rdmap_op *o = xiw_rdmap_op_at(s, s->next);

	*out = (struct xiw_rdmap_out){
		.id = s->next,
		.buf = o->buf,
		.pieces = o->npieces ? s->rooms[s->next % s->depth].pieces : NULL,
		.npieces = o->npieces,
		.len = (uint32_t)o->op.len,
	};
	switch (o->op.kind) {
	case XIW_RDMA_SEND:
		put_send(&o->op, out);
		break;
	case XIW_RDMA_WRITE:
		out->tagged = true;
		out->stag = o->op.stag;
		out->to = o->op.to;
		out->rsvdulp[0] = xiw_rdmap_control(XIW_RDMAP_OP_WRITE);
		break;
	case XIW_RDMA_IMMEDIATE:
	case XIW_RDMA_WRITE_IMMEDIATE:
		put_immediate(o, out);
		break;
	case XIW_RDMA_READ:
	case XIW_RDMA_FETCH_ADD:
	case XIW_RDMA_CMP_SWAP:
		put_request(s, o, out);
		break;
	case XIW_RDMA_REGISTER: /* without a message */
	case XIW_RDMA_LOCAL_INVALIDATE:
		break;
	}
	s->next++;
}

/* The address of an answer's octets; NULL: they may not be read (any more), and the stream has failed. */
static const uint8_t *source(struct xiw_rdmap_stream *s, const struct xiw_rdmap_answer *a,
			     uint32_t off)
{
	struct xiw_rdmap_read left = a->read;
	const struct xiw_ddp_region *r;
	enum xiw_rdmap_error err;

	/* Section 4.8: the header as it is after the octets that were sent. */
	left.sink_to += off;
	left.src_to += off;
	left.size -= off;
	err = xiw_rdmap_check_region(s, left.src_stag, left.src_to, left.size, XIW_DDP_REMOTE_READ,
				     &r);
	/* The region that was to be read is gone. Nobody has asked to read another region that has its STag by now. */
	if (!err && r->serial != a->serial)
		err = XIW_RDMAP_STAG;
	if (!err)
		return r->ptr + (left.src_to - r->base);
	xiw_rdmap_fail(s, err, a->header, sizeof(a->header),
		       XIW_DDP_UNTAGGED_LEN + XIW_RDMAP_READ_LEN, &left);
	return NULL;
}

/* RFC 7306 section 5.2.2: the operation was carried out when its Request came. */
static int put_original(struct xiw_rdmap_stream *s, struct xiw_rdmap_out *out)
{
	*out = (struct xiw_rdmap_out){
		.id = XIW_RDMAP_ID_RESPONSE | s->answer_next,
		.buf = xiw_rdmap_answer_at(s, s->answer_next)->original,
		.len = XIW_RDMAP_ORIGINAL_LEN,
		.qn = XIW_RDMAP_QN_ATOMIC,
		.rsvdulp = { xiw_rdmap_control(XIW_RDMAP_OP_ATOMIC_RESPONSE) },
	};
	s->answer_next++;
	return 1;
}

static int put_answer(struct xiw_rdmap_stream *s, struct xiw_rdmap_out *out)
{
	struct xiw_rdmap_answer *a = xiw_rdmap_answer_at(s, s->answer_next);

	if (a->atomic)
		return put_original(s, out);
	*out = (struct xiw_rdmap_out){
		.id = XIW_RDMAP_ID_RESPONSE | s->answer_next,
		.len = a->read.size,
		.tagged = true,
		.from_region = a->read.size,
		.stag = a->read.sink_stag,
		.to = a->read.sink_to,
		.rsvdulp = { xiw_rdmap_control(XIW_RDMAP_OP_READ_RESPONSE) },
	};
	/* Section 5.2.1: for a Read of no octets the source is not checked. */
	if (a->read.size) {
		out->buf = source(s, a, 0);
		if (!out->buf)
			return -EPROTO;
	}
	s->answer_next++;
	return 1;
}

int xiw_rdmap_next(struct xiw_rdmap_stream *s, struct xiw_rdmap_out *out)
{
	bool answers, ops;

	if (s->state != XIW_RDMAP_OPEN)
		return 0;
	if (!change_all(s))
		return -EPROTO;
	answers = s->answer_next != s->answer_tail;
	ops = !op_waits(s);
	if (!answers && !ops)
		return 0;
	if (answers && !(ops && s->op_turn)) {
		s->op_turn = true;
		return put_answer(s, out);
	}
	s->op_turn = false;
	put_op(s, out);
	return 1;
}

bool xiw_rdmap_readable(struct xiw_rdmap_stream *s, uint64_t id, uint32_t off)
{
	const struct xiw_rdmap_answer *a = xiw_rdmap_answer_at(s, id & ~XIW_RDMAP_ID_RESPONSE);

	return off == a->read.size || source(s, a, off);
}

static void answer_sent(struct xiw_rdmap_stream *s, uint64_t seq, bool success)
{
	struct xiw_rdmap_answer *a = xiw_rdmap_answer_at(s, seq);

	a->sent = true;
	if (success && !a->atomic) {
		s->info.reads_in++;
		s->info.read_octets_out += a->read.size;
	}
	/* An answer that comes back unsent may overtake one that is being sent. */
	while (s->answer_head != s->answer_next && xiw_rdmap_answer_at(s, s->answer_head)->sent) {
		s->answer_head++;
		xiw_block_pass(&s->answers, s->answer_head, s->answer_tail, XIW_RDMAP_ANSWERS,
			       &s->source);
	}
}

static void op_sent(struct xiw_rdmap_stream *s, uint64_t seq, bool success)
{
	struct xiw_rdmap_op *o = xiw_rdmap_op_at(s, seq);

	success |= o->given;
	o->sent = true;
	o->failed |= !success;
	if (!success)
		return;
	switch (o->op.kind) {
	case XIW_RDMA_SEND:
		s->info.sends_out++;
		break;
	case XIW_RDMA_WRITE:
		s->info.writes_out++;
		s->info.write_octets_out += o->op.len;
		break;
	case XIW_RDMA_IMMEDIATE:
	case XIW_RDMA_WRITE_IMMEDIATE:
		s->info.immediates_out++;
		break;
	default: /* counted when it is answered */
		break;
	}
}

void xiw_rdmap_numbered(struct xiw_rdmap_stream *s, uint64_t id, uint32_t qn, uint32_t msn)
{
	struct xiw_rdmap_op *o = xiw_rdmap_op_at(s, id);

	o->qn = qn;
	o->msn = msn;
}

void xiw_rdmap_given(struct xiw_rdmap_stream *s, uint64_t id)
{
	s->answer_given = (id & ~XIW_RDMAP_ID_RESPONSE) + 1;
}

void xiw_rdmap_sent(struct xiw_rdmap_stream *s, uint64_t id, bool success)
{
	if (id & XIW_RDMAP_ID_RESPONSE)
		answer_sent(s, id & ~XIW_RDMAP_ID_RESPONSE, success);
	else
		op_sent(s, id, success);
}
