/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_LIMITS_H
#define XIW_CONN_LIMITS_H

#include "core/engine.h"

/* Sets the kernel's limits for a silent peer on the socket of a connection. */
void xiw_conn_limit_peer(struct xiw_conn *c);

/*
 * Starts the limit of a close: close_timeout_ms without an octet in either direction. A Responder that is to speak
 * first has its time for that before.
 */
void xiw_conn_limit_close(struct xiw_conn *c);

/* Starts the limit after an error: terminate_timeout_ms, whatever moves. */
void xiw_conn_limit_last(struct xiw_conn *c);

/*
 * The startup of client and server is over, and the peer has all of it. A Responder may now send without having
 * received an FPDU, or after some time, if the application departs from RFC 5044 section 7.1.2 rule 4.
 */
void xiw_conn_limit_started(struct xiw_conn *c);

/*
 * Starts to poll the socket, if the peer has closed and no other limit is set. No receive is posted then that
 * would report an error.
 */
void xiw_conn_poll_socket(struct xiw_conn *c);

/* Called when the deadline of a connection has come; `limit` says which. */
void xiw_conn_limit(struct xiw_conn *c, enum xiw_limit limit);

/* Called when the time to look at a hold has come: it is over, or the socket may have ended (path/hold.h). */
void xiw_conn_limit_hold(struct xiw_conn *c);

/*
 * Notes an orderly close; the turn carries it out. What is queued is sent, and the peer's messages are delivered
 * until the peer closes. May be called from within a delivery.
 */
void xiw_conn_ask_close(struct xiw_conn *c);

#endif
