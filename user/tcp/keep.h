/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The list of kept segments, and the runs in it. Internal to this folder. */
#ifndef XIW_TCP_KEEP_H
#define XIW_TCP_KEEP_H

#include "tcp/recv.h"

/* A FIN occupies the number after the data (RFC 9293 section 3.4). */
static inline uint32_t xiw_keep_end(const struct xiw_tcp_keep *n)
{
	return n->seq + n->len + !!(n->flags & XIW_TCP_FIN);
}

/*
 * Links n, and sets *dup to the part of it that was kept before: the first such part (RFC 2883 section 4.2), or an
 * empty range. Returns false, and links nothing, if all of it was kept before; or with an empty range, if n covers too
 * many others, among which it would have its place.
 */
bool xiw_keep_insert(struct xiw_tcp_rx *rx, struct xiw_tcp_keep *n, struct xiw_tcp_sack *dup);

/* Unlinks the first node. */
struct xiw_tcp_keep *xiw_keep_pop(struct xiw_tcp_rx *rx);

/* Computes the fields of the first run again after xiw_keep_pop() has left them stale. */
void xiw_keep_runs(struct xiw_tcp_rx *rx);

/* Writes up to max runs, the most recently changed first (RFC 2018 section 4). Returns their number. */
unsigned int xiw_keep_blocks(struct xiw_tcp_rx *rx, struct xiw_tcp_sack *blocks, unsigned int max);

#endif
