/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Octets as the RFCs have them, written without the library; and the pattern that tests send. */
#ifndef XIW_TESTS_NET_OCTETS_H
#define XIW_TESTS_NET_OCTETS_H

#include <stddef.h>
#include <stdint.h>

/* At offset i of what is sent. */
static inline uint8_t octet(uint64_t i)
{
	return (uint8_t)(i * 167 + (i >> 8));
}

/* Most significant octet first. */
static inline void put(uint8_t *p, uint64_t v, int octets)
{
	while (octets--) {
		p[octets] = (uint8_t)v;
		v >>= 8;
	}
}

static inline uint64_t get(const uint8_t *p, int octets)
{
	uint64_t v = 0;

	while (octets--)
		v = v << 8 | *p++;
	return v;
}

/* Bit by bit: RFC 3385's polynomial, reflected. */
static inline uint32_t crc32c(const uint8_t *p, size_t len)
{
	uint32_t crc = ~0u;

	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

#endif
