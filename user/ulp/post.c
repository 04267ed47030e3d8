// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the application gives RDMAP: operations, on their way to DDP, and their completions; the end. */
#include <errno.h>
#include <string.h>

#include "base/opts.h"
#include "conn/conn.h"
#include "conn/fill.h"
#include "conn/limits.h"
#include "conn/send.h"
#include "core/agenda.h"
#include "core/cq.h"
#include "core/region.h"
#include "ulp/rdma.h"

/* The size of an operation in the first release that had it. */
#define WORK_FIRST 72

XIW_OPTS_WHOLE(struct xiw_rdma_work, invalidate);

/* ---- to the application ------------------------------------------------------------------------- */

enum xiw_operation xiw_rdma_operation(enum xiw_rdma_kind kind)
{
	static const uint8_t of[] = {
		[XIW_RDMA_SEND] = XIW_OPERATION_SEND,
		[XIW_RDMA_WRITE] = XIW_OPERATION_WRITE,
		[XIW_RDMA_READ] = XIW_OPERATION_READ,
		[XIW_RDMA_IMMEDIATE] = XIW_OPERATION_IMMEDIATE,
		[XIW_RDMA_WRITE_IMMEDIATE] = XIW_OPERATION_WRITE,
		[XIW_RDMA_FETCH_ADD] = XIW_OPERATION_FETCH_ADD,
		[XIW_RDMA_CMP_SWAP] = XIW_OPERATION_CMP_SWAP,
		[XIW_RDMA_REGISTER] = XIW_OPERATION_REGISTER,
		[XIW_RDMA_LOCAL_INVALIDATE] = XIW_OPERATION_LOCAL_INVALIDATE,
	};

	return (enum xiw_operation)((unsigned int)kind < sizeof(of) ? of[kind]
								    : XIW_OPERATION_NONE);
}

static enum xiw_event event_of(const struct xiw_rdmap_op *o)
{
	if (o->failed)
		return XIW_EV_FLUSHED;
	if (xiw_rdmap_is_change(o->op.kind))
		return XIW_EV_CHANGED;
	if (!xiw_rdmap_is_asking(o->op.kind))
		return XIW_EV_SENT;
	return o->op.kind == XIW_RDMA_READ ? XIW_EV_READ : XIW_EV_ATOMIC;
}

/* RFC 5040 section 6.2.1: what is not known to be done counts as failed. The oldest one timed out first. */
static enum xiw_cause cause_of(struct xiw_rdma *r, const struct xiw_rdmap_op *o)
{
	if (!o->failed)
		return XIW_CAUSE_NONE;
	if (o->cause)
		return (enum xiw_cause)o->cause;
	if (r->s.state != XIW_RDMAP_OPEN || r->conn->end.error != ETIMEDOUT || r->timed_out)
		return XIW_CAUSE_FLUSHED;
	r->timed_out = true;
	return XIW_CAUSE_TIMEOUT;
}

void xiw_rdma_report(struct xiw_rdma *r)
{
	struct xiw_rdmap_op o;

	while (xiw_rdmap_completed(&r->s, &o)) {
		struct xiw_completion done = {
			.user_data = o.op.user_data,
			.conn = r->conn,
			.event = event_of(&o),
			.status = o.failed ? -ECANCELED : 0,
			.length = o.op.len,
			.to = o.op.to,
			.stag = o.op.stag,
			.op = (uint8_t)xiw_rdma_operation(o.op.kind),
			.cause = (uint8_t)cause_of(r, &o),
		};

		if (done.event == XIW_EV_ATOMIC)
			done.value = o.original;
		if (!o.internal && (o.failed || !(o.op.flags & XIW_RDMA_UNSIGNALED)))
			xiw_complete(r->conn->engine, &done);
	}
}

/* ---- to DDP ------------------------------------------------------------------------------------- */

