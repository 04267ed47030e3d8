/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a stream begins, fails and ends. out.c has what it sends, and in.c what it receives. */
#include "rdmap/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "rdmap/reads.h"

static void *take_from_system(void *ctx, bool promised)
{
	(void)ctx;
	(void)promised;
	return malloc(XIW_BLOCK);
}

static void give_to_system(void *ctx, void *block)
{
	(void)ctx;
	free(block);
}

static int blocks_init(struct xiw_blocks *b, uint32_t room)
{
	b->room = room;
	b->at = calloc(room, sizeof(*b->at));
	return b->at ? 0 : -ENOMEM;
}

static void blocks_free(struct xiw_blocks *b, const struct xiw_block_source *source)
{
	for (uint32_t i = 0; b->at && i < b->room; i++)
		xiw_block_drop(b, i, source);
	free(b->at);
	b->at = NULL;
}

int xiw_rdmap_make_places(struct xiw_rdmap_stream *s, bool two, bool promised)
{
	const uint64_t first = s->tail / XIW_RDMAP_OPS, last = (s->tail + two) / XIW_RDMAP_OPS;
	int err = xiw_block_need(&s->ops, first, &s->source, promised);

	return err ? err : xiw_block_need(&s->ops, last, &s->source, promised);
}

/* As many answers as may be open, and as many that TCP has. */
static uint32_t answers_of(uint16_t ird)
{
	return 2 * (ird ? ird : 1u);
}

int xiw_rdmap_init(struct xiw_rdmap_stream *s, const struct xiw_rdmap_opts *o)
{
	*s = (struct xiw_rdmap_stream){
		.table = o->table,
		.pd = o->pd,
		.stream = o->stream,
		.rights = XIW_DDP_REMOTE_WRITE | XIW_DDP_REMOTE_READ | XIW_DDP_REMOTE_ATOMIC,
		.depth = o->depth,
		.answer_depth = answers_of(o->ird_max),
		.source = o->source,
	};
	if (!o->table || !o->depth || o->depth > XIW_RDMAP_MAX_DEPTH)
		return -EINVAL;
	if (!s->source.take)
		s->source = (struct xiw_block_source){ take_from_system, give_to_system, NULL };
	if (o->extended)
		s->exchanges = calloc(s->depth, sizeof(*s->exchanges));
	if ((s->exchanges || !o->extended) &&
	    !blocks_init(&s->ops, xiw_blocks_room(s->depth, XIW_RDMAP_OPS)) &&
	    !blocks_init(&s->answers, xiw_blocks_room(s->answer_depth, XIW_RDMAP_ANSWERS)))
		return 0;
	xiw_rdmap_free(s);
	return -ENOMEM;
}

size_t xiw_rdmap_memory(const struct xiw_rdmap_stream *s)
{
	return (s->ops.room + s->answers.room) * sizeof(void *) +
	       (s->exchanges ? s->depth * sizeof(*s->exchanges) : 0);
}

void xiw_rdmap_free(struct xiw_rdmap_stream *s)
{
	blocks_free(&s->ops, &s->source);
	blocks_free(&s->answers, &s->source);
	free(s->rooms);
	free(s->exchanges);
	s->exchanges = NULL;
	s->rooms = NULL;
}

size_t xiw_rdmap_reserve_size(const struct xiw_rdmap_stream *s, uint16_t ird)
{
	const uint32_t room = xiw_blocks_room(answers_of(ird), XIW_RDMAP_ANSWERS);

	return room > s->answers.room ? (room - s->answers.room) * sizeof(void *) : 0;
}

int xiw_rdmap_reserve(struct xiw_rdmap_stream *s, uint16_t ird)
{
	struct xiw_blocks more;

	if (answers_of(ird) <= s->answer_depth)
		return 0;
	if (blocks_init(&more, xiw_blocks_room(answers_of(ird), XIW_RDMAP_ANSWERS)))
		return -ENOMEM;
	blocks_free(&s->answers, &s->source);
	s->answers = more;
	s->answer_depth = answers_of(ird);
	return 0;
}

void xiw_rdmap_limits(struct xiw_rdmap_stream *s, uint16_t ird, uint16_t ord)
{
	s->ird = s->answer_depth / 2 < ird ? s->answer_depth / 2 : ird;
	s->ord = ord;
	s->info.ird = (uint16_t)s->ird;
	s->info.ord = ord;
}

