// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sends what startup sends: the last octets of a stream that the application hands over, then our startup
 * frame, then at most one FPDU.
 */
#include "conn/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/agenda.h"
#include "core/ring.h"

int xiw_startup_prepare(struct xiw_conn *c)
{
	if (!xiw_conn_charge(c, sizeof(*c->startup.frames)))
		return -ENOMEM;
	c->startup.frames = malloc(sizeof(*c->startup.frames));
	return c->startup.frames ? 0 : -ENOMEM;
}

void xiw_startup_forget(struct xiw_conn *c)
{
	if (!c->startup.frames || c->state != XIW_OPEN || c->startup.rtr_wait ||
	    c->startup.refusing || c->startup.streaming || c->send.busy ||
	    c->startup.out_off != c->startup.out_len)
		return;
	free(c->startup.frames);
	c->startup.frames = NULL;
	xiw_conn_uncharge(c, sizeof(*c->startup.frames));
}

void xiw_startup_release(struct xiw_conn *c)
{
	free(c->startup.streaming);
	free(c->startup.dial);
	free(c->startup.frames);
	free(c->startup.private_in);
}

int xiw_startup_keep(struct xiw_conn *c)
{
	static const uint8_t nothing[1];
	struct xiw_mpa_frame *f = &c->startup.peer;

	if (!f->pd_len) {
		f->pd = nothing;
		return 0;
	}
	if (xiw_conn_charge(c, f->pd_len))
		c->startup.private_in = malloc(f->pd_len);
	if (!c->startup.private_in) {
		f->pd_len = 0;
		f->pd = nothing;
		return -ENOMEM;
	}
	f->pd = memcpy(c->startup.private_in, f->pd, f->pd_len);
	return 0;
}

/* What is next, and its length. Only one send is under way at a time: two on one socket may overtake each other. */
static uint32_t next(const struct xiw_conn *c, const uint8_t **from)
{
	const struct xiw_startup *s = &c->startup;
	uint32_t len = (s->streaming ? s->streaming_len : s->out_len) - s->out_off;

	if (c->send.busy || !len || c->state == XIW_DEAD)
		return 0;
	*from = (s->streaming ? s->streaming : s->frames->out) + s->out_off;
	return len;
}

void xiw_startup_send(struct xiw_conn *c)
{
	const uint8_t *from = NULL;
	const uint32_t len = next(c, &from);

	if (!len)
		return;
	io_uring_prep_send(xiw_sqe(c->engine, c, XIW_OP_STARTUP_SEND), c->fd, from, len,
			   MSG_EOR | MSG_NOSIGNAL | MSG_WAITALL);
	c->send.busy = true;
	c->ops++;
}

uint32_t xiw_startup_give(struct xiw_conn *c)
{
	const uint8_t *from = NULL;
	const uint32_t len = next(c, &from);
	const ssize_t n = len ? send(c->fd, from, len, MSG_EOR | MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

	return n > 0 ? (uint32_t)n : 0;
}

void xiw_startup_fpdu(struct xiw_conn *c, const struct xiw_ddp_hdr *h, const uint8_t *payload,
		      uint32_t len)
{
	uint8_t header[XIW_DDP_HDR_MAX];

	c->startup.out_len += xiw_mpa_build(&c->send.mpa,
					    c->startup.frames->out + c->startup.out_len, header,
					    xiw_ddp_hdr_encode(h, header), payload, len);
	xiw_startup_send(c);
}
