/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a stream receives: RFC 5040 sections 5 and 7.2. */
#include "rdmap/stream.h"

#include <string.h>

#include "rdmap/atomic.h"
#include "rdmap/reads.h"

static enum xiw_rdmap_result fail(struct xiw_rdmap_stream *s, const struct xiw_rdmap_in *m,
				  enum xiw_rdmap_error error)
{
	xiw_rdmap_fail(s, error, m->header, m->header_len, m->segment_len, NULL);
	return XIW_RDMAP_ERROR;
}

/*
 * Section 6.1: as many as were negotiated. A peer may ask again as soon as it has an answer, which can be before we
 * learn that the answer was sent. So an answer that TCP may have all of no longer counts as open. With a limit of 0
 * there is room for the Read that says that the peer is ready, which is the first one and has no octets (RFC 6581
 * section 9.2).
 */
static bool has_room(const struct xiw_rdmap_stream *s, bool empty)
{
	uint64_t open = s->answer_given > s->answer_head ? s->answer_given : s->answer_head;

	if (!s->ird)
		return empty && !s->answer_tail;
	return s->answer_tail - open < s->ird && s->answer_tail - s->answer_head < s->answer_depth;
}

/* Memory for one more answer, which the peer was promised. */
static int make_answer(struct xiw_rdmap_stream *s)
{
	return xiw_block_need(&s->answers, s->answer_tail / XIW_RDMAP_ANSWERS, &s->source, true);
}

static enum xiw_rdmap_result read_request(struct xiw_rdmap_stream *s, const struct xiw_rdmap_in *m)
{
	const struct xiw_ddp_region *r = NULL;
	struct xiw_rdmap_answer *a;
	struct xiw_rdmap_read read;
	enum xiw_rdmap_error err;
	uint64_t end;

	/*
	 * A longer one does not fit its buffer and is refused by DDP. RDMAP has no number for a header that is cut
	 * short.
	 */
	if (m->len != XIW_RDMAP_READ_LEN)
		return fail(s, m, XIW_RDMAP_OPERATION);
	xiw_rdmap_read_decode(&read, m->buf);
	/* Section 5.2.1: a Read of no octets is answered, whatever its STags and offsets. */
	err = read.size ? xiw_rdmap_check_region(s, read.src_stag, read.src_to, read.size,
						 XIW_DDP_REMOTE_READ, &r)
			: XIW_RDMAP_OK;
	/* DDP could not make segments of an answer whose offsets wrap. */
	if (!err && __builtin_add_overflow(read.sink_to, read.size, &end))
		err = XIW_RDMAP_TO_WRAP;
	if (err) {
		xiw_rdmap_fail(s, err, m->header, m->header_len, m->segment_len, &read);
		return XIW_RDMAP_ERROR;
	}
	if (!has_room(s, !read.size))
		return fail(s, m, XIW_RDMAP_STREAM);
	if (make_answer(s))
		return fail(s, m, XIW_RDMAP_LOCAL_CATASTROPHIC);
	a = xiw_rdmap_answer_at(s, s->answer_tail++);
	*a = (struct xiw_rdmap_answer){ .read = read, .serial = r ? r->serial : 0 };
	memcpy(a->header, m->header, m->header_len);
	return XIW_RDMAP_HANDLED;
}

/*
 * RFC 7306 section 5.2.1. The operation is carried out when its Request is delivered, behind all messages before it and
 * before all behind it. Its answer waits for its turn among those to Reads (section 7).
 */
