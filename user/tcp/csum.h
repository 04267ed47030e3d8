/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The checksums of TCP and IPv4. */
#ifndef XIW_TCP_CSUM_H
#define XIW_TCP_CSUM_H

#include "base/csum.h"
#include "base/vec.h"

/* Adds the pseudo header of TCP, at an even offset; @tcp_len is the TCP header and payload. */
void xiw_csum_pseudo(struct xiw_csum *c, const uint8_t *ip, uint32_t tcp_len);

/* Is the checksum of this IPv4 header right, whose length the caller has checked? */
bool xiw_ip4_csum_good(const uint8_t *ip);

/*
 * Fills in the checksum of the TCP segment behind this IP header, whatever the field holds: @len octets at @tcp, which
 * begin with the header, and the pieces behind them.
 */
void xiw_tcp_csum_fill(const uint8_t *ip, uint8_t *tcp, size_t len, const struct xiw_vec *pieces,
		       unsigned int n);

#endif
