/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The TCP receiver of a stretch: where it begins, and how it judges segments that it does not process. */
#ifndef XIW_PATH_RECEIVER_H
#define XIW_PATH_RECEIVER_H

#include "path/packet.h"
#include "tcp/segment.h"

/*
 * Makes the TCP receiver ready for a stretch from c->stretch.committed on, with that right edge. `first` is the segment
 * that the stretch begins with, or NULL if the stretch ends before it has begun.
 */
void xiw_receiver_begin(struct xiw_conn *c, uint32_t right_edge, const struct xiw_tcp_seg *first);

/* The same for a stretch whose segments are all given to the socket. Does nothing but in XIW_STRETCH_WAITS. */
void xiw_receiver_skip(struct xiw_conn *c);

/*
 * Says whether the socket may be given a segment that came under a stretch and that the receiver has not accepted. If
 * not, it has been counted as dropped.
 */
bool xiw_receiver_passes(struct xiw_conn *c, const struct xiw_packet *p,
			 const struct xiw_meta *meta);

/* The same for one from before the start of a stretch whose frames wait. The socket judges its acknowledgement. */
bool xiw_receiver_passes_old(struct xiw_conn *c, const struct xiw_packet *p,
			     const struct xiw_meta *meta);

/*
 * Between stretches: forgets the last one's TS.Recent when it is too old to compare with (RFC 7323 section 5.5). To be
 * called from time to time.
 */
static inline void xiw_receiver_age(const struct xiw_conn *c)
{
	if (c->stretch.state == XIW_STRETCH_OFF &&
	    __atomic_load_n(&c->flow->ts_recent, __ATOMIC_RELAXED) &&
	    c->engine->now_ms - c->tcp.ts_recent_ms > XIW_TCP_PAWS_IDLE_MS)
		__atomic_store_n(&c->flow->ts_recent, 0, __ATOMIC_RELAXED);
}

/* Tells xiw_egress whether to set ECE, by what the stretch has seen of CE and CWR. */
static inline void xiw_ece_publish(const struct xiw_conn *c)
{
	if (c->tcp.flags & XIW_TCP_RX_ECN_SEEN)
		xiw_flow_note_ece(c->flow, c->stretch.epoch, c->tcp.flags & XIW_TCP_RX_ECE);
}

#endif
