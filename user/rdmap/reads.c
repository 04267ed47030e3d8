/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rdmap/reads.h"

enum xiw_rdmap_error xiw_rdmap_check_region(const struct xiw_rdmap_stream *s, uint32_t stag,
					    uint64_t to, uint64_t len, uint32_t access,
					    const struct xiw_ddp_region **region)
{
	const struct xiw_ddp_region *r;

	if (access & ~s->rights)
		return XIW_RDMAP_ACCESS;
	switch (xiw_ddp_region_check(s->table, stag, s->pd, s->stream, access, to, len, region)) {
	case XIW_DDP_OK:
		return XIW_RDMAP_OK;
	case XIW_DDP_TAGGED_NOT_STREAM:
		return XIW_RDMAP_NOT_STREAM;
	case XIW_DDP_TAGGED_TO_WRAP:
		return XIW_RDMAP_TO_WRAP;
	case XIW_DDP_TAGGED_BOUNDS:
		return XIW_RDMAP_BOUNDS;
	default:
		break;
	}
	/* DDP has one number both for an STag that does not exist and for one without the right; RDMAP has two. */
	r = xiw_ddp_region_lookup(s->table, stag);
	return r ? XIW_RDMAP_ACCESS : XIW_RDMAP_STAG;
}

/* The peer may have invalidated the STag itself (section 5.3), and somebody else may have got it since. */
void xiw_rdmap_drop_sink(struct xiw_rdmap_stream *s, struct xiw_rdmap_op *o)
{
	const struct xiw_ddp_region *r;

	if (!o->own_sink)
		return;
	o->own_sink = false;
	r = xiw_ddp_region_lookup(s->table, o->op.sink_stag);
	if (r && r->serial == o->sink_serial)
		xiw_ddp_region_invalidate(s->table, o->op.sink_stag);
}

void xiw_rdmap_drop_sinks(struct xiw_rdmap_stream *s)
{
	for (uint64_t i = s->head; i != s->tail; i++)
		xiw_rdmap_drop_sink(s, xiw_rdmap_op_at(s, i));
}

/* Ends the oldest Read, and finds the one that is the oldest now. */
void xiw_rdmap_read_done(struct xiw_rdmap_stream *s, bool success)
{
	struct xiw_rdmap_op *o = xiw_rdmap_op_at(s, s->read_at);

	xiw_rdmap_drop_sink(s, o);
	o->answered = true;
	o->failed |= !success;
	if (--s->reads_out == 0)
		return;
	do {
		s->read_at++;
	} while (xiw_rdmap_op_at(s, s->read_at)->answered);
}

struct xiw_rdmap_op *xiw_rdmap_oldest_read(struct xiw_rdmap_stream *s)
{
	return s->reads_out ? xiw_rdmap_op_at(s, s->read_at) : NULL;
}
