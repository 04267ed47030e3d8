// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the application gives RDMAP: operations, on their way to DDP, and their completions; buffers; the end. */
#include <errno.h>
#include <string.h>

#include "base/opts.h"
#include "conn/conn.h"
#include "conn/limits.h"
#include "conn/send.h"
#include "core/agenda.h"
#include "core/cq.h"
#include "ulp/rdma.h"

/* ---- to the application ------------------------------------------------------------------------- */

void xiw_rdma_report(struct xiw_rdma *r)
{
	struct xiw_rdmap_op o;

	while (xiw_rdmap_completed(&r->s, &o)) {
		struct xiw_completion done = {
			.user_data = o.op.user_data,
			.conn = r->conn,
			.event = o.failed		      ? XIW_EV_FLUSHED
				 : o.op.kind == XIW_RDMA_READ ? XIW_EV_READ
							      : XIW_EV_SENT,
			.status = o.failed ? -ECANCELED : 0,
			.length = o.op.len,
			.to = o.op.to,
			.stag = o.op.stag,
		};

		if (!o.internal)
			xiw_complete(r->conn->engine, &done);
	}
}

/* ---- to DDP ------------------------------------------------------------------------------------- */

static int give(struct xiw_conn *c, const struct xiw_rdmap_out *out)
{
	struct xiw_message m = {
		.buf = out->buf,
		.len = out->len,
		.to = out->to,
		.stag = out->stag,
		.qn = out->qn,
		.tagged = out->tagged,
		.user_data = out->id,
	};

	memcpy(m.rsvdulp, out->rsvdulp, sizeof(m.rsvdulp));
	return out->from_region ? xiw_send_from_region(c, &m) : xiw_send(c, &m);
}

void xiw_rdma_pump(struct xiw_rdma *r)
{
	struct xiw_conn *c = r->conn;
	struct xiw_rdmap_out out;
	int got = 0;

	while (r->connected && r->with_ddp + 1 < c->send.depth &&
	       (got = xiw_rdmap_next(&r->s, &out)) > 0) {
		if (give(c, &out))
			xiw_rdmap_sent(&r->s, out.id, false);
		else
			r->with_ddp++;
	}
	if (got < 0)
		xiw_conn_stream_error(c, 0, 0);
	xiw_rdma_report(r);
	/* Until everything is sent, a Terminate may have to follow, for example because a region is freed. */
	if (r->closing && !r->ended && !r->with_ddp && xiw_rdmap_idle(&r->s))
		xiw_conn_ask_close(c);
}

void xiw_rdma_post_request(struct xiw_rdma *r, uint64_t i)
{
	xiw_post_recv(r->conn, XIW_RDMAP_QN_READ, r->requests[i], XIW_RDMAP_READ_LEN, i);
}

/* ---- the application's functions ---------------------------------------------------------------- */

int xiw_rdma_post(struct xiw_rdma *r, const struct xiw_rdma_op *op)
{
	int err;

	if (r->closing || r->ended || r->conn->end.closing)
		return -EPIPE;
	if (!r->connected)
		return -ENOTCONN;
	err = xiw_rdmap_post(&r->s, op);
	if (!err)
		xiw_rdma_pump(r);
	return err;
}

int xiw_rdma_post_recv(struct xiw_rdma *r, void *buf, uint32_t len, uint64_t user_data)
{
	return xiw_post_recv(r->conn, XIW_RDMAP_QN_SEND, buf, len, user_data);
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
	xiw_opts_give(info, size, &r->s.info, sizeof(r->s.info));
}
