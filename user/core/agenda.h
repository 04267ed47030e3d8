/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The agenda of the turn: work that is noted now and done later (engine/turn.c). */
#ifndef XIW_CORE_AGENDA_H
#define XIW_CORE_AGENDA_H

#include "core/engine.h"

/* Makes the engine wake up at `ms` at the latest. */
void xiw_wake_at(struct xiw_engine *e, uint64_t ms);

/* Notes that the connection has something to do at the end of the batch: a commit, an ACK, something to send. */
void xiw_dirty(struct xiw_conn *c);

/* Ends the incoming stream because of an error. Only the first call counts; nothing is passed up afterwards. */
void xiw_conn_stream_error(struct xiw_conn *c, enum xiw_mpa_error mpa, enum xiw_ddp_error ddp);
/*
 * Asks the turn to end the connection with errno `error`; the first error stays. The turn first delivers what has
 * arrived in the socket, in frames and in buffers that wait for room in the completion queue, unless `at_once`.
 */
void xiw_conn_ask_end(struct xiw_conn *c, int error, bool at_once);

/* The same for a connection that was reset or has timed out, which is an error of MPA too (RFC 5044 section 8). */
void xiw_conn_broken(struct xiw_conn *c, int error);

/*
 * Makes each turn go on with octets of the socket that wait (xiw_stream_resume()), until that is not wanted any more.
 * They wait for room in the completion queue, or a buffer was posted for them.
 */
void xiw_retry(struct xiw_conn *c);
void xiw_retry_no_more(struct xiw_conn *c);

/*
 * Notes that the socket is to learn what the peer said of its data (xiw_feedback_flush()), or the peer what has come
 * (xiw_acknowledge_late()). That can wait until the application has seen what came with it, because the answer should
 * leave first.
 */
void xiw_tell_socket(struct xiw_conn *c);
void xiw_tell_socket_no_more(struct xiw_conn *c);

/* Takes the connection off the list of those that asked to end. */
void xiw_ends_forget(struct xiw_conn *c);

/* Makes the engine look at its interfaces in this turn, because something is wrong. */
void xiw_watch_soon(struct xiw_engine *e);

/*
 * Charges the budget for memory that the connection has until it is freed, or until it gives that back. False: that
 * much is not left.
 */
bool xiw_conn_charge(struct xiw_conn *c, size_t n);
void xiw_conn_uncharge(struct xiw_conn *c, size_t n);

/* Counts a segment of the direct path that was refused. */
static inline void xiw_segment_dropped(struct xiw_conn *c)
{
	c->counts.segs_dropped++;
	xiw_dirty(c);
}

#endif
