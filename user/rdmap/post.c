/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How an operation is posted: its checks, and what is kept of it until it is complete. RFC 5040 sections 5.2, 6.1; RFC
 * 7306 sections 5.2.1, 6.1.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdmap/reads.h"
#include "rdmap/stream.h"

/* The flags of every kind. */
#define FLAGS_ALL (XIW_RDMA_FENCE | XIW_RDMA_UNSIGNALED)

static unsigned int flags_of(enum xiw_rdma_kind kind)
{
	switch (kind) {
	case XIW_RDMA_SEND:
		return FLAGS_ALL | XIW_RDMA_INLINE | XIW_RDMA_SOLICITED | XIW_RDMA_INVALIDATE;
	case XIW_RDMA_WRITE:
		return FLAGS_ALL | XIW_RDMA_INLINE;
	case XIW_RDMA_IMMEDIATE:
	case XIW_RDMA_WRITE_IMMEDIATE:
		return FLAGS_ALL | XIW_RDMA_INLINE | XIW_RDMA_SOLICITED;
	case XIW_RDMA_READ:
		return FLAGS_ALL | XIW_RDMA_REGISTERED;
	default:
		return FLAGS_ALL;
	}
}

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

/* Can this be asked at all, now and later? */
static int check_asking(const struct xiw_rdmap_stream *s)
{
	if (!s->ord)
		return -EOPNOTSUPP;
	return s->no_answers ? -EPIPE : 0;
}

/* A sink of plain memory: it gets an STag when the operation is appended. */
static int check_plain_sink(const struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w,
			    struct xiw_rdmap_op *o)
{
	int err = w->len || w->sink_stag || w->sink_to ? -EINVAL : check_pieces(w, &o->op.len);

	if (err)
		return err;
	o->own_sink = o->op.len;
	return w->iov_count > 1 && !s->rooms ? -ENOMEM : check_asking(s);
}

static int check_read(const struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w,
		      struct xiw_rdmap_op *o)
{
	const struct xiw_ddp_region *r;
	int err;

	if (w->iov_count)
		return check_plain_sink(s, w, o);
	if (w->len > UINT32_MAX)
		return -EMSGSIZE;
	err = check_asking(s);
	if (err)
		return err;
	/* The sink that the peer is told to write to must be a place where DDP places the answer to a Read. */
	if (!w->len)
		return 0;
	if (xiw_ddp_region_check(s->table, w->sink_stag, s->pd, s->stream, XIW_DDP_SINK, w->sink_to,
				 w->len, &r))
		return -EACCES;
	o->sink_serial = r->serial;
	return 0;
}

static int check_atomic(const struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w,
			struct xiw_rdmap_op *o)
{
	if (!w->atomic || w->iov_count || w->len)
		return -EINVAL;
	o->op.len = XIW_RDMAP_WORD_LEN;
	return s->exchanges ? check_asking(s) : -EOPNOTSUPP;
}

static int check_immediate(const struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w,
			   struct xiw_rdmap_op *o)
{
	if (w->iov_count || w->len)
		return -EINVAL;
	o->op.len = XIW_RDMAP_WORD_LEN;
	return s->exchanges ? 0 : -EOPNOTSUPP;
}

/* It takes two places. */
static int check_write_immediate(const struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w,
				 struct xiw_rdmap_op *o)
{
	if (s->depth < 2)
		return -EINVAL;
	return s->exchanges ? check_sent(s, w, o) : -EOPNOTSUPP;
}

/* Does it name a place of the peer's by STag and TO? */
static bool names_place(enum xiw_rdma_kind kind)
{
	return kind != XIW_RDMA_SEND && kind != XIW_RDMA_IMMEDIATE;
}

/* Sets what the check finds out: the length, and the sink's serial. */
static int check_work(const struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w,
		      struct xiw_rdmap_op *o)
{
	uint64_t end;
	int err = -EINVAL;

