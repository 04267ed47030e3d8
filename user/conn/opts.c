// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checks the options of a connection, and completes them. A listener has one set for all connections that it
 * will accept; what is changed for one of them is here, too.
 */
#include "conn/opts.h"

#include <errno.h>
#include <string.h>

#include "base/opts.h"
#include "core/conn.h"

/* The size of struct xiw_conn_opts in the first release. */
#define CONN_OPTS_FIRST 80

XIW_OPTS_WHOLE(struct xiw_conn_opts, reserved2);

static bool sizes_valid(const struct xiw_conn_opts *o)
{
	return o->queues <= XIW_QUEUES_MAX && o->recv_depth <= XIW_QUEUE_DEPTH_MAX &&
	       o->send_depth <= XIW_QUEUE_DEPTH_MAX &&
	       (uint64_t)o->queues * o->recv_depth <= XIW_QUEUE_DEPTHS_MAX;
}

static bool rtr_valid(uint8_t rtr, bool initiator)
{
	return rtr == XIW_RTR_NONE ? initiator
				   : !(rtr & ~(XIW_RTR_SEND | XIW_RTR_WRITE | XIW_RTR_READ));
}

static int check(const struct xiw_conn_opts *o, bool initiator)
{
	bool enhanced = o->enhanced || o->ird || o->ord || (o->rtr & ~XIW_RTR_NONE);
	size_t most = XIW_PRIVATE_DATA_MAX;

	if (o->path > XIW_USE_DIRECT || o->revision > 2 || o->ird > XIW_DEPTH_ULP ||
	    o->ord > XIW_DEPTH_ULP || !rtr_valid(o->rtr, initiator) || o->hold_ms == XIW_NO_LIMIT ||
	    o->reserved1 || o->reserved || o->reserved2 || o->backlog < 0 || !sizes_valid(o))
		return -EINVAL;
	if (!initiator)
		return 0;
	if (enhanced) {
		if (o->revision == 1)
			return -EINVAL;
		most -= XIW_MPA_ENHANCED_SIZE;
	}
	return o->private_data_len > most || (o->private_data_len && !o->private_data) ? -EINVAL
										       : 0;
}

/*
 * All errors in options are found here, for listeners too. Otherwise a listener with wrong options would
 * listen, and refuse every connection.
 */
int xiw_conn_opts_take(struct xiw_conn_opts *own, const struct xiw_conn_opts *theirs,
		       bool initiator)
{
	int err = xiw_opts_take(own, sizeof(*own), CONN_OPTS_FIRST, theirs);

	if (err)
		return err;
	if (!own->queues)
		own->queues = XIW_QUEUES_DEFAULT;
	if (!own->recv_depth)
		own->recv_depth = 64;
	if (!own->send_depth)
		own->send_depth = 64;
	if (!own->startup_timeout_ms)
		own->startup_timeout_ms = 10000;
	if (!own->close_timeout_ms)
		own->close_timeout_ms = 30000;
	if (!own->keepalive_ms)
		own->keepalive_ms = 60000;
	if (!own->user_timeout_ms)
		own->user_timeout_ms = 120000;
	if (!own->terminate_timeout_ms)
		own->terminate_timeout_ms = 4000;
	return check(own, initiator);
}

int xiw_conn_set_depths(struct xiw_conn *c, uint16_t ird, uint16_t ord)
{
	if (ird > XIW_DEPTH_ULP || ord > XIW_DEPTH_ULP)
		return -EINVAL;
	if (c->initiator || c->state != XIW_DECIDING)
		return -ENOTCONN;
	if (c->ulp && c->ulp->set_depths(c, ird))
		return -ENOMEM;
	c->startup.depths_set = true;
	c->startup.terms.ird = ird;
	c->startup.terms.ord = ord;
	return 0;
}
