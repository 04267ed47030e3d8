/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A Send of the direct path for which no buffer is posted waits there for a moment, because most applications post one
 * soon: to fall back, and to find aligned segments in a row, costs a stream more octets than come in that time. Its
 * segment and those that come after it are kept in their frames, neither looked at nor acknowledged. When a buffer is
 * posted they are taken as if they had just come; when the time is up, or no more frames may be kept, the stream falls
 * back and the socket gets them.
 */
#ifndef XIW_PATH_PATIENCE_H
#define XIW_PATH_PATIENCE_H

#include "path/packet.h"

/* Shorter than a delayed ACK may be: to the peer it is one. */
#define XIW_PATIENCE_MS 20

/*
 * The rest of a segment that is in order waits. `rxq` is the queue that it came by. False: it may not wait, or no
 * longer.
 */
bool xiw_patience_begin(struct xiw_conn *c, const struct xiw_segment *s,
			const struct xiw_tcp_take *rest, struct xiw_rxq *rxq);

/* A segment that came meanwhile waits, too, or one that waits for the socket. False: too many frames are kept. */
bool xiw_patience_keep(struct xiw_conn *c, const struct xiw_segment *s);

/*
 * Takes the segment that waits first away from the connection; its time does not count any more. NULL, and nothing is
 * changed: there is none.
 */
struct xiw_kept *xiw_patience_over(struct xiw_conn *c);

static inline bool xiw_patient(const struct xiw_conn *c)
{
	return c->keeps.hand;
}

#endif
