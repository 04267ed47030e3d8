/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_SEND_H
#define XIW_CONN_SEND_H

#include "core/engine.h"

/* Sends what is queued, as far as the socket has room. The turn calls it for dirty connections. */
void xiw_send_pump(struct xiw_conn *c);

/*
 * Sends what is queued, as far as the socket takes it without waiting, before this returns. The rest waits for room as
 * always. Between two turns only.
 */
void xiw_send_now(struct xiw_conn *c);

/* Says whether something is queued that TCP has not taken, and may still take. */
bool xiw_send_rests(const struct xiw_conn *c);

/* Called when a send of io_uring has ended. */
void xiw_send_done(struct xiw_conn *c, int res);

/* Called when the pause of one turn between two stages has ended. */
void xiw_send_paused(struct xiw_conn *c);

/* Gives back all queued messages, when the connection ends. */
void xiw_send_flush(struct xiw_conn *c);

/* Gives back every message that has not been cut into FPDUs completely. The ULP's sent() queues no other one then. */
void xiw_send_cancel(struct xiw_conn *c);

/*
 * Reports the messages of the stage as sent: it has copied them, and leaves as soon as the socket has room. Their
 * memory is not needed any more.
 */
void xiw_send_settle(struct xiw_conn *c);

/*
 * Gives back the messages that `which` says, if nothing of them is cut yet. Returns true if one of them has been begun;
 * then it and those behind it are left. MSNs must not depend on it: untagged messages to one queue go all or none.
 */
bool xiw_send_withdraw(struct xiw_conn *c, bool (*which)(uint64_t user_data));

/* Makes room in the queue for @n messages more, whatever its depth. False: there is no memory for it. */
bool xiw_send_reserve(struct xiw_conn *c, uint32_t n);

/* Does what xiw_conn_send() does, for a ULP. */
int xiw_send(struct xiw_conn *c, const struct xiw_message *m);

/* The same for a message whose buf is an array of struct xiw_vec, which stays the caller's; npieces 0: it is not. */
int xiw_send_pieces(struct xiw_conn *c, const struct xiw_message *m, uint32_t npieces);

/* Sends a ULP's message from a region. The region may be invalidated before all of it was sent. */
int xiw_send_from_region(struct xiw_conn *c, const struct xiw_message *m);

#endif
