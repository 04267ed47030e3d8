// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What startup sends: our frame, in front of it what an application wants sent as a stream's last octets, and behind
 * it at most one FPDU.
 */
#include "conn/frames.h"

#include "core/ring.h"

/* One thing after the other: sends on one socket may overtake each other. */
void xiw_startup_send(struct xiw_conn *c)
{
	const uint8_t *from = c->streaming ? c->streaming : c->reply;
	uint32_t len = (c->streaming ? c->streaming_len : c->reply_len) - c->startup_off;

	if (c->sending || !len || c->state == XIW_DEAD)
		return;
	io_uring_prep_send(xiw_sqe(c->engine, c, XIW_OP_STARTUP_SEND), c->fd, from + c->startup_off,
			   len, MSG_EOR | MSG_NOSIGNAL | MSG_WAITALL);
	c->sending = true;
	c->ops++;
}

/* Behind the frames, and in front of everything that the application sends. */
void xiw_startup_fpdu(struct xiw_conn *c, const struct xiw_ddp_hdr *h, const uint8_t *payload,
		      uint32_t len)
{
	uint8_t header[XIW_DDP_HDR_MAX];

	c->reply_len += xiw_mpa_build(&c->mpa_tx, c->reply + c->reply_len, header,
				      xiw_ddp_hdr_encode(h, header), payload, len);
	xiw_startup_send(c);
}
