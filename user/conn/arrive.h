/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections that one engine of a group opens for another one. Which receive queue the peer's segments come on, and so
 * which engine is to have the connection, is known only when the SYN-ACK has come.
 */
#ifndef XIW_CONN_ARRIVE_H
#define XIW_CONN_ARRIVE_H

#include "core/engine.h"

#define XIW_QUEUE_UNKNOWN UINT32_MAX

/* What travels with the connection. It is freed with the last connection that has it, or by xiw_dial_free(). */
struct xiw_dial {
	struct xiw_note note;
	struct xiw_group *group; /* whose engines open it */
	/* The connection is open: `fd` and `queue` are set. Called within the turn of the engine that opened it. */
	void (*connected)(struct xiw_engine *e, struct xiw_dial *d);
	struct sockaddr_storage addr;
	socklen_t len;
	struct xiw_conn_opts opts; /* complete */
	uint8_t private_data[XIW_PRIVATE_DATA_MAX];
	struct xiw_sock_was sock_was;
	int fd; /* -1: none yet */
	uint32_t queue;
};

/* Makes the description of a connection, which the caller's options and address describe. Returns 0 or an error. */
int xiw_dial_new(const struct sockaddr *addr, socklen_t len, const struct xiw_conn_opts *opts,
		 struct xiw_dial **dial);

/* Closes its socket, if it has one, by a reset. */
void xiw_dial_free(struct xiw_dial *d);

/* Opens the connection. If that cannot even begin, the application is told. */
void xiw_dial_start(struct xiw_engine *e, struct xiw_dial *d);

/* The receive queue that the SYN or SYN-ACK of a connection has come on, or XIW_QUEUE_UNKNOWN. It is told once. */
uint32_t xiw_arrival_queue(const struct xiw_engine *e, int fd);

/* Says whether that queue is known, and the connection's engine does not serve it. */
bool xiw_arrival_astray(const struct xiw_conn *c);

/* The TCP connection is open: hands it on, and ends `c`. */
void xiw_arrival_hand_on(struct xiw_conn *c);

/* The connection is this engine's from now on: tells the application. */
void xiw_arrival_take(struct xiw_engine *e, struct xiw_dial *d);

#endif
