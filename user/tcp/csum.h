/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Internet checksum (RFC 1071) over pieces, and its incremental update (RFC 1624).
 *
 * Sums are kept in memory order: 16-bit words are added as the host loads them, which RFC 1071
 * section 2 (B) allows. A folded value is therefore stored into a header with memcpy, unswapped.
 */
#ifndef XIW_TCP_CSUM_H
#define XIW_TCP_CSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A sum in progress. `odd` is set while an odd number of octets has been added. */
struct xiw_csum {
	uint64_t sum;
	bool odd;
};

/* Sum of len octets, as if they began at an even offset; an odd last octet is padded with zero. */
uint32_t xiw_csum_partial(const void *p, size_t len);
/* The same by the portable loop: what xiw_csum_partial is on a machine without AVX2. */
uint32_t xiw_csum_partial_generic(const void *p, size_t len);

void xiw_csum_add(struct xiw_csum *c, const void *p, size_t len);

/* Pseudo headers; addresses point at wire octets, tcp_len is TCP header plus payload. */
void xiw_csum_pseudo4(struct xiw_csum *c, const void *saddr, const void *daddr, uint32_t tcp_len);
void xiw_csum_pseudo6(struct xiw_csum *c, const void *saddr, const void *daddr, uint32_t tcp_len);

/* Fill the checksum field of a TCP segment of len octets (one piece), whatever it held before. */
void xiw_tcp_csum_fill4(uint8_t *tcp, size_t len, const void *saddr, const void *daddr);
void xiw_tcp_csum_fill6(uint8_t *tcp, size_t len, const void *saddr, const void *daddr);

static inline uint16_t xiw_csum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* The value for the checksum field, in memory order. */
static inline uint16_t xiw_csum_final(const struct xiw_csum *c)
{
	return (uint16_t)~xiw_csum_fold(c->sum);
}

/* True when a sum that included the checksum field verifies. */
static inline bool xiw_csum_good(const struct xiw_csum *c)
{
	return xiw_csum_fold(c->sum) == 0xffff;
}

/*
 * RFC 1624 equation 3: HC' = ~(~HC + ~m + m'). The form with plain subtraction (RFC 1141) can
 * yield 0xffff where recomputing yields 0. `check` points at the field; old and new are wire
 * values in memory order, at an even offset of the checksummed octets.
 */
static inline void xiw_csum_replace(void *check, uint32_t old, uint32_t new)
{
	uint16_t hc;

	memcpy(&hc, check, sizeof(hc));
	hc = (uint16_t)~xiw_csum_fold((uint64_t)(uint16_t)~hc + (uint32_t)~old + new);
	memcpy(check, &hc, sizeof(hc));
}

static inline void xiw_csum_replace4(void *check, uint32_t old, uint32_t new)
{
	xiw_csum_replace(check, old, new);
}

#endif
