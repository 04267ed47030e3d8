/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a stream begins, fails and ends. out.c has what it sends, and in.c what it receives. */
#include "rdmap/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "rdmap/reads.h"

#define BLOCK_SIZE (XIW_RDMAP_BLOCK * sizeof(struct xiw_rdmap_op))

static uint32_t blocks_of(const struct xiw_rdmap_stream *s)
{
	return (s->depth + XIW_RDMAP_BLOCK - 1) / XIW_RDMAP_BLOCK;
}

static int make_block(struct xiw_rdmap_stream *s, uint64_t block)
{
	if (!s->blocks[block])
		s->blocks[block] = calloc(1, BLOCK_SIZE);
	return s->blocks[block] ? 0 : -ENOMEM;
}

/* The block of the n-th operation behind those that are posted. */
static uint64_t block_behind(const struct xiw_rdmap_stream *s, uint32_t n)
{
	const uint64_t base = s->head == s->tail ? s->tail : s->base;

	return (s->tail + n - base) % s->depth / XIW_RDMAP_BLOCK;
}

size_t xiw_rdmap_places_size(const struct xiw_rdmap_stream *s)
{
	const uint64_t a = block_behind(s, 0), b = block_behind(s, 1);

	return (!s->blocks[a] + (a != b && !s->blocks[b])) * BLOCK_SIZE;
}

int xiw_rdmap_make_places(struct xiw_rdmap_stream *s)
{
	const uint64_t a = block_behind(s, 0), b = block_behind(s, 1);

	if (s->head == s->tail)
		s->base = s->tail;
	return make_block(s, a) || make_block(s, b) ? -ENOMEM : 0;
}

int xiw_rdmap_init(struct xiw_rdmap_stream *s, const struct xiw_rdmap_opts *o)
{
	*s = (struct xiw_rdmap_stream){
		.table = o->table,
		.pd = o->pd,
		.stream = o->stream,
		.depth = o->depth,
		.answer_depth =
			2 * (o->ird_max
				     ? o->ird_max
				     : 1u), /* as many as may be open, and as many that TCP has */
	};
	if (!o->table || !o->depth || o->depth > XIW_RDMAP_MAX_DEPTH)
		return -EINVAL;
	s->blocks = calloc(blocks_of(s), sizeof(*s->blocks));
	s->answers = calloc(s->answer_depth, sizeof(*s->answers));
	if (o->extended)
		s->exchanges = calloc(s->depth, sizeof(*s->exchanges));
	if (s->blocks && s->answers && (s->exchanges || !o->extended) && !make_block(s, 0))
		return 0;
	xiw_rdmap_free(s);
	return -ENOMEM;
}

size_t xiw_rdmap_memory(const struct xiw_rdmap_stream *s)
{
	return blocks_of(s) * sizeof(*s->blocks) + BLOCK_SIZE +
	       s->answer_depth * sizeof(*s->answers) +
	       (s->exchanges ? s->depth * sizeof(*s->exchanges) : 0);
}

void xiw_rdmap_free(struct xiw_rdmap_stream *s)
{
	for (uint32_t i = 0; s->blocks && i < blocks_of(s); i++)
		free(s->blocks[i]);
	free(s->blocks);
	free(s->rooms);
	free(s->exchanges);
	free(s->answers);
	s->blocks = NULL;
	s->exchanges = NULL;
	s->rooms = NULL;
	s->answers = NULL;
}

int xiw_rdmap_reserve(struct xiw_rdmap_stream *s, uint16_t ird)
{
	const uint32_t depth = 2 * (uint32_t)ird;
	struct xiw_rdmap_answer *more;

	if (depth <= s->answer_depth)
		return 0;
	more = calloc(depth, sizeof(*more));
	if (!more)
		return -ENOMEM;
	free(s->answers);
	s->answers = more;
	s->answer_depth = depth;
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

void xiw_rdmap_abandon(struct xiw_rdmap_stream *s)
{
	for (uint64_t i = s->head; i != s->tail; i++) {
		struct xiw_rdmap_op *o = xiw_rdmap_op_at(s, i);

		/* Section 6.2.1: the outcome is unknown, so it counts as an error. */
		o->failed |= !o->sent || !o->answered;
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