static enum xiw_rdmap_result atomic_request(struct xiw_rdmap_stream *s,
					    const struct xiw_rdmap_in *m)
{
	struct xiw_rdmap_atomic request;
	struct xiw_rdmap_answer *a;
	enum xiw_rdmap_error err;
	uint64_t *word;

	if (m->len != XIW_RDMAP_ATOMIC_LEN)
		return fail(s, m, XIW_RDMAP_OPERATION);
	xiw_rdmap_atomic_decode(&request, m->buf);
	err = xiw_rdmap_atomic_check(s, &request, &word);
	if (!err && !has_room(s, false))
		err = XIW_RDMAP_STREAM;
	if (!err && make_answer(s))
		err = XIW_RDMAP_LOCAL_CATASTROPHIC;
	if (err)
		return fail(s, m, err);
	a = xiw_rdmap_answer_at(s, s->answer_tail++);
	*a = (struct xiw_rdmap_answer){ .atomic = true };
	xiw_put_be32(a->original + XIW_RDMAP_OFF_ORIGINAL_ID, request.id);
	xiw_put_be64(a->original + XIW_RDMAP_OFF_ORIGINAL, xiw_rdmap_atomic_run(&request, word));
	s->info.atomics_in++;
	return XIW_RDMAP_HANDLED;
}

/* RFC 7306 section 5.2.2. Answers come in the order of the Requests, those to Reads included (section 7). */
static enum xiw_rdmap_result atomic_response(struct xiw_rdmap_stream *s,
					     const struct xiw_rdmap_in *m)
{
	struct xiw_rdmap_op *o = xiw_rdmap_oldest_read(s);

	if (!o || o->op.kind == XIW_RDMA_READ)
		return fail(s, m, XIW_RDMAP_OPCODE);
	if (m->len != XIW_RDMAP_ORIGINAL_LEN ||
	    xiw_get_be32(m->buf + XIW_RDMAP_OFF_ORIGINAL_ID) != (uint32_t)s->read_at)
		return fail(s, m, XIW_RDMAP_STREAM);
	o->original = xiw_get_be64(m->buf + XIW_RDMAP_OFF_ORIGINAL);
	s->info.atomics_out++;
	xiw_rdmap_read_done(s, true);
	return XIW_RDMAP_HANDLED;
}

/* RFC 7306 section 6.3, last rule. A Send, but for its length. */
static enum xiw_rdmap_result immediate(struct xiw_rdmap_stream *s, const struct xiw_rdmap_in *m)
{
	if (m->len != XIW_RDMAP_WORD_LEN)
		return fail(s, m, XIW_RDMAP_OPERATION);
	s->info.immediates_in++;
	s->immediate_to = s->written;
	return XIW_RDMAP_DELIVER;
}

/*
 * The answer to the oldest Read, as answers come in order (section 5.2.2). It must have the place and the length that
 * were asked for, and every octet. DDP has checked where the octets may go, and leaves gaps to the ULP (RFC 5041
 * section 5.2). This check finds an answer that leaves parts of the sink unwritten, or went to another region than the
 * one asked for.
 */
static enum xiw_rdmap_result read_response(struct xiw_rdmap_stream *s, const struct xiw_rdmap_in *m)
{
	const struct xiw_rdmap_op *o = xiw_rdmap_oldest_read(s);

	if (!o || o->op.kind != XIW_RDMA_READ)
		return fail(s, m, XIW_RDMAP_OPCODE);
	/* STag and TO of a message without octets have no meaning in DDP (RFC 5041 section 5.2). */
	if (m->len != o->op.len ||
	    (m->len && (!m->contiguous || m->stag != o->op.sink_stag || m->to != o->op.sink_to ||
			m->serial != o->sink_serial)))
		return fail(s, m, XIW_RDMAP_STREAM);
	if (!o->internal) {
		s->info.reads_out++;
		s->info.read_octets_in += m->len;
	}
	xiw_rdmap_read_done(s, true);
	return XIW_RDMAP_HANDLED;
}

/*
 * Section 5.3, last rule, and section 8.1.1 rule 7: an STag that others share is not invalidated, so it must be bound
 * to this stream.
 */
static enum xiw_rdmap_error invalidate(struct xiw_rdmap_stream *s, uint32_t stag)
{
	const struct xiw_ddp_region *r = xiw_ddp_region_lookup(s->table, stag);

