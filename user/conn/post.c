// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Posted buffers. Their queues take memory as they are used, which is charged to the connection. */
#include <errno.h>

#include "conn/conn.h"
#include "core/agenda.h"

/*
 * No message can come any more once the end was told. Held octets are still delivered before that. Charges what the
 * post allocates, and says how much that is.
 */
static int before_post(struct xiw_conn *c, uint32_t qn, size_t *growth)
{
	if (c->end.eof_told || c->state == XIW_DEAD)
		return -ESHUTDOWN;
	*growth = xiw_ddp_rx_growth(c->ddp, qn);
	return *growth && !xiw_conn_charge(c, *growth) ? -ENOMEM : 0;
}

/* A post that failed has allocated nothing. */
static int after_post(struct xiw_conn *c, int err, size_t growth)
{
	if (err && growth)
		xiw_conn_uncharge(c, growth);
	return err;
}

int xiw_post_recv(struct xiw_conn *c, uint32_t qn, void *buf, uint32_t len, uint64_t user_data)
{
	size_t growth;
	int err = before_post(c, qn, &growth);

	if (err)
		return err;
	return after_post(c, xiw_ddp_rx_post(c->ddp, qn, buf, len, user_data), growth);
}

int xiw_post_recv_pieces(struct xiw_conn *c, uint32_t qn, const struct xiw_ddp_piece *pieces,
			 uint32_t npieces, uint64_t user_data)
{
	size_t growth;
	int err = before_post(c, qn, &growth);

	if (err)
		return err;
	return after_post(c, xiw_ddp_rx_post_pieces(c->ddp, qn, pieces, npieces, user_data),
			  growth);
}

int xiw_conn_post_recv(struct xiw_conn *c, uint32_t qn, void *buf, uint32_t len, uint64_t user_data)
{
	return c->ulp ? -EINVAL : xiw_post_recv(c, qn, buf, len, user_data);
}