	if (w->flags & ~flags_of(w->kind))
		return -EINVAL;
	switch (w->kind) {
	case XIW_RDMA_SEND:
	case XIW_RDMA_WRITE:
		err = check_sent(s, w, o);
		break;
	case XIW_RDMA_READ:
		err = check_read(s, w, o);
		break;
	case XIW_RDMA_IMMEDIATE:
		err = check_immediate(s, w, o);
		break;
	case XIW_RDMA_WRITE_IMMEDIATE:
		err = check_write_immediate(s, w, o);
		break;
	case XIW_RDMA_FETCH_ADD:
	case XIW_RDMA_CMP_SWAP:
		err = check_atomic(s, w, o);
		break;
	case XIW_RDMA_REGISTER: /* xiw_rdmap_post_change() */
	case XIW_RDMA_LOCAL_INVALIDATE:
		break;
	}
	if (!err && names_place(w->kind) && __builtin_add_overflow(w->to, o->op.len, &end))
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

/*
 * Makes the STag of a sink of plain memory. It is bound to this stream, for answers to Reads alone, and goes when the
 * Read completes: RFC 5042 section 6.2.2 has the right revoked before the ULP looks at the octets.
 */
static int make_sink(struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w,
		     struct xiw_rdmap_op *o)
{
	struct xiw_ddp_region_opts region = {
		.len = o->op.len,
		.pd = s->pd,
		.stream = s->stream,
		.access = XIW_DDP_SINK,
		.borrowed = w->flags & XIW_RDMA_REGISTERED,
	};
	struct xiw_ddp_piece *pieces = s->rooms ? s->rooms[s->tail % s->depth].sink : NULL;
	uint32_t n = 0;
	int err;