static int give(struct xiw_conn *c, const struct xiw_rdmap_out *out)
{
	struct xiw_message m = {
		.buf = out->npieces ? (const void *)out->pieces : out->buf,
		.len = out->len,
		.to = out->to,
		.stag = out->stag,
		.qn = out->qn,
		.tagged = out->tagged,
		.user_data = out->id,
	};

	memcpy(m.rsvdulp, out->rsvdulp, sizeof(m.rsvdulp));
	/* There is a buffer for each answer, and no more (RFC 7306 section 5.2.2 rule 5). */
	if (out->answer &&
	    xiw_post_recv(c, XIW_RDMAP_QN_ATOMIC, out->answer, XIW_RDMAP_ORIGINAL_LEN, out->id))
		return -ENOBUFS;
	if (out->from_region)
		return xiw_send_from_region(c, &m);
	return xiw_send_pieces(c, &m, out->npieces);
}

/* Passes a message to DDP. */
static void pass(struct xiw_rdma *r, const struct xiw_rdmap_out *out)
{
	struct xiw_conn *c = r->conn;

	if (give(c, out)) {
		xiw_rdmap_sent(&r->s, out->id, false);
		return;
	}
	r->with_ddp++;
	if (!(out->id & XIW_RDMAP_ID_RESPONSE))
		xiw_rdmap_numbered(&r->s, out->id, out->qn,
				   xiw_queued_at(c, c->send.count - 1)->cut.hdr.msn);
}

/*
 * One place stays free for a Terminate. Without memory for it, what has been sent makes room; with nothing under way
 * nothing would, so the place that every connection has is used, and a Terminate might not be sent.
 */
static bool has_places(struct xiw_conn *c)
{
	return xiw_send_reserve(c, 2) || (!c->send.count && xiw_send_reserve(c, 1));
}

void xiw_rdma_pump(struct xiw_rdma *r)
{
	struct xiw_conn *c = r->conn;
	struct xiw_rdmap_out out;
	int got = 0;

	xiw_regions_enter(c->engine);
	while (r->connected && !r->ended && r->with_ddp + 1 < c->send.depth &&
	       !xiw_rdmap_idle(&r->s) && has_places(c) && (got = xiw_rdmap_next(&r->s, &out)) > 0)
		pass(r, &out);
	xiw_regions_leave(c->engine);
	if (got < 0)
		xiw_conn_stream_error(c, 0, 0);
	xiw_rdma_report(r);
	/* Until everything is sent, a Terminate may have to follow, for example because a region is freed. */
	if (r->closing && !r->ended && !r->with_ddp && xiw_rdmap_idle(&r->s))
		xiw_conn_ask_close(c);
}

void xiw_rdma_post_request(struct xiw_rdma *r)
{
	xiw_post_recv(r->conn, XIW_RDMAP_QN_READ, r->request, r->request_len, 0);
}

/* ---- the application's functions ---------------------------------------------------------------- */

/* May operations be posted? */
static int check_open(const struct xiw_rdma *r)
{
	if (r->closing || r->ended || r->conn->end.closing)
		return -EPIPE;
	return r->connected ? 0 : -ENOTCONN;
}

/* Takes memory for the buffers of as many answers as may be outstanding. */
static int make_answer_rooms(struct xiw_rdma *r)
{
	const uint32_t posted = r->conn->ddp->queues[XIW_RDMAP_QN_ATOMIC].count;

	return r->s.ord > posted ? xiw_post_reserve(r->conn, XIW_RDMAP_QN_ATOMIC, r->s.ord - posted)
				 : 0;
}

/*
 * Makes sure that the stream can keep pieces and octets, if this operation has any to keep, and the answer to an atomic
 * operation.
 */
static int make_rooms(struct xiw_rdma *r, enum xiw_rdma_kind kind, unsigned int flags,
		      unsigned int npieces)
{
	if (r->s.exchanges && (kind == XIW_RDMA_FETCH_ADD || kind == XIW_RDMA_CMP_SWAP))
		return make_answer_rooms(r);
	if (r->s.rooms || !xiw_rdmap_needs_room(flags, npieces))
		return 0;
	if (!xiw_conn_charge(r->conn, xiw_rdmap_rooms_size(&r->s)))
		return -ENOMEM;
	return xiw_rdmap_make_rooms(&r->s);
}

