// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "conn/stop.h"

#include <errno.h>

#include "core/cq.h"
#include "core/srq.h"
#include "path/fallback.h"
#include "path/hold.h"
#include "path/kernel.h"

/*
 * From now on the socket takes what comes, and xiw_recv_done() drops it. Frames that the engine holds, behind a gap or
 * for want of a buffer, are injected into the socket: it acknowledges them, so that the peer's TCP goes on as before.
 * Frames that come until the owner word is swapped take the same way (xiw_inject_late()).
 */
static void shut_out(struct xiw_conn *c)
{
	if (c->hold.on) {
		xiw_hold_forget(c);
		xiw_recv_post(c);
	}
	xiw_fall_back(c, XIW_REASON_ERROR, NULL);
	/* The flow must not stay armed: XDP would redirect frames that nobody takes any more. */
	if (c->flow && c->stretch.state == XIW_STRETCH_OFF)
		xiw_flow_to_kernel(c->flow);
}

void xiw_conn_return_buffers(struct xiw_conn *c)
{
	struct xiw_completion done = {
		.conn = c,
		.event = XIW_EV_FLUSHED,
		.status = -ECANCELED,
		.op = XIW_OPERATION_RECV,
		.cause = XIW_CAUSE_FLUSHED,
	};
	struct xiw_ddp_buf buf;

	while (c->ddp && xiw_ddp_rx_flush(c->ddp, &done.qn, &buf)) {
		done.user_data = buf.user_data;
		if (!c->ulp)
			xiw_complete(c->engine, &done);
		else if (!xiw_conn_silent(c))
			c->ulp->returned(c, done.qn, buf.user_data);
	}
}

/* Our own half goes on until the application closes. */
void xiw_conn_failed(struct xiw_conn *c)
{
	c->end.failing = false;
	if (c->state == XIW_DEAD)
		return; /* a reset came in the same turn, and the closing event reports the stream error */
	shut_out(c);
	xiw_conn_event(c, XIW_EV_ERROR, -EPROTO);
	/* Others need it, and the peer may take its time to close. */
	if (c->uses.share.srq)
		xiw_conn_return_buffers(c);
}

void xiw_conn_stop(struct xiw_conn *c)
{
	if (c->state != XIW_OPEN)
		return;
	/* After an error this has been done, and its cause stays. */
	if (!c->rx_dead) {
		c->rx_dead = c->end.stopped = true;
		shut_out(c);
	}
	xiw_conn_return_buffers(c);
	xiw_srq_leave(c);
}
