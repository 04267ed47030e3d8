/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_SEND_H
#define XIW_CONN_SEND_H

#include "core/engine.h"

/* Sends what is queued, as far as the socket has room. The turn calls it for dirty connections. */
void xiw_send_pump(struct xiw_conn *c);

/* Called when a send of io_uring has ended. */
void xiw_send_done(struct xiw_conn *c, int res);

/* Called when the pause of one turn between two stages has ended. */
void xiw_send_paused(struct xiw_conn *c);

/* Gives back all queued messages, when the connection ends. */
void xiw_send_flush(struct xiw_conn *c);

/* Gives back every message that has not been cut into FPDUs completely. The ULP's sent() queues no other one then. */
void xiw_send_cancel(struct xiw_conn *c);

/* Makes room in the queue for @n messages more, whatever its depth. False: there is no memory for it. */
bool xiw_send_reserve(struct xiw_conn *c, uint32_t n);

/* Does what xiw_conn_send() does, for a ULP. */
int xiw_send(struct xiw_conn *c, const struct xiw_message *m);

/* The same for a message whose buf is an array of struct xiw_vec, which stays the caller's; npieces 0: it is not. */
int xiw_send_pieces(struct xiw_conn *c, const struct xiw_message *m, uint32_t npieces);

/* Sends a ULP's message from a region. The region may be invalidated before all of it was sent. */
int xiw_send_from_region(struct xiw_conn *c, const struct xiw_message *m);

#endif
