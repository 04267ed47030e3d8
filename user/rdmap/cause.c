// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which operation ended the stream, and why. A Terminate quotes the header of the DDP Segment that caused it (RFC 5040
 * section 4.8), and that header names the message: by queue and MSN, or by STag and offset.
 */
#include "rdmap/stream.h"

#include "ddp/hdr.h"
#include "rdmap/reads.h"

/* What an error of the peer's DDP means for the message in question. */
static enum xiw_cause of_ddp(unsigned int error)
{
	switch (error) {
	case XIW_DDP_TAGGED_STAG:
	case XIW_DDP_TAGGED_BOUNDS:
	case XIW_DDP_TAGGED_NOT_STREAM:
	case XIW_DDP_TAGGED_TO_WRAP:
		return XIW_CAUSE_REMOTE_ACCESS;
	case XIW_DDP_UNTAGGED_NO_BUFFER:
		return XIW_CAUSE_NOT_READY;
	}
	/* Type 0 is a local error of the peer's. */
	return error >> 8 ? XIW_CAUSE_REMOTE_INVALID : XIW_CAUSE_REMOTE_OPERATION;
}

/* ... and an error of its RDMAP. */
static enum xiw_cause of_rdmap(unsigned int error)
{
	if (error >> 8 == XIW_RDMAP_STAG >> 8)
		return XIW_CAUSE_REMOTE_ACCESS;
	return error == XIW_RDMAP_VERSION || error == XIW_RDMAP_OPCODE ? XIW_CAUSE_REMOTE_INVALID
								       : XIW_CAUSE_REMOTE_OPERATION;
}

enum xiw_cause xiw_rdmap_cause(const struct xiw_rdma_terminate_info *t)
{
	const unsigned int error = (unsigned int)t->etype << 8 | t->code;

	if (!t->present)
		return XIW_CAUSE_NONE;
	return t->layer == XIW_RDMA_LAYER_DDP	  ? of_ddp(error)
	       : t->layer == XIW_RDMA_LAYER_RDMAP ? of_rdmap(error)
						  : XIW_CAUSE_FLUSHED;
}

/*
 * Is this the operation whose message has a segment with this header? A change of rights has no message, and neither
 * has a Read that the peer will not answer: their queue and number are 0, as a Send's when the numbers have wrapped.
 */
static bool is_of(const struct xiw_rdmap_op *o, const struct xiw_ddp_hdr *h)
{
	const bool asks = xiw_rdmap_is_asking(o->op.kind);

	if (h->tagged != (o->op.kind == XIW_RDMA_WRITE) || xiw_rdmap_is_change(o->op.kind))
		return false;
	if (!h->tagged)
		return o->qn == h->qn && o->msn == h->msn && asks == (h->qn == XIW_RDMAP_QN_READ);
	return xiw_rdmap_opcode(h->rsvdulp[0]) == XIW_RDMAP_OP_WRITE && o->op.stag == h->stag &&
	       (h->to == o->op.to || h->to - o->op.to < o->op.len);
}

/* The operation may be sent, but not complete because of one before it. */
static void blame(struct xiw_rdmap_op *o, enum xiw_cause cause)
{
	if (!o)
		return;
	o->failed = true;
	o->cause = (uint8_t)cause;
}

/* A change of rights is not the peer's business: if it was carried out, it has succeeded. */
static void fail_behind(struct xiw_rdmap_op *o)
{
	o->failed |= !xiw_rdmap_is_change(o->op.kind);
}

/*
 * Blames the operation that the peer has refused, the oldest if several Writes went there. TCP had all of those before
 * it, although it may not have said so yet. (A peer that lies about that could as well have dropped them.) What is
 * behind it cannot succeed any more, even if TCP has it and only the completion has waited.
 */
static void blame_refused(struct xiw_rdmap_stream *s, const struct xiw_ddp_hdr *h,
			  enum xiw_cause cause)
{
	struct xiw_rdmap_op *o;
	uint64_t i = s->head, behind;

	while (i != s->next && !is_of(xiw_rdmap_op_at(s, i), h))
		i++;
	if (i == s->next)
		return;
	behind = i + 1;
	o = xiw_rdmap_op_at(s, i);
	/* A Write with Immediate Data is two operations, and the application is told of the second one. */
	if (o->internal && o->op.kind == XIW_RDMA_WRITE)
		o = xiw_rdmap_op_at(s, behind++);
	blame(o, cause);
	for (; behind != s->tail; behind++)
		fail_behind(xiw_rdmap_op_at(s, behind));
	while (i != s->head)
		xiw_rdmap_op_at(s, --i)->given = true;
}

/* Returns the operation that this segment is meant to answer, if it answers one. */
static struct xiw_rdmap_op *answered_by(struct xiw_rdmap_stream *s, const struct xiw_ddp_hdr *h)
{
	const uint8_t opcode = xiw_rdmap_opcode(h->rsvdulp[0]);

	return opcode == (h->tagged ? XIW_RDMAP_OP_READ_RESPONSE : XIW_RDMAP_OP_ATOMIC_RESPONSE)
		       ? xiw_rdmap_oldest_read(s)
		       : NULL;
}

void xiw_rdmap_blame(struct xiw_rdmap_stream *s)
{
	const bool peers = s->state == XIW_RDMAP_TERMINATED;
	const struct xiw_rdma_terminate_info *t = peers ? &s->info.received : &s->info.sent;
	struct xiw_ddp_hdr h;

	if (s->state == XIW_RDMAP_OPEN || !t->has_ddp_header ||
	    xiw_ddp_hdr_decode(&h, t->ddp_header, t->ddp_header_len, t->ddp_header_len))
		return;
	if (peers)
		blame_refused(s, &h, xiw_rdmap_cause(t));
	else
		blame(answered_by(s, &h), h.tagged && t->layer == XIW_RDMA_LAYER_DDP
						  ? XIW_CAUSE_LOCAL_PROTECTION
						  : XIW_CAUSE_BAD_RESPONSE);
}
