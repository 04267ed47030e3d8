/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_FPDU_H
#define XIW_PATH_FPDU_H

#include "core/engine.h"
#include "mpa/fpdu.h"

/* 0; -EBADMSG for a wrong CRC; -EPROTO when the stream has failed (already reported). */
enum xiw_fpdu_how {
	XIW_FPDU_KERNEL = 0,	  /* from the socket */
	XIW_FPDU_DIRECT = 1 << 0, /* from a frame */
	XIW_FPDU_BOUNDED =
		1 << 1, /* it ends where its segment does: its length has a second witness */
	XIW_FPDU_PLACED = 1 << 2, /* verified and placed when it came, out of order */
};

void xiw_conn_quote(struct xiw_conn *c, const struct xiw_header *h);
int xiw_fpdu_early(struct xiw_conn *c, const struct xiw_fpdu *f, const struct xiw_vec *v,
		   unsigned int n);
/* A message to the application. */
void xiw_deliver(struct xiw_conn *c, const struct xiw_ddp_msg *m);
int xiw_fpdu_accept(struct xiw_conn *c, const struct xiw_fpdu *f, const struct xiw_vec *v,
		    unsigned int n, unsigned int how);

#endif
