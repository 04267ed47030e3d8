/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_PROGRESS_H
#define XIW_PATH_PROGRESS_H

#include "path/packet.h"

/*
 * Tells XDP that the engine sees frames of the flow, whatever becomes of them. Called where the owner word does
 * not show it.
 */
static inline void xiw_note_seen(struct xiw_conn *c)
{
	__atomic_store_n(&c->flow->seen, c->flow->seen + 1, __ATOMIC_RELAXED);
}

/* Returns the wire number of the octet that the stream waits for. */
static inline uint32_t xiw_stream_at(const struct xiw_conn *c)
{
	return c->stretch.state == XIW_STRETCH_WAITS ? c->recv.nxt : c->tcp.rcv_nxt;
}

/* Says whether the connection is barred from the direct path. */
bool xiw_conn_barred(const struct xiw_conn *c);

/*
 * Bars the connection from the direct path for good; no_direct says why. A stretch that is under way goes on.
 * On the kernel path the socket's numbers are still translated.
 */
void xiw_conn_bar(struct xiw_conn *c, enum xiw_reason reason);

/* Writes the cause and its remedy to `to`, which has room for `len` octets. */
void xiw_progress_text(const struct xiw_conn *c, enum xiw_reason reason, char *to, size_t len);

/* Says the cause in no_direct. */
void xiw_progress_tell(struct xiw_conn *c, enum xiw_reason reason);

/* A connection that never went direct leaves XDP: notes why in no_direct, if nothing else has said so. */
void xiw_progress_end(struct xiw_conn *c);

/*
 * The connection ends, and the socket has sent its FIN. Says whether the peer cannot have understood it, as the numbers
 * need translation and xiw_egress has not seen it; no_direct then says so.
 */
bool xiw_progress_untranslated(struct xiw_conn *c);

/*
 * Notes that a segment whose octets the stream waits for was refused for `reason`. Returns true if that has
 * happened too often: the connection has then fallen back, and `in_hand` (or NULL) was given to the socket.
 */
bool xiw_progress_refused(struct xiw_conn *c, enum xiw_reason reason,
			  const struct xiw_segment *in_hand);

/* What the socket sends is dropped before it reaches xiw_egress: the connection falls back. */
void xiw_progress_blocked(struct xiw_conn *c, enum xiw_reason reason);

/* One segment has shown that `reason` lasts: bars the connection, which falls back. */
void xiw_progress_lasting(struct xiw_conn *c, enum xiw_reason reason);

/*
 * Notes that the peer has sent [seq, end) again although it was acknowledged. If that lasts, the connection
 * falls back.
 */
void xiw_progress_unheard(struct xiw_conn *c, const struct xiw_segment *s, uint32_t seq,
			  uint32_t end);

/*
 * Notes that a segment that brings nothing new acknowledges what xiw_egress has not seen leave. If that lasts, and the
 * socket has sent it, the connection falls back, and ends if it needs translation.
 */
void xiw_progress_ahead(struct xiw_conn *c, const struct xiw_segment *s, uint32_t ack);

/*
 * Called when the deadline after a refused segment, or after one that waits for the socket, has come: falls back if the
 * stream still stands still.
 */
void xiw_progress_due(struct xiw_conn *c);

/* Notes that a segment of a stretch waits for the socket, which must be read further before long. */
void xiw_progress_waiting(struct xiw_conn *c);

/* Called when a stretch begins. */
void xiw_progress_begin(struct xiw_conn *c);

/*
 * Called for a segment at the start of a stretch whose frames wait for the socket. Returns true if the stretch
 * has waited too long: the connection has then fallen back.
 */
bool xiw_progress_waits(struct xiw_conn *c, const struct xiw_segment *s);

/* Says in no_direct why the connection is barred, if XDP or the engine has barred it. */
void xiw_progress_say(struct xiw_conn *c);

/* Looks at the stretches that XDP has taken back, and remembers lost frames. Returns whether they are enough to bar. */
bool xiw_progress_loses(struct xiw_conn *c);

/*
 * Says whether XDP may begin another stretch; bars the connection if the last ones show a lasting cause against
 * it.
 */
bool xiw_progress_may_arm(struct xiw_conn *c);

/* How many segments in a row the next stretch needs: `run`, or more because stretches ended on other queues. */
uint32_t xiw_progress_run(struct xiw_conn *c, uint32_t run);

/* Called now and then: few segments are enough again if the steering has stayed as it is for a while. */
void xiw_progress_steady(struct xiw_conn *c);

#endif
