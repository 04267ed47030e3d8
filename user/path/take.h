/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_TAKE_H
#define XIW_PATH_TAKE_H

#include "path/packet.h"

/*
 * Takes what the TCP receiver has accepted of a segment, and handles what ended the walk over its FPDUs. `k` is set if
 * the segment was kept; some of its FPDUs may then be placed already. Returns true if the packet's frames are kept,
 * because the rest of the segment waits for a buffer.
 */
bool xiw_take(struct xiw_conn *c, const struct xiw_segment *s, const struct xiw_tcp_take *t,
	      const struct xiw_kept *k);

/* So many octets of the stream were accepted. */
static inline void xiw_count_taken(struct xiw_conn *c, uint32_t octets)
{
	c->counts.stream_direct += octets;
	c->handoff.crc_tries = 0;
}

#endif
