/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CRC32C_X86_H
#define XIW_CRC32C_X86_H

/* What the three x86 implementations share: pieces that are too short for anything faster. */

#include <immintrin.h>
#include <string.h>

#include "crc32c/crc32c_consts.h"
#include "crc32c/crc32c_impl.h"

#define XIW_SSE42_INLINE static inline __attribute__((always_inline, target("sse4.2,pclmul")))

/*
 * The next 8 octets, which are loaded once: in memory that changes meanwhile, a second load may find other octets than
 * those that were copied, and the CRC must be that of the copy. The same holds for each load below.
 */
XIW_SSE42_INLINE uint64_t xiw_take8(uint8_t *dst, const uint8_t *src, bool copy)
{
	uint64_t v;

	memcpy(&v, src, 8);
	if (copy)
		memcpy(dst, &v, 8);
	return v;
}

XIW_SSE42_INLINE uint64_t xiw_step8(uint64_t c, uint8_t *dst, const uint8_t *src, bool copy)
{
	return _mm_crc32_u64(c, xiw_take8(dst, src, copy));
}

/* Up to 7 octets; @c and the result are not inverted. */
XIW_SSE42_INLINE uint32_t xiw_steps_below8(uint32_t c, uint8_t *dst, const uint8_t *src, size_t len,
					   bool copy)
{
	if (len & 4) {
		uint32_t v;

		memcpy(&v, src, 4);
		if (copy)
			memcpy(dst, &v, 4);
		c = _mm_crc32_u32(c, v);
		src += 4;
		dst = copy ? dst + 4 : NULL;
	}
	if (len & 2) {
		uint16_t v;

		memcpy(&v, src, 2);
		if (copy)
			memcpy(dst, &v, 2);
		c = _mm_crc32_u16(c, v);
		src += 2;
		dst = copy ? dst + 2 : NULL;
	}
	if (len & 1) {
		uint8_t v = *src;

		if (copy)
			*dst = v;
		c = _mm_crc32_u8(c, v);
	}
	return c;
}

/* Any length, one instruction after the other; @c and the result are not inverted. */
XIW_SSE42_INLINE uint32_t xiw_steps(uint32_t c, uint8_t *dst, const uint8_t *src, size_t len,
				    bool copy)
{
	uint64_t w = c;
	size_t i;

	for (i = 0; len - i >= 8; i += 8)
		w = xiw_step8(w, copy ? dst + i : NULL, src + i, copy);
	return xiw_steps_below8(w, copy ? dst + i : NULL, src + i, len - i, copy);
}

/*
 * The last step of folding: 128 bits that are congruent to the whole message, times x^32. A CRC instruction computes
 * this for 64 bits.
 */
XIW_SSE42_INLINE uint32_t xiw_reduce128(__m128i v)
{
	return _mm_crc32_u64(_mm_crc32_u64(0, _mm_cvtsi128_si64(v)), _mm_extract_epi64(v, 1));
}

#endif
