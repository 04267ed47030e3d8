/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CRC32c by tables, eight octets a step, for any CPU. */

#include <endian.h>
#include <string.h>

#include "crc32c/crc32c_consts.h"
#include "crc32c/crc32c_impl.h"

/*
 * slices[k][b] is the CRC, without inversions, of octet b with k octets of zero
 * after it. That is linear in b, so eight values give all 256 by addition, and
 * the compiler does it.
 */
#define BITS1(v, a) (v), (v) ^ (a)
#define BITS2(v, a, ...) BITS1(v, __VA_ARGS__), BITS1((v) ^ (a), __VA_ARGS__)
#define BITS3(v, a, ...) BITS2(v, __VA_ARGS__), BITS2((v) ^ (a), __VA_ARGS__)
#define BITS4(v, a, ...) BITS3(v, __VA_ARGS__), BITS3((v) ^ (a), __VA_ARGS__)
#define BITS5(v, a, ...) BITS4(v, __VA_ARGS__), BITS4((v) ^ (a), __VA_ARGS__)
#define BITS6(v, a, ...) BITS5(v, __VA_ARGS__), BITS5((v) ^ (a), __VA_ARGS__)
#define BITS7(v, a, ...) BITS6(v, __VA_ARGS__), BITS6((v) ^ (a), __VA_ARGS__)
#define BITS8(v, a, ...) BITS7(v, __VA_ARGS__), BITS7((v) ^ (a), __VA_ARGS__)
#define ROW(...) { BITS8(0u, __VA_ARGS__) },

static const uint32_t slices[8][256] = { XIW_CRC32C_SLICES(ROW) };

static inline uint32_t step8(uint32_t c, uint64_t v)
{
	v = le64toh(v) ^ c;
	return slices[7][v & 0xff] ^ slices[6][v >> 8 & 0xff] ^ slices[5][v >> 16 & 0xff] ^
	       slices[4][v >> 24 & 0xff] ^ slices[3][v >> 32 & 0xff] ^ slices[2][v >> 40 & 0xff] ^
	       slices[1][v >> 48 & 0xff] ^ slices[0][v >> 56];
}

static inline __attribute__((always_inline)) uint32_t run(uint32_t crc, uint8_t *dst,
							  const uint8_t *src, size_t len, bool copy)
{
	uint32_t c = ~crc;
	uint64_t v;
	size_t i;

	for (i = 0; len - i >= 8; i += 8) {
		memcpy(&v, src + i, 8);
		if (copy)
			memcpy(dst + i, &v, 8);
		c = step8(c, v);
	}
	for (; i < len; i++) {
		uint8_t b = src[i];

		if (copy)
			dst[i] = b;
		c = c >> 8 ^ slices[0][(c ^ b) & 0xff];
	}
	return ~c;
}

uint32_t xiw_crc32c_slice8(uint32_t crc, const void *src, size_t len)
{
	return run(crc, NULL, src, len, false);
}

uint32_t xiw_crc32c_slice8_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
	return run(crc, dst, src, len, true);
}
