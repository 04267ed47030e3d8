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

int xiw_post_recv(struct xiw_conn *c, uint32_t qn, void *buf, uint32_t len, uint64_t user_data)
{
	int err = before_post(c, qn);

	return err ? err
		   : after_post(c, qn, xiw_ddp_rx_post(c->ddp, qn, buf, len, user_data));
}

int xiw_post_recv_pieces(struct xiw_conn *c, uint32_t qn, const struct xiw_ddp_piece *pieces,
			 uint32_t npieces, uint64_t user_data)
{
	int err = before_post(c, qn);

	return err ? err
		   : after_post(c, qn,
				xiw_ddp_rx_post_pieces(c->ddp, qn, pieces, npieces, user_data));
}

int xiw_conn_post_recv(struct xiw_conn *c, uint32_t qn, void *buf, uint32_t len, uint64_t user_data)
{
	return c->ulp ? -EINVAL : xiw_post_recv(c, qn, buf, len, user_data);
}