int xiw_rdma_post(struct xiw_rdma *r, const struct xiw_rdma_op *op)
{
	int err = check_open(r);

	if (!err)
		err = make_rooms(r, op->kind, op->flags, 1);
	if (!err) {
		xiw_regions_enter(r->conn->engine);
		err = xiw_rdmap_post(&r->s, op);
		xiw_regions_leave(r->conn->engine);
	}
	if (!err)
		xiw_rdma_pump(r);
	return err;
}

static int post_change(struct xiw_rdma *r, const struct xiw_rdma_work *w)
{
	const struct xiw_ddp_region *region;
	uint32_t rights = 0;

	if (!w->region || w->region->engine != r->conn->engine)
		return -EINVAL;
	if (w->kind == XIW_RDMA_REGISTER ? xiw_region_rights(w->access, &rights) || !rights
					 : w->access)
		return -EINVAL;
	region = xiw_region_now(w->region);
	return region ? xiw_rdmap_post_change(&r->s, w, region, rights) : -ENOENT;
}

static int post_one(struct xiw_rdma *r, const void *theirs, size_t size)
{
	struct xiw_rdma_work w;
	int err = xiw_opts_take(&w, sizeof(w), WORK_FIRST, theirs);

	/* The elements of an array have one size, by which the next one is found. */
	if (!err && *(const size_t *)theirs != size)
		err = -EINVAL;
	if (!err && xiw_rdmap_is_change(w.kind))
		return post_change(r, &w);
	if (!err)
		err = make_rooms(r, w.kind, w.flags, w.iov_count);
	return err ? err : xiw_rdmap_post_work(&r->s, &w);
}

int xiw_rdma_post_many(struct xiw_rdma *r, const struct xiw_rdma_work *work, unsigned int count,
		       unsigned int *posted)
{
	const size_t size = count ? work->size : 0;
	unsigned int n = 0;
	int err = check_open(r);

	xiw_regions_enter(r->conn->engine);
	while (!err && n < count) {
		err = post_one(r, (const uint8_t *)work + n * size, size);
		n += !err;
	}
	xiw_regions_leave(r->conn->engine);
	if (posted)
		*posted = n;
	if (n)
		xiw_rdma_pump(r);
	return err;
}

int xiw_rdma_close(struct xiw_rdma *r)
{
	if (!r->connected)
		return xiw_conn_close(r->conn);
	if (!r->closing && !r->ended)
		xiw_conn_limit_close(r->conn); /* as an answer may never come */
	r->closing = true;
	xiw_rdma_pump(r);
	return 0;
}

int xiw_rdma_set_access(struct xiw_rdma *r, unsigned int access)
{
	uint32_t rights = 0;

	if (access & ~(unsigned int)(XIW_ACCESS_WRITE | XIW_ACCESS_READ | XIW_ACCESS_ATOMIC))
		return -EINVAL;
	if (access & XIW_ACCESS_WRITE)
		rights |= XIW_DDP_REMOTE_WRITE;
	if (access & XIW_ACCESS_READ)
		rights |= XIW_DDP_REMOTE_READ;
	if (access & XIW_ACCESS_ATOMIC)
		rights |= XIW_DDP_REMOTE_ATOMIC;
	r->s.rights = rights;
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
	const struct xiw_conn *c = r->conn;
	struct xiw_rdma_info now = r->s.info;

	now.pieces_max = XIW_RDMA_PIECES_MAX;
	now.inline_max = XIW_RDMA_INLINE_MAX;
	now.send_depth = r->s.depth;
	now.recv_depth = c->opts.recv_depth;
	now.posted = (uint32_t)(r->s.tail - r->s.head);
	now.unanswered = r->s.reads_out;
	now.recvs_posted = c->ddp->queues[XIW_RDMAP_QN_SEND].count;
	xiw_opts_give(info, size, &now, sizeof(now));
}
