/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_INJECT_H
#define XIW_PATH_INJECT_H

#include "path/packet.h"

/* Raises kernel_high to cover a segment that is about to be injected. */
void xiw_inject_raise_high(struct xiw_conn *c, const struct xiw_packet *p,
			   const struct xiw_meta *meta);

/* Notes CE or CWR of a segment that is injected without having passed the engine's TCP receiver. */
void xiw_inject_note_ecn(struct xiw_conn *c, const struct xiw_packet *p,
			 const struct xiw_meta *meta);

/* Injects the first `len` octets of a received segment. The caller has raised kernel_high. */
void xiw_inject_segment(struct xiw_conn *c, const struct xiw_packet *p, const struct xiw_meta *meta,
			uint32_t len, uint32_t skew);

/* Raises kernel_high and injects a whole segment. */
void xiw_inject_whole(struct xiw_conn *c, const struct xiw_packet *p, const struct xiw_meta *meta,
		      uint32_t skew);

/*
 * Says that XDP may have given the socket segments that came after those that are injected from here on. So they get a
 * TSval that is not older than the socket's TS.Recent, as xiw_egress has seen it in the socket's answers. Nobody has
 * verified the TSval of a segment that XDP passes: after an injected one that was damaged, PAWS would drop all others.
 */
void xiw_inject_behind_kernel(struct xiw_conn *c);

/* Injects a frame that came between the decision to fall back and the swap of the owner word. */
void xiw_inject_late(struct xiw_conn *c, const struct xiw_segment *s);

/* Injects the octets of a segment that come before the start of the stretch. */
void xiw_inject_old(struct xiw_conn *c, const struct xiw_segment *s);

/*
 * Injects what the peer said of our own data on segments that the socket never saw. Called after the ACKs of the batch
 * have left, because the kernel may send as soon as it learns of it.
 */
void xiw_feedback_flush(struct xiw_conn *c);

/* Injects a segment that makes the socket send an acknowledgement, and changes nothing else. */
void xiw_inject_question(struct xiw_conn *c);

/* Injects a segment that changes nothing, to learn whether injection works. */
void xiw_inject_probe(struct xiw_conn *c);

#endif
