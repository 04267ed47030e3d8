/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_CONN_H
#define XIW_CONN_CONN_H

#include "core/engine.h"

/*
 * The MSN of each queue's first message, in both directions: 1 (RFC 5041 section 4.3). Tests of the wrap set
 * another value.
 */
extern uint32_t xiw_conn_first_msn;

/*
 * Allocates what a stream needs: queues and DDP state. Called when the peer has said that it wants a stream.
 * Returns 0 or -errno.
 */
int xiw_conn_equip(struct xiw_conn *c);

/* Adds a queue for untagged messages to a connection that is equipped and has no stream yet. 0 or -ENOMEM. */
int xiw_conn_add_queue(struct xiw_conn *c);

/* Makes a connection without a socket and starts its startup deadline. Returns 0 or -errno. */
int xiw_conn_new(struct xiw_engine *e, bool initiator, const struct xiw_conn_opts *opts,
		 struct xiw_conn **conn);

/* Makes a connection and equips it, for the connections that the application owns from the beginning. */
int xiw_conn_new_equipped(struct xiw_engine *e, bool initiator, const struct xiw_conn_opts *opts,
			  struct xiw_conn **conn);

/* Takes the memory that the next `n` posts to a queue need, up to its depth. Returns 0 or -ENOMEM. */
int xiw_post_reserve(struct xiw_conn *c, uint32_t qn, uint32_t n);

/* Does what xiw_conn_post_recv() does, for a ULP. */
int xiw_post_recv(struct xiw_conn *c, uint32_t qn, void *buf, uint32_t len, uint64_t user_data);
/* The same for any buffer: see xiw_ddp_rx_post_buf(). */
int xiw_post_recv_buf(struct xiw_conn *c, uint32_t qn, const struct xiw_ddp_buf *b);

/*
 * Ends the connection now. `error` is 0 for an orderly end. It must not be called from within a delivery, whose
 * callers still use the connection, nor while octets that have arrived wait to be delivered. In these cases
 * xiw_conn_ask_end() lets the turn end it.
 */
void xiw_conn_end(struct xiw_conn *c, int error);

/* Called when an operation of io_uring has ended. The last one of a dead connection closes its socket. */
void xiw_conn_op_done(struct xiw_conn *c);

/* Takes the next step of an orderly close, if one is due. The turn calls it for dirty connections. */
void xiw_conn_maybe_end(struct xiw_conn *c);

/*
 * Ends all connections, as xiw_conn_abort() does. Connections that the application has not heard of are freed.
 */
void xiw_conns_end(struct xiw_engine *e);

/* Takes all connections out of an engine that is being freed. The application can still ask and free them. */
void xiw_conns_detach(struct xiw_engine *e);

#endif