	if (!r || r->pd != s->pd || r->stream != s->stream)
		return XIW_RDMAP_CANNOT_INVALIDATE;
	xiw_ddp_region_invalidate(s->table, stag);
	s->info.invalidated++;
	return XIW_RDMAP_OK;
}

static enum xiw_rdmap_result send_message(struct xiw_rdmap_stream *s, const struct xiw_rdmap_in *m,
					  uint8_t opcode, uint32_t *invalidated)
{
	enum xiw_rdmap_error err = XIW_RDMAP_OK;

	if (opcode == XIW_RDMAP_OP_SEND_INV || opcode == XIW_RDMAP_OP_SEND_SE_INV) {
		*invalidated = xiw_get_be32(m->rsvdulp + XIW_RDMAP_OFF_INVALIDATE);
		err = invalidate(s, *invalidated);
	}
	if (err)
		return fail(s, m, err);
	s->info.sends_in++;
	return XIW_RDMAP_DELIVER;
}

static enum xiw_rdmap_result terminate(struct xiw_rdmap_stream *s, const struct xiw_rdmap_in *m)
{
	if (xiw_rdmap_terminate_decode(&s->info.received, m->buf, m->len))
		return fail(s, m, XIW_RDMAP_OPERATION);
	s->state = XIW_RDMAP_TERMINATED;
	return XIW_RDMAP_ENDED;
}

/*
 * Figure 4, and RFC 7306 Figure 2 if both ends have agreed on it: the opcodes of Tagged messages, and of each queue.
 */
static bool expected(const struct xiw_rdmap_stream *s, bool tagged, uint32_t qn, uint8_t opcode)
{
	if (opcode >= XIW_RDMAP_OP_IMMEDIATE && !s->exchanges)
		return false;
	switch (opcode) {
	case XIW_RDMAP_OP_WRITE:
	case XIW_RDMAP_OP_READ_RESPONSE:
		return tagged;
	case XIW_RDMAP_OP_READ_REQUEST:
	case XIW_RDMAP_OP_ATOMIC_REQUEST:
		return !tagged && qn == XIW_RDMAP_QN_READ;
	case XIW_RDMAP_OP_ATOMIC_RESPONSE:
		return !tagged && qn == XIW_RDMAP_QN_ATOMIC;
	case XIW_RDMAP_OP_IMMEDIATE:
	case XIW_RDMAP_OP_IMMEDIATE_SE:
	case XIW_RDMAP_OP_SEND:
	case XIW_RDMAP_OP_SEND_INV:
	case XIW_RDMAP_OP_SEND_SE:
	case XIW_RDMAP_OP_SEND_SE_INV:
		return !tagged && qn == XIW_RDMAP_QN_SEND;
	case XIW_RDMAP_OP_TERMINATE:
		return !tagged && qn == XIW_RDMAP_QN_TERMINATE;
	}
	return false;
}

/*
 * A segment of the answer to a Read must begin where the one before it ended, in the sink that was named, and not go
 * beyond it.
 */
static bool answers(const struct xiw_rdmap_op *o, const struct xiw_rdmap_seg *g)
{
	return !g->len || (g->stag == o->op.sink_stag && g->serial == o->sink_serial &&
			   g->to == o->op.sink_to + g->before && g->before <= o->op.len &&
			   g->len <= o->op.len - g->before);
}

/*
 * What is in front of an early segment is not known. It may only go into the sink of the oldest Read, because others
 * may be places that the peer may not write to (RFC 5042 section 6.2.1). In its turn it may go where it belongs.
 */
static bool may_answer(const struct xiw_rdmap_op *o, const struct xiw_rdmap_seg *g)
{
	const uint64_t off = g->to - o->op.sink_to;

	return o->op.kind == XIW_RDMA_READ && g->stag == o->op.sink_stag &&
	       g->serial == o->sink_serial && off <= o->op.len && g->len <= o->op.len - off;
}