	for (unsigned int i = 0; i < w->iov_count; i++) {
		if (!w->iov[i].iov_len)
			continue;
		region.ptr = w->iov[i].iov_base;
		if (w->iov_count > 1)
			pieces[n++] = (struct xiw_ddp_piece){ region.ptr, w->iov[i].iov_len };
	}
	if (n > 1) {
		region.ptr = pieces;
		region.npieces = n;
	}
	err = xiw_ddp_region_register(s->table, &region, &o->op.sink_stag);
	if (!err)
		o->sink_serial = xiw_ddp_region_lookup(s->table, o->op.sink_stag)->serial;
	return err;
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

/* The Request Identifier is the operation's number. */
static void make_atomic_request(struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w)
{
	const struct xiw_rdmap_atomic request = {
		.code = w->kind == XIW_RDMA_FETCH_ADD ? XIW_RDMAP_ATOMIC_FETCH_ADD
						      : XIW_RDMAP_ATOMIC_CMP_SWAP,
		.id = (uint32_t)s->tail,
		.stag = w->stag,
		.to = w->to,
		.operands = *w->atomic,
	};

	xiw_rdmap_atomic_encode(&request, xiw_rdmap_exchange_at(s, s->tail)->request);
}

/* `w` is what was posted, and `new` what the checks have made of it. */
static void append(struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w,
		   const struct xiw_rdmap_op *new)
{
	struct xiw_rdmap_op *o = xiw_rdmap_op_at(s, s->tail);

	*o = *new;
	o->op.iov = NULL;
	o->answered = !xiw_rdmap_is_asking(o->op.kind);
	switch (o->op.kind) {
	case XIW_RDMA_SEND:
	case XIW_RDMA_WRITE:
		keep(o, w, s->rooms ? &s->rooms[s->tail % s->depth] : NULL);
		break;
	case XIW_RDMA_READ:
		make_request(o);
		break;
	case XIW_RDMA_IMMEDIATE:
	case XIW_RDMA_WRITE_IMMEDIATE:
		xiw_put_be64(o->request, w->immediate);
		break;
	case XIW_RDMA_FETCH_ADD:
	case XIW_RDMA_CMP_SWAP:
		make_atomic_request(s, w);
		break;
	case XIW_RDMA_REGISTER: /* all of it is in the operation */
	case XIW_RDMA_LOCAL_INVALIDATE:
		break;
	}
	s->tail++;
}

/* A Write of which the application is not told, and Immediate Data behind it, whose completion is that of both. */
static void append_write_immediate(struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w,
				   const struct xiw_rdmap_op *new)
{
	struct xiw_rdmap_op write = *new, immediate = *new;

	write.internal = true;
	write.op.kind = XIW_RDMA_WRITE;
	append(s, w, &write);
	/* Where the Write has waited, the Immediate Data need not wait again. */
	immediate.op.flags &= ~(unsigned int)XIW_RDMA_FENCE;
	append(s, w, &immediate);
}

int xiw_rdmap_post_work(struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w)
{
	const bool two = w->kind == XIW_RDMA_WRITE_IMMEDIATE;
	struct xiw_rdmap_op new = { .op = *w };
	int err;

	if (s->state != XIW_RDMAP_OPEN)
		return -EPIPE;
	err = check_work(s, w, &new);
	if (err)
		return err;
	if (s->tail - s->head + two >= s->depth)
		return -EAGAIN;
	if (xiw_rdmap_make_places(s, two, false))
		return -ENOMEM;
	if (new.own_sink)
		err = make_sink(s, w, &new);
	if (err)
		return err;
	if (two)
		append_write_immediate(s, w, &new);
	else
		append(s, w, &new);
	return 0;
}

int xiw_rdmap_post_change(struct xiw_rdmap_stream *s, const struct xiw_rdma_work *w,
			  const struct xiw_ddp_region *region, uint32_t rights)
{
	struct xiw_rdmap_op new = { .op = *w };

	if (s->state != XIW_RDMAP_OPEN)
		return -EPIPE;
	if (w->flags & ~flags_of(w->kind) || w->iov_count || w->len)
		return -EINVAL;
	if (region->pd != s->pd ||
	    (region->stream != XIW_DDP_ANY_STREAM && region->stream != s->stream))
		return -EACCES;
	if (s->tail - s->head == s->depth)
		return -EAGAIN;
	if (xiw_rdmap_make_places(s, false, false))
		return -ENOMEM;
	new.op.stag = region->stag;
	new.op.access = rights;
	new.serial = region->serial;
	append(s, w, &new);
	return 0;
}

int xiw_rdmap_post(struct xiw_rdmap_stream *s, const struct xiw_rdma_op *op)
{
	const bool sends = op->kind == XIW_RDMA_SEND || op->kind == XIW_RDMA_WRITE ||
			   op->kind == XIW_RDMA_WRITE_IMMEDIATE;
	const bool atomic = op->kind == XIW_RDMA_FETCH_ADD || op->kind == XIW_RDMA_CMP_SWAP;
	const bool plain = op->kind == XIW_RDMA_READ && op->buf;
	const struct iovec piece = { (void *)(uintptr_t)op->buf, op->len };
	struct xiw_rdma_work w = {
		.size = sizeof(w),
		.user_data = op->user_data,
		.kind = op->kind,
		.flags = op->flags,
		.iov = &piece,
		.iov_count = sends ? op->len != 0 : !atomic && op->buf,
		.stag = op->stag,
		.to = op->to,
		.len = sends || plain ? 0 : op->len,
		.sink_to = op->sink_to,
		.sink_stag = op->sink_stag,
		.invalidate = op->invalidate,
	};

	if (atomic)
		w.atomic = op->atomic;
	return xiw_rdmap_post_work(s, &w);
}

int xiw_rdmap_post_ready(struct xiw_rdmap_stream *s)
{
	struct xiw_rdmap_op *o;

	if (s->tail != s->head)
		return -EAGAIN;
	if (xiw_rdmap_make_places(s, false, true))
		return -ENOMEM;
	o = xiw_rdmap_op_at(s, s->tail);
	*o = (struct xiw_rdmap_op){ .op.kind = XIW_RDMA_READ, .internal = true };
	make_request(o);
	s->tail++;
	return 0;
}
