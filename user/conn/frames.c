// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sends what startup sends: the last octets of a stream that the application hands over, then our startup
 * frame, then at most one FPDU.
 */
#include "conn/frames.h"

#include "core/ring.h"

/* Only one send is under way at a time, because two sends on one socket may overtake each other. */
void xiw_startup_send(struct xiw_conn *c)
{
	const uint8_t *from = c->startup.streaming ? c->startup.streaming : c->startup.out;
	uint32_t len = (c->startup.streaming ? c->startup.streaming_len : c->startup.out_len) -
		       c->startup.out_off;

	if (c->send.busy || !len || c->state == XIW_DEAD)
		return;
	io_uring_prep_send(xiw_sqe(c->engine, c, XIW_OP_STARTUP_SEND), c->fd,
			   from + c->startup.out_off, len, MSG_EOR | MSG_NOSIGNAL | MSG_WAITALL);
	c->send.busy = true;
	c->ops++;
}

void xiw_startup_fpdu(struct xiw_conn *c, const struct xiw_ddp_hdr *h, const uint8_t *payload,
		      uint32_t len)
{
	uint8_t header[XIW_DDP_HDR_MAX];

	c->startup.out_len += xiw_mpa_build(&c->send.mpa, c->startup.out + c->startup.out_len,
					    header, xiw_ddp_hdr_encode(h, header), payload, len);
	xiw_startup_send(c);
}
