/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Headers of segments that are built here, for the wire or for the kernel's socket. */
#ifndef XIW_TCP_SEGMENT_H
#define XIW_TCP_SEGMENT_H

#include <stdint.h>

#include "tcp/wire.h"

/* An IP header without options or extension headers. */
struct xiw_ip_header {
	uint8_t version; /* 4 or 6 */
	uint8_t hops;	 /* TTL or hop limit */
	/* Traffic class << 20 | flow label; of IPv4 the type of service << 20. */
	uint32_t class_label;
	const uint8_t *src, *dst; /* 4 or 16 octets */
};

/* Reads a received header. */
struct xiw_ip_header xiw_ip_read(const uint8_t *ip);
/* Writes the header in front of @tcp_len octets, and returns its length. */
uint32_t xiw_ip_build(uint8_t *out, const struct xiw_ip_header *h, uint32_t tcp_len);

/*
 * Writes the TCP header that xiw_tcp_parse() would read as @seg, with a checksum of 0, and returns its length, which is
 * also xiw_tcp_build_len(). The members len and ecn are not in a TCP header. Beside a Timestamps option there is room
 * for three SACK blocks (RFC 2018 section 3), and a fourth is left out.
 */
uint32_t xiw_tcp_build(uint8_t *out, uint16_t sport, uint16_t dport, const struct xiw_tcp_seg *seg);
uint32_t xiw_tcp_build_len(const struct xiw_tcp_seg *seg);

#endif
