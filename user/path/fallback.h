/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_FALLBACK_H
#define XIW_PATH_FALLBACK_H

#include "path/packet.h"

/*
 * Makes the connection fall back: commits, and gives the socket the segment in hand (or NULL) and all that is
 * kept. The owner word is swapped later, by xiw_fall_back_finish(). Does nothing if no stretch is under way.
 */
void xiw_fall_back(struct xiw_conn *c, enum xiw_reason reason, const struct xiw_segment *in_hand);

/* The time of a segment that waits for a buffer is up (path/patience.h), unless one was posted for it. */
void xiw_patience_end(struct xiw_conn *c);

/*
 * Swaps the owner word, which ends the fall-back. The turn calls it when the frames that were on the rings have
 * been injected.
 */
void xiw_fall_back_finish(struct xiw_conn *c);

/* Called when the owner word shows that XDP has taken the stream back. Ends the stretch. */
void xiw_ownership_lost(struct xiw_conn *c);

/* Handles a frame of another epoch: injects it if the kernel owns the stream, else drops it. */
void xiw_stale_segment(struct xiw_conn *c, const struct xiw_packet *p, const struct xiw_meta *meta);

#endif
