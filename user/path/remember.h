/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What connections find out about the direct path is remembered at the interface (handoff/obstacles.h), and keeps the
 * next ones from standing still for the same cause.
 */
#ifndef XIW_PATH_REMEMBER_H
#define XIW_PATH_REMEMBER_H

#include "core/engine.h"

/*
 * Notes that `reason` speaks against the direct path of the connection, for which it has `stalled` or not. If it has,
 * neither this connection nor others of the peer go direct for a while.
 */
void xiw_remember(struct xiw_conn *c, enum xiw_reason reason, bool stalled);

/*
 * Returns the reason that keeps the connection off the direct path because connections before it have stood still, or
 * XIW_REASON_NONE if there is none, or if it is this one's turn to try again.
 */
enum xiw_reason xiw_remembered(struct xiw_conn *c);

/* A stretch begins. */
static inline void xiw_remember_begin(struct xiw_conn *c)
{
	struct xiw_remembers *m = &c->progress.memory;

	m->heard = false;
	m->since_ms = (uint32_t)c->engine->now_ms;
	m->began_at = c->stretch.committed;
	m->acks = (uint32_t)c->counts.acks_sent;
}

/*
 * An ACK is sent. Noted are the stretch's first one, and the first one after each segment of the socket: what is newer
 * than that, and not the socket's, is an ACK by AF_XDP.
 */
static inline void xiw_remember_acks(struct xiw_conn *c, uint32_t tsval)
{
	struct xiw_remembers *m = &c->progress.memory;
	const uint32_t egress = (uint32_t)__atomic_load_n(&c->flow->egress_segs, __ATOMIC_RELAXED);
	const bool first = (uint32_t)c->counts.acks_sent == m->acks + 1;

	if (first)
		m->acked_ms = (uint32_t)c->engine->now_ms;
	else if (egress == m->acked_egress)
		return;
	m->told = !first;
	m->acked_tsval = tsval;
	m->acked_egress = egress;
}

/* Notes that the peer hears what is sent by AF_XDP. */
void xiw_remember_heard(struct xiw_conn *c);

/*
 * The peer's segment has been accepted. Its TSecr says which of our TSvals the peer has seen last (RFC 7323 section
 * 4.3). If the socket has sent nothing since the ACK that is noted, a newer one is that of a later ACK.
 */
static inline void xiw_remember_tsecr(struct xiw_conn *c, const struct xiw_tcp_seg *seg)
{
	const struct xiw_remembers *m = &c->progress.memory;

	if (!m->heard && seg->has_ts && (uint32_t)c->counts.acks_sent - m->acks >= 2 &&
	    xiw_seq_after(seg->tsecr, m->acked_tsval) &&
	    (uint32_t)__atomic_load_n(&c->flow->egress_segs, __ATOMIC_RELAXED) == m->acked_egress)
		xiw_remember_heard(c);
}

/* The connection's stretch carries: octets come, and their acknowledgements are heard. */
void xiw_remember_carries(struct xiw_conn *c);

/* The connection leaves XDP. */
void xiw_remember_end(struct xiw_conn *c);

#endif
