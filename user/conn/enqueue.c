// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Messages that are queued to be sent; send.c sends them. */
#include <errno.h>
#include <string.h>

#include "base/grow.h"
#include "conn/fill.h"
#include "conn/send.h"
#include "core/agenda.h"

bool xiw_send_reserve(struct xiw_conn *c, uint32_t n)
{
	uint32_t more = xiw_ring_room(c->send.room, c->send.count + n);
	size_t growth = (size_t)(more - c->send.room) * sizeof(*c->send.queue);
	struct xiw_queued *queue;

	if (!growth)
		return true;
	if (!xiw_conn_charge(c, growth))
		return false;
	queue = xiw_ring_grow(c->send.queue, sizeof(*queue), c->send.room, more, c->send.head,
			      c->send.count);
	if (!queue) {
		xiw_conn_uncharge(c, growth);
		return false;
	}
	c->send.queue = queue;
	c->send.room = more;
	return true;
}

int xiw_conn_send(struct xiw_conn *c, const struct xiw_message *m)
{
	return c->ulp ? -EINVAL : xiw_send(c, m);
}

int xiw_send(struct xiw_conn *c, const struct xiw_message *m)
{
	struct xiw_queued *q;
	int err;

	if (c->end.closing || c->state == XIW_DEAD || c->end.failing || c->end.asked)
		return -EPIPE;
	if (c->state != XIW_OPEN)
		return -ENOTCONN;
	if (m->len && !m->buf)
		return -EINVAL;
	if (c->send.count == c->send.depth)
		return -EAGAIN;
	if (!xiw_send_reserve(c, 1))
		return -ENOMEM;
	q = xiw_queued_at(c, c->send.count);
	err = m->tagged ? xiw_ddp_tx_tagged(&q->cut, m->stag, m->to, m->len, m->rsvdulp[0])
			: xiw_ddp_tx_untagged(&c->send.ddp, &q->cut, m->qn, m->len, m->rsvdulp);
	if (err)
		return err;
	q->buf = m->buf;
	q->user_data = m->user_data;
	q->len = (uint32_t)m->len;
	q->generation = 0;
	q->npieces = 0;
	c->send.count++;
	/* The turn sends it, so that messages that are queued together are packed together. */
	xiw_dirty(c);
	return 0;
}

int xiw_send_pieces(struct xiw_conn *c, const struct xiw_message *m, uint32_t npieces)
{
	int err = xiw_send(c, m);

	if (!err)
		xiw_queued_at(c, c->send.count - 1)->npieces = npieces;
	return err;
}

int xiw_send_from_region(struct xiw_conn *c, const struct xiw_message *m)
{
	int err = xiw_send(c, m);

	if (!err)
		xiw_queued_at(c, c->send.count - 1)->generation = c->engine->regions.generation;
	return err;
}
