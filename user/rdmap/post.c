/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How an operation is posted: its checks, and what is kept of it until it is complete. RFC 5040 sections 5.2, 6.1. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdmap/reads.h"
#include "rdmap/stream.h"

#define FLAGS_SEND (XIW_RDMA_SOLICITED | XIW_RDMA_INVALIDATE)
#define FLAGS_ALL (FLAGS_SEND | XIW_RDMA_FENCE | XIW_RDMA_INLINE | XIW_RDMA_UNSIGNALED)

int xiw_rdmap_make_rooms(struct xiw_rdmap_stream *s)
{
	if (!s->rooms)
		s->rooms = malloc(xiw_rdmap_rooms_size(s));
	return s->rooms ? 0 : -ENOMEM;
}

size_t xiw_rdmap_rooms_size(const struct xiw_rdmap_stream *s)
{
	return s->depth * sizeof(*s->rooms);
}

/* Sets the length of all pieces. */
static int check_pieces(const struct xiw_rdma_work *w, uint64_t *len)
{
	*len = 0;
	if (w->iov_count > XIW_RDMA_PIECES_MAX || (w->iov_count && !w->iov))
		return -EINVAL;
	for (unsigned int i = 0; i < w->iov_count; i++) {
		if (w->iov[i].iov_len > UINT32_MAX - *len)
			return -EMSGSIZE;
		if (w->iov[i].iov_len && !w->iov[i].iov_base)
			return -EINVAL;
		*len += w->iov[i].iov_len;
	}
	return 0;
}

static int check_sent(const struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w,
		      struct xiw_rdmap_op *o)
{
	int err = w->len ? -EINVAL : check_pieces(w, &o->op.len);

	if (err)
		return err;
	if (w->flags & XIW_RDMA_INLINE && o->op.len > XIW_RDMA_INLINE_MAX)
		return -EMSGSIZE;
	return xiw_rdmap_needs_room(w->flags, w->iov_count) && !s->rooms ? -ENOMEM : 0;
}

static int check_read(const struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w,
		      struct xiw_rdmap_op *o)
{
	const struct xiw_ddp_region *r;

	if (w->iov_count || w->flags & XIW_RDMA_INLINE)
		return -EINVAL;
	if (w->len > UINT32_MAX)
		return -EMSGSIZE;
	if (!s->ord)
		return -EOPNOTSUPP;
	if (s->no_answers)
		return -EPIPE;
	/* The sink that the peer is told to write to must be a place where DDP lets it write. */
	if (!w->len)
		return 0;
	if (xiw_ddp_region_check(s->table, w->sink_stag, s->pd, s->stream, XIW_DDP_REMOTE_WRITE,
				 w->sink_to, w->len, &r))
		return -EACCES;
	o->sink_serial = r->serial;
	return 0;
}

/* Sets what the check finds out: the length, and the sink's serial. */
static int check_work(const struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w,
		      struct xiw_rdmap_op *o)
{
	uint64_t end;
	int err = -EINVAL;

	if (w->flags & ~FLAGS_ALL || (w->kind != XIW_RDMA_SEND && w->flags & FLAGS_SEND))
		return -EINVAL;
	switch (w->kind) {
	case XIW_RDMA_SEND:
	case XIW_RDMA_WRITE:
		err = check_sent(s, w, o);
		break;
	case XIW_RDMA_READ:
		err = check_read(s, w, o);
		break;
	}
	if (!err && w->kind != XIW_RDMA_SEND && __builtin_add_overflow(w->to, o->op.len, &end))
		err = -EINVAL;
	return err;
}

/* Keeps where the octets of a Send or Write are, or the octets themselves. */
static void keep(struct xiw_rdmap_op *o, const struct xiw_rdma_work *w, union xiw_rdmap_room *room)
{
	uint8_t *end;

	if (!xiw_rdmap_needs_room(w->flags, w->iov_count)) {
		o->buf = w->iov_count ? w->iov->iov_base : NULL;
		return;
	}
	if (w->flags & XIW_RDMA_INLINE) {
		o->buf = end = room->octets;
		for (unsigned int i = 0; i < w->iov_count; i++)
			if (w->iov[i].iov_len)
				end = mempcpy(end, w->iov[i].iov_base, w->iov[i].iov_len);
		return;
	}
	o->npieces = w->iov_count;
	for (unsigned int i = 0; i < w->iov_count; i++)
		room->pieces[i] = (struct xiw_vec){ w->iov[i].iov_base, w->iov[i].iov_len };
}

static void make_request(struct xiw_rdmap_op *o)
{
	const struct xiw_rdmap_read read = {
		.sink_stag = o->op.sink_stag,
		.sink_to = o->op.sink_to,
		.size = (uint32_t)o->op.len,
		.src_stag = o->op.stag,
		.src_to = o->op.to,
	};

	xiw_rdmap_read_encode(&read, o->request);
}

int xiw_rdmap_post_work(struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w)
{
	struct xiw_rdmap_op *o, new = { .op = *w };
	int err;

	if (s->state != XIW_RDMAP_OPEN)
		return -EPIPE;
	err = check_work(s, w, &new);
	if (err)
		return err;
	if (s->tail - s->head == s->depth)
		return -EAGAIN;
	o = xiw_rdmap_op_at(s, s->tail);
	*o = new;
	o->op.iov = NULL;
	if (w->kind == XIW_RDMA_READ) {
		make_request(o);
	} else {
		o->answered = true;
		keep(o, w, s->rooms ? &s->rooms[s->tail % s->depth] : NULL);
	}
	s->tail++;
	return 0;
}

int xiw_rdmap_post(struct xiw_rdmap_stream *s, const struct xiw_rdma_op *op)
{
	const bool read = op->kind == XIW_RDMA_READ;
	const struct iovec piece = { (void *)(uintptr_t)op->buf, op->len };
	const struct xiw_rdma_work w = {
		.size = sizeof(w),
		.user_data = op->user_data,
		.kind = op->kind,
		.flags = op->flags,
		.iov = &piece,
		.iov_count = read ? op->buf != NULL : op->len != 0,
		.stag = op->stag,
		.to = op->to,
		.len = read ? op->len : 0,
		.sink_to = op->sink_to,
		.sink_stag = op->sink_stag,
		.invalidate = op->invalidate,
	};

	return xiw_rdmap_post_work(s, &w);
}

int xiw_rdmap_post_ready(struct xiw_rdmap_stream *s)
{
	struct xiw_rdmap_op *o = xiw_rdmap_op_at(s, s->tail);

	if (s->tail != s->head)
		return -EAGAIN;
	*o = (struct xiw_rdmap_op){ .op.kind = XIW_RDMA_READ, .internal = true };
	make_request(o);
	s->tail++;
	return 0;
}
