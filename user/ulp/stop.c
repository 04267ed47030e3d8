// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The end that an application makes at once: see xiw_rdma_stop(). */
#include <errno.h>

#include "conn/conn.h"
#include "conn/fill.h"
#include "conn/limits.h"
#include "conn/send.h"
#include "conn/stop.h"
#include "ulp/rdma.h"

/*
 * Completes all operations. Those in the stage count as sent, since it has copied them. The others are flushed; if one
 * of them was begun, the peer is told by a Terminate that its message has no end.
 */
static void forsake(struct xiw_rdma *r)
{
	struct xiw_conn *c = r->conn;

	xiw_send_settle(c);
	if (r->ended)
		return;
	if (c->send.count && xiw_queued_at(c, 0)->cut.off)
		xiw_rdmap_lower_failed(&r->s, 0, 0, NULL, 0, 0);
	xiw_rdma_end_stream(r);
}

/* A Responder that has heard nothing may not send, and hears nothing any more, but it may be about to speak first. */
static bool may_send(const struct xiw_conn *c)
{
	return c->send.allowed || c->timer.limit == XIW_LIMIT_FIRST;
}

static void stop(struct xiw_rdma *r, bool sends, struct xiw_conn *c)
{
	bool begun = false;

	if (!r->ended) {
		xiw_rdmap_stop(&r->s);
		/* An answer reads memory that is the application's again. */
		begun = xiw_send_withdraw(c, xiw_rdma_is_answer);
	}
	if (!r->ended && !begun) {
		xiw_conn_limit_close(c);
		r->closing = true;
		xiw_rdma_pump(r);
		xiw_send_now(c);
	}
	if (begun || sends || !may_send(c))
		forsake(r);
}

int xiw_rdma_stop(struct xiw_rdma *r, unsigned int flags)
{
	struct xiw_conn *c = r->conn;

	if (flags & ~XIW_RDMA_STOP_SENDS)
		return -EINVAL;
	if (c->state == XIW_DEAD)
		return 0;
	if (!r->connected && c->startup.rtr_wait && !flags) {
		c->startup.deaf = true;
		return -EAGAIN;
	}
	if (!r->connected) {
		xiw_conn_abort(c);
		return 0;
	}
	xiw_regions_enter(c->engine);
	xiw_conn_stop(c);
	stop(r, flags & XIW_RDMA_STOP_SENDS, c);
	xiw_regions_leave(c->engine);
	return 0;
}
