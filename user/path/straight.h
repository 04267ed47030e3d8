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

/*
 * What a packet that was processed has in common with those that may take the straight line behind it, and what comes
 * next. xiw_straight_settle() tells the connection of the segments that were taken, of all at once.
 */
struct xiw_straight {
	struct xiw_conn *conn;
	uint32_t left;		 /* so many may come; 0: there is no line */
	uint32_t taken;		 /* so many have come, of which the connection does not know yet */
	uint32_t len, first_len; /* of the packet, and of its first frame */
	uint8_t frags;
	bool ts;	 /* there is a timestamp */
	bool whole_sums; /* every checksum must be right: xiw_packet_unsummed() is false */
	uint16_t l4_off, payload_off;
	uint16_t ip_sum;	     /* see ip_sum() */
	uint32_t segment_len;	     /* without headers: an FPDU */
	uint32_t ulpdu_len, payload; /* of the FPDU */
	uint64_t pseudo;	     /* the sum of TCP's pseudo header */
	/* The next segment. */
	uint32_t seq, ts_recent;
	uint64_t to;
	uint8_t *dst;
	/* The packet's first octets, and their bits that are always the same. */
	xiw_octets16 head[XIW_STRAIGHT_HEAD / 16], same[XIW_STRAIGHT_HEAD / 16];
};

/* The segment was processed, and there is no line. Lets the next packet take one, if that is possible. */
void xiw_straight_after(struct xiw_straight *line, struct xiw_conn *c, const struct xiw_segment *s,
			const struct xiw_tcp_seg *seg);

/*
 * Takes the packet's segment. False: nothing has changed but octets where the next segment goes anyway, and the packet
 * is to be processed like any other, behind xiw_straight_end(). To be called only as long as all packets of the batch
 * since xiw_straight_after() were taken so.
 */
bool xiw_straight_take(struct xiw_straight *line, const struct xiw_packet *p);

/* Makes the connection know of the segments that were taken. Nothing else may look at it before. */
void xiw_straight_settle(struct xiw_straight *line);

/* The line ends here. */
static inline void xiw_straight_end(struct xiw_straight *line)
{
	if (line->taken)
		xiw_straight_settle(line);
	line->left = 0;
}

#endif
