// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Posted buffers. Their queues take memory as they are used, which is charged to the connection. */
#include <errno.h>

#include "conn/conn.h"
#include "core/agenda.h"
#include "path/hold.h"

/* The memory stays if the post fails for another reason. */
int xiw_post_reserve(struct xiw_conn *c, uint32_t qn, uint32_t n)
{
	const size_t growth = xiw_ddp_rx_growth(c->ddp, qn, n);

	if (!growth)
		return 0;
	if (!xiw_conn_charge(c, growth))
		return -ENOMEM;
	if (!xiw_ddp_rx_reserve(c->ddp, qn, n))
		return 0;
	xiw_conn_uncharge(c, growth);
	return -ENOMEM;
}

/* No message can come any more once the end was told. Held octets are still delivered before that. */
static int before_post(struct xiw_conn *c, uint32_t qn)
{
	return c->end.eof_told || c->state == XIW_DEAD ? -ESHUTDOWN : xiw_post_reserve(c, qn, 1);
}

/* A message that waits may be placed now. */
static int after_post(struct xiw_conn *c, uint32_t qn, int err)
{
	if (!err && !qn)
		xiw_hold_posted(c);
	return err;
}

int xiw_post_recv_buf(struct xiw_conn *c, uint32_t qn, const struct xiw_ddp_buf *b)
{
	int err = before_post(c, qn);

	return err ? err : after_post(c, qn, xiw_ddp_rx_post_buf(c->ddp, qn, b));
}

int xiw_post_recv(struct xiw_conn *c, uint32_t qn, void *buf, uint32_t len, uint64_t user_data)
{
	const struct xiw_ddp_buf b = { .base = buf, .len = len, .user_data = user_data };

	return xiw_post_recv_buf(c, qn, &b);
}

int xiw_conn_post_recv(struct xiw_conn *c, uint32_t qn, void *buf, uint32_t len, uint64_t user_data)
{
	return c->ulp ? -EINVAL : xiw_post_recv(c, qn, buf, len, user_data);
}

static bool has_posted(const struct xiw_conn *c)
{
	for (uint32_t i = 0; i < c->ddp->nqueues; i++)
		if (c->ddp->queues[i].count)
			return true;
	return false;
}

int xiw_conn_set_queues(struct xiw_conn *c, unsigned int recv_depth, unsigned int send_depth,
			uint32_t pd)
{
	if (!recv_depth || recv_depth > XIW_QUEUE_DEPTH_MAX || !send_depth ||
	    send_depth > XIW_QUEUE_DEPTH_MAX ||
	    (uint64_t)c->opts.queues * recv_depth > XIW_QUEUE_DEPTHS_MAX)
		return -EINVAL;
	if (c->initiator || c->state != XIW_DECIDING || c->ulp || has_posted(c))
		return -ENOTCONN;
	c->opts.recv_depth = c->ddp->depth = recv_depth;
	c->opts.send_depth = c->send.depth = send_depth;
	c->opts.pd = c->ddp->pd = pd;
	return 0;
}
