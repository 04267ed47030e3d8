/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Internet checksum (RFC 1071) over pieces.
 *
 * Sums are kept in memory order: 16-bit words are added as the host loads them, which RFC 1071 section 2 (B) allows. So
 * a folded value is stored into a header by memcpy, without swapping its octets.
 */
#ifndef XIW_BASE_CSUM_H
#define XIW_BASE_CSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sum in progress. `odd` is set while an odd number of octets has been added. */
struct xiw_csum {
	uint64_t sum;
	bool odd;
};

/* The sum of @len octets, as if they began at an even offset; an odd last octet is padded with zero. */
uint32_t xiw_csum_partial(const void *p, size_t len);
/* The same by the portable loop, which xiw_csum_partial() uses on a machine without AVX2. */
uint32_t xiw_csum_partial_generic(const void *p, size_t len);

static inline uint16_t xiw_csum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Adds a piece of @len octets whose sum is @part. */
static inline void xiw_csum_join(struct xiw_csum *c, uint32_t part, size_t len)
{
	/* RFC 1071 section 2 (B): a piece at an odd offset adds its sum octet-swapped. */
	if (c->odd)
		part = __builtin_bswap16(xiw_csum_fold(part));
	c->sum += part;
	c->odd ^= len & 1;
}

static inline void xiw_csum_add(struct xiw_csum *c, const void *p, size_t len)
{
	xiw_csum_join(c, xiw_csum_partial(p, len), len);
}

/* The value for the checksum field, in memory order. */
static inline uint16_t xiw_csum_final(const struct xiw_csum *c)
{
	return (uint16_t)~xiw_csum_fold(c->sum);
}

/* True if a sum that included the checksum field is right. */
static inline bool xiw_csum_good(const struct xiw_csum *c)
{
	return xiw_csum_fold(c->sum) == 0xffff;
}

#endif
