/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_PACKET_H
#define XIW_PATH_PACKET_H

#include "core/engine.h"

/* A kept out-of-order segment: its frames, and what the TCP receiver links it by. */
struct xiw_kept {
	struct xiw_tcp_keep node;
	struct xiw_packet packet;
	struct xiw_rxq *rxq;
	struct xiw_meta meta;
	uint32_t placed_from,
		placed_to;   /* wire seq: FPDUs that are in place already; equal: none */
	uint64_t generation; /* of the regions then: if another now, the place may be another's */
	struct xiw_conn *conn;
	uint8_t frames; /* that count as kept */
	struct xiw_kept *next_free;
};

/* A segment in its frames. */
struct xiw_segment {
	const struct xiw_packet *packet;
	const struct xiw_meta *meta;
};

const struct xiw_meta *xiw_packet_meta(const struct xiw_packet *p);
unsigned int xiw_payload(const struct xiw_packet *p, const struct xiw_meta *meta, uint32_t off,
			 uint32_t len, struct xiw_vec v[XIW_XSK_FRAGS_MAX]);
uint32_t xiw_segment_seq(const struct xiw_packet *p, const struct xiw_meta *meta);
bool xiw_packet_link_good(const struct xiw_packet *p, const struct xiw_meta *meta);
enum xiw_reason xiw_packet_read(struct xiw_conn *c, const struct xiw_packet *p,
				const struct xiw_meta *meta, struct xiw_tcp_seg *seg);
struct xiw_kept *xiw_keep(struct xiw_conn *c, const struct xiw_segment *s);
void xiw_kept_uncount(struct xiw_kept *k);
void xiw_kept_free(struct xiw_engine *e, struct xiw_kept *k);

#endif
