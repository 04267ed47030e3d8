/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_PROGRESS_H
#define XIW_PATH_PROGRESS_H

#include "path/packet.h"

/* Frames of the flow get here, whatever becomes of them: XDP is told where the stream does not go on by them. */
static inline void xiw_note_seen(struct xiw_conn *c)
{
	__atomic_store_n(&c->flow->seen, c->flow->seen + 1, __ATOMIC_RELAXED);
}

/* Where the stream stands, in wire numbers: what comes there is waited for. */
static inline uint32_t xiw_stream_at(const struct xiw_conn *c)
{
	return c->stretch.state == XIW_STRETCH_WAITS ? c->recv.nxt : c->tcp.rcv_nxt;
}

bool xiw_conn_barred(const struct xiw_conn *c);
void xiw_conn_bar(struct xiw_conn *c, enum xiw_reason reason);
void xiw_progress_end(struct xiw_conn *c);
/*
 * The stream waits for the octets of a segment that was refused for `why`. True: once too often, and the connection
 * has fallen back, with `in_hand` (or NULL) given to the socket.
 */
bool xiw_progress_refused(struct xiw_conn *c, enum xiw_reason reason,
			  const struct xiw_segment *in_hand);
void xiw_progress_unheard(struct xiw_conn *c, const struct xiw_segment *s, uint32_t seq,
			  uint32_t end);
void xiw_progress_due(struct xiw_conn *c);
void xiw_progress_resent(struct xiw_conn *c, uint32_t resent);
void xiw_progress_begin(struct xiw_conn *c);
bool xiw_progress_waits(struct xiw_conn *c, const struct xiw_segment *s);
void xiw_progress_say(struct xiw_conn *c);
bool xiw_progress_may_arm(struct xiw_conn *c);

#endif
