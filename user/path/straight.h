/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The straight line for what most segments are: within a batch, it comes directly behind a segment of the same
 * connection, has the same headers, and goes on with the same Tagged message.
 */
#ifndef XIW_PATH_STRAIGHT_H
#define XIW_PATH_STRAIGHT_H

#include "path/packet.h"

/* A struct xiw_meta, Ethernet with a tag, IPv6, TCP with a timestamp, and the header of an FPDU fit in. */
#define XIW_STRAIGHT_HEAD 128

typedef uint64_t xiw_octets16 __attribute__((vector_size(16), may_alias));

/* What a packet that was processed has in common with those that may take the straight line behind it. */
struct xiw_straight {
	struct xiw_conn *conn;	 /* NULL: none may */
	uint32_t len, first_len; /* of the packet, and of its first frame */
	uint8_t frags;
	uint16_t ip_sum; /* see ip_sum() */
	uint64_t pseudo; /* the sum of TCP's pseudo header */
	/* The packet's first octets, and their bits that are always the same. */
	xiw_octets16 head[XIW_STRAIGHT_HEAD / 16], same[XIW_STRAIGHT_HEAD / 16];
};

/* The segment was processed. Lets the next packet take the straight line, if that is possible. */
void xiw_straight_after(struct xiw_straight *line, struct xiw_conn *c, const struct xiw_segment *s,
			const struct xiw_tcp_seg *seg);

/*
 * Takes the packet's segment. False: nothing has changed but octets where the next segment goes anyway, and the packet
 * is to be processed like any other. To be called only as long as all packets of the batch since xiw_straight_after()
 * were taken so.
 */
bool xiw_straight_take(const struct xiw_straight *line, const struct xiw_packet *p);

#endif
