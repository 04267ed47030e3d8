/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A stream that stands in front of a Send for which no buffer is posted. It is held for hold_ms at most, until the
 * application posts one: nothing more is read from the socket, so that its window closes, and what had been read is
 * kept here. On the direct path its frames wait for a moment (path/patience.h), then the stream falls back
 * (XIW_REASON_NO_BUFFER).
 */
#ifndef XIW_PATH_HOLD_H
#define XIW_PATH_HOLD_H

#include "core/engine.h"

/* True if the segment, for which DDP has no buffer, may wait for one. */
bool xiw_hold_allowed(const struct xiw_conn *c, const struct xiw_ddp_hdr *h);

/* Buffers are there, and the connection has had all that it may have. */
bool xiw_hold_at_limit(const struct xiw_conn *c);

/* The stream stands in front of such a segment, on either path. Returns since when. */
uint64_t xiw_hold_count(struct xiw_conn *c);

/* It does on the kernel path. The receive is cancelled. */
void xiw_hold_begin(struct xiw_conn *c);

/* Sets the time at which the turn looks at the hold: until then the socket may have ended, or the time is up. */
void xiw_hold_watch(struct xiw_conn *c);

/* Keeps octets that were read behind the place where the stream stands. False: there is no memory. */
bool xiw_hold_keep(struct xiw_conn *c, const uint8_t *octets, uint32_t len);

/* The first `len` of the octets that are kept were taken. If none is left, the hold is over. Returns whether it is. */
bool xiw_hold_taken(struct xiw_conn *c, uint32_t len);

/*
 * Says that a buffer was posted to queue 0, for this connection or for several: the stream tries to go on in this turn.
 * Nothing happens if it is not held.
 */
void xiw_hold_posted(struct xiw_conn *c);

/* The time is up: the segment is an error now. */
void xiw_hold_expire(struct xiw_conn *c);

/* Ends a hold, and forgets the octets. */
void xiw_hold_forget(struct xiw_conn *c);

/* True while octets that were read, or the receive itself, wait for a buffer or for room in the completion queue. */
static inline bool xiw_octets_wait(const struct xiw_conn *c)
{
	return c->recv.held_n || c->hold.on;
}

#endif