enum xiw_rdmap_error xiw_rdmap_check_segment(struct xiw_rdmap_stream *s,
					     const struct xiw_rdmap_seg *g)
{
	const uint8_t opcode = xiw_rdmap_opcode(g->control);
	const struct xiw_rdmap_op *o;

	if (s->state != XIW_RDMAP_OPEN)
		return XIW_RDMAP_OK;
	if (xiw_rdmap_version(g->control) != XIW_RDMAP_RV)
		return XIW_RDMAP_VERSION;
	if (!expected(s, g->tagged, g->qn, opcode))
		return XIW_RDMAP_OPCODE;
	if (opcode == XIW_RDMAP_OP_WRITE && g->len && !(s->rights & XIW_DDP_REMOTE_WRITE))
		return XIW_RDMAP_ACCESS;
	if (opcode != XIW_RDMAP_OP_READ_RESPONSE)
		return XIW_RDMAP_OK;
	o = xiw_rdmap_oldest_read(s);
	if (!o || (g->in_turn && o->op.kind != XIW_RDMA_READ))
		return XIW_RDMAP_OPCODE;
	return (g->in_turn ? answers(o, g) : may_answer(o, g)) ? XIW_RDMAP_OK : XIW_RDMAP_STREAM;
}

static enum xiw_rdmap_result dispatch(struct xiw_rdmap_stream *s, const struct xiw_rdmap_in *m,
				      uint8_t opcode, uint32_t *invalidated)
{
	switch (opcode) {
	case XIW_RDMAP_OP_WRITE:
		/* The octets are in place, and the application is not told (section 5.1). */
		s->info.writes_in++;
		s->info.write_octets_in += m->len;
		return XIW_RDMAP_HANDLED;
	case XIW_RDMAP_OP_READ_REQUEST:
		return read_request(s, m);
	case XIW_RDMAP_OP_READ_RESPONSE:
		return read_response(s, m);
	case XIW_RDMAP_OP_TERMINATE:
		return terminate(s, m);
	case XIW_RDMAP_OP_IMMEDIATE:
	case XIW_RDMAP_OP_IMMEDIATE_SE:
		return immediate(s, m);
	case XIW_RDMAP_OP_ATOMIC_REQUEST:
		return atomic_request(s, m);
	case XIW_RDMAP_OP_ATOMIC_RESPONSE:
		return atomic_response(s, m);
	}
	return send_message(s, m, opcode, invalidated);
}

/* Answers come between the peer's operations, and are none. */
static void note_write(struct xiw_rdmap_stream *s, const struct xiw_rdmap_in *m, uint8_t opcode)
{
	if (opcode == XIW_RDMAP_OP_WRITE)
		s->written = m->len;
	else if (opcode != XIW_RDMAP_OP_READ_RESPONSE && opcode != XIW_RDMAP_OP_ATOMIC_RESPONSE)
		s->written = 0;
}

enum xiw_rdmap_result xiw_rdmap_received(struct xiw_rdmap_stream *s, const struct xiw_rdmap_in *m,
					 uint32_t *invalidated)
{
	const uint8_t opcode = xiw_rdmap_opcode(m->rsvdulp[0]);
	enum xiw_rdmap_result result;

	*invalidated = 0;
	if (s->state != XIW_RDMAP_OPEN)
		return XIW_RDMAP_HANDLED;
	if (xiw_rdmap_version(m->rsvdulp[0]) != XIW_RDMAP_RV)
		return fail(s, m, XIW_RDMAP_VERSION);
	/* The reserved bits are not checked (section 4.1). */
	if (!expected(s, m->tagged, m->qn, opcode))
		return fail(s, m, XIW_RDMAP_OPCODE);
	result = dispatch(s, m, opcode, invalidated);
	note_write(s, m, opcode);
	return result;
}
