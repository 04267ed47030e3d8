/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_CONN_H
#define XIW_CONN_CONN_H

#include "core/engine.h"

/* MSN of each queue's first message, in both directions: 1 (RFC 5041 section 4.3). Tests of a wrap set another one. */
extern uint32_t xiw_conn_first_msn;

int xiw_conn_equip(struct xiw_conn *c);
int xiw_conn_new(struct xiw_engine *e, bool initiator, const struct xiw_conn_opts *opts,
		 struct xiw_conn **conn);
int xiw_conn_new_equipped(struct xiw_engine *e, bool initiator, const struct xiw_conn_opts *opts,
			  struct xiw_conn **conn);
/* xiw_conn_post_recv(), for a ULP. */
int xiw_post_recv(struct xiw_conn *c, uint32_t qn, void *buf, uint32_t len, uint64_t user_data);
void xiw_conn_failed(struct xiw_conn *c);
/*
 * Ends it now. Never from inside a delivery, where a caller up the stack goes on with the connection, and not
 * while octets that have arrived wait to be delivered: xiw_conn_ask_end(), below, is for these.
 */
void xiw_conn_end(struct xiw_conn *c, int error);
void xiw_conn_op_done(struct xiw_conn *c);
void xiw_conn_maybe_end(struct xiw_conn *c);
void xiw_conns_end(struct xiw_engine *e);
void xiw_conns_detach(struct xiw_engine *e);

#endif
