/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_PACKET_H
#define XIW_PATH_PACKET_H

#include "core/engine.h"

/* A kept segment: its frames, and the node by which the TCP receiver links it. */
struct xiw_kept {
	struct xiw_tcp_keep node;
	struct xiw_packet packet;
	struct xiw_rxq *rxq;
	struct xiw_meta meta;
	/* Wire numbers where the FPDUs that were placed early begin and end; equal if there are none. */
	uint32_t placed_from, placed_to;
	/* The generation of the regions then. If it has changed, the memory may have another owner. */
	uint64_t generation;
	struct xiw_conn *conn;
	uint8_t frames; /* how many of its frames count as kept */
	struct xiw_kept *next_free;
};

/* A segment as it came: its frames, and what XDP says of it. */
struct xiw_segment {
	const struct xiw_packet *packet;
	const struct xiw_meta *meta;
};

/* Returns the metadata that XDP put in front of the packet, or NULL if they are not valid. */
const struct xiw_meta *xiw_packet_meta(const struct xiw_packet *p, uint32_t nflows);

/*
 * Finds the pieces of [off, off + len) of a packet's payload. Returns their number. The caller has checked the
 * range.
 */
unsigned int xiw_payload(const struct xiw_packet *p, const struct xiw_meta *meta, uint32_t off,
			 uint32_t len, struct xiw_vec v[XIW_XSK_FRAGS_MAX]);

/* Returns the segment's sequence number, which is a wire number. */
uint32_t xiw_segment_seq(const struct xiw_packet *p, const struct xiw_meta *meta);

/* Says whether link layer and IP header are such that the kernel's IP would have taken the packet. */
bool xiw_packet_link_good(const struct xiw_packet *p, const struct xiw_meta *meta);

/*
 * Parses the headers into `seg` and checks the checksum. Returns XIW_REASON_NONE, or why TCP must not see the
 * segment.
 */
enum xiw_reason xiw_packet_read(struct xiw_conn *c, const struct xiw_packet *p,
				const struct xiw_meta *meta, struct xiw_tcp_seg *seg);

/* The sum of TCP's pseudo header, and whether TCP's checksum need not be looked at. */
uint64_t xiw_packet_pseudo(const struct xiw_packet *p, const struct xiw_meta *meta);
bool xiw_packet_unsummed(const struct xiw_conn *c, const struct xiw_packet *p,
			 const struct xiw_meta *meta, uint64_t pseudo);

/* Does the checksum's field hold the sum of the pseudo header, as where the sender has left the rest to hardware? */
bool xiw_packet_unfinished(const struct xiw_segment *s);

/* Keeps a segment's frames. Returns NULL if too many are kept already. */
struct xiw_kept *xiw_keep(struct xiw_conn *c, const struct xiw_segment *s);

/* Takes the frames off the counts, when the segment is about to be taken or kept anew. */
void xiw_kept_uncount(struct xiw_kept *k);

/* Releases a kept segment and its frames; none if its `packet.frags` is 0. */
void xiw_kept_free(struct xiw_engine *e, struct xiw_kept *k);

#endif