void xiw_rdmap_fail(struct xiw_rdmap_stream *s, enum xiw_rdmap_error error, const uint8_t *header,
		    uint32_t header_len, uint32_t segment_len, const struct xiw_rdmap_read *read)
{
	if (s->state != XIW_RDMAP_OPEN)
		return;
	s->state = XIW_RDMAP_FAILED;
	xiw_rdmap_terminate_own(&s->info.sent, error);
	xiw_rdmap_terminate_quote(&s->info.sent, header, header_len, segment_len);
	if (read)
		xiw_rdmap_terminate_quote_read(&s->info.sent, read);
}

void xiw_rdmap_lower_failed(struct xiw_rdmap_stream *s, enum xiw_mpa_error mpa,
			    enum xiw_ddp_error ddp, const uint8_t *header, uint32_t header_len,
			    uint32_t segment_len)
{
	if (s->state != XIW_RDMAP_OPEN)
		return;
	s->state = XIW_RDMAP_FAILED;
	if (mpa)
		xiw_rdmap_terminate_mpa(&s->info.sent, mpa);
	else if (ddp)
		xiw_rdmap_terminate_ddp(&s->info.sent, ddp);
	else
		xiw_rdmap_terminate_own(&s->info.sent, XIW_RDMAP_LOCAL_CATASTROPHIC);
	xiw_rdmap_terminate_quote(&s->info.sent, header, header_len, segment_len);
}

bool xiw_rdmap_completed(struct xiw_rdmap_stream *s, struct xiw_rdmap_op *op)
{
	const struct xiw_rdmap_op *o;

	if (s->head == s->tail)
		return false;
	o = xiw_rdmap_op_at(s, s->head);
	if (!o->sent || !o->answered)
		return false;
	*op = *o;
	s->head++;
	/* What the peer will not answer is complete without having been with DDP. */
	if (s->next < s->head)
		s->next = s->head;
	xiw_block_pass(&s->ops, s->head, s->tail, XIW_RDMAP_OPS, &s->source);
	return true;
}

bool xiw_rdmap_idle(const struct xiw_rdmap_stream *s)
{
	return s->head == s->tail && s->answer_next == s->answer_tail;
}

void xiw_rdmap_peer_gone(struct xiw_rdmap_stream *s)
{
	s->no_answers = true;
	while (s->reads_out)
		xiw_rdmap_read_done(s, false);
	/* What asks and is not with DDP yet will never get there, but the operations behind it may. */
	for (uint64_t i = s->next; i != s->tail; i++) {
		struct xiw_rdmap_op *o = xiw_rdmap_op_at(s, i);

		if (!xiw_rdmap_is_asking(o->op.kind))
			continue;
		xiw_rdmap_drop_sink(s, o);
		o->sent = o->answered = o->failed = true;
	}
}

void xiw_rdmap_stop(struct xiw_rdmap_stream *s)
{
	bool asked = s->reads_out;

	/* What waits by a fence for an answer that will not come is not done, either. */
	for (uint64_t i = s->next; i != s->tail; i++) {
		struct xiw_rdmap_op *o = xiw_rdmap_op_at(s, i);

		if (xiw_rdmap_is_asking(o->op.kind))
			asked = true;
		else if (asked && o->op.flags & XIW_RDMA_FENCE && !o->sent)
			o->sent = o->failed = true;
	}
	xiw_rdmap_peer_gone(s);
	s->answer_tail = s->answer_next;
}

void xiw_rdmap_abandon(struct xiw_rdmap_stream *s)
{
	for (uint64_t i = s->head; i != s->tail; i++) {
		struct xiw_rdmap_op *o = xiw_rdmap_op_at(s, i);

		/* Section 6.2.1: the outcome is unknown, so it counts as an error. */
		o->failed |= !(o->sent || o->given) || !o->answered;
		o->answered = true;
		xiw_rdmap_drop_sink(s, o);
		if (i >= s->next)
			o->sent = true;
	}
	s->next = s->tail;
	s->reads_out = 0;
	s->answer_tail = s->answer_next;
	s->no_answers = true;
}
