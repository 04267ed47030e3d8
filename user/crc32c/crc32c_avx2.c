/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CRC32c by carry-less multiplication, two 128-bit lanes at a time. */

#ifdef __x86_64__

#include "crc32c/crc32c_x86.h"

#define TARGET __attribute__((target("avx2,vpclmulqdq,pclmul,sse4.2")))
#define INLINE static inline __attribute__((always_inline)) TARGET
#define NR_ACC 8
#define BLOCK 32

/*
 * fold[FOLD_END - 1 - k] = x^(64k-1) as the upper half of 64 bits: the factor that
 * moves 64 bits k words on. (The product of two reflected words is one place low,
 * hence the -1.) A lane at distance m lanes needs k = 2m+1 for its first word and
 * k = 2m for its second, so a block d blocks from the end finds all its factors in
 * one row, the last lane's being x^63 and x^-1, which move nothing.
 */
static const uint64_t fold[] __attribute__((aligned(64))) = { XIW_CRC32C_FOLD };
#define FOLD_END (sizeof(fold) / sizeof(fold[0]))

INLINE __m256i load(const uint8_t *src)
{
	return _mm256_loadu_si256((const __m256i *)src);
}

INLINE __m256i take(uint8_t *dst, const uint8_t *src, bool copy)
{
	__m256i v = load(src);

	if (copy)
		_mm256_storeu_si256((__m256i *)dst, v);
	return v;
}

/* @v moved by the factors @k, plus @sum */
INLINE __m256i fold_add(__m256i v, __m256i k, __m256i sum)
{
	return _mm256_xor_si256(_mm256_xor_si256(_mm256_clmulepi64_epi128(v, k, 0x00), sum),
				_mm256_clmulepi64_epi128(v, k, 0x11));
}

/* The factors of a block that has @d blocks after it */
INLINE __m256i factors(size_t d)
{
	return load((const uint8_t *)(fold + FOLD_END - 4 * (d + 1)));
}

INLINE uint32_t run(uint32_t crc, uint8_t *dst, const uint8_t *src, size_t len, bool copy)
{
	const __m256i step = _mm256_broadcastsi128_si256(
		_mm_load_si128((const __m128i *)(fold + FOLD_END - 4 * NR_ACC - 2)));
	__m256i acc[NR_ACC], sum = _mm256_setzero_si256();
	size_t head = len % BLOCK, n = len / BLOCK, i;
	uint32_t c = ~crc;

	if (n < 3)
		return ~xiw_steps(c, dst, src, len, copy);
	c = xiw_steps(c, dst, src, head, copy);
	src += head;
	dst = copy ? dst + head : NULL;

#define TAKE(i) take(copy ? dst + (i)*BLOCK : NULL, src + (i)*BLOCK, copy)
	acc[0] = _mm256_xor_si256(TAKE(0), _mm256_zextsi128_si256(_mm_cvtsi32_si128(c)));
	if (n < NR_ACC) {
		sum = fold_add(acc[0], factors(n - 1), sum);
		for (i = 1; i < n; i++)
			sum = fold_add(TAKE(i), factors(n - 1 - i), sum);
	} else {
#pragma GCC unroll 8
		for (i = 1; i < NR_ACC; i++)
			acc[i] = TAKE(i);
		for (n -= NR_ACC; n >= NR_ACC; n -= NR_ACC) {
			src += NR_ACC * BLOCK;
			dst = copy ? dst + NR_ACC * BLOCK : NULL;
#pragma GCC unroll 8
			for (i = 0; i < NR_ACC; i++)
				acc[i] = fold_add(acc[i], step, TAKE(i));
		}
#pragma GCC unroll 8
		for (i = 0; i < NR_ACC; i++)
			sum = fold_add(acc[i], factors(n + NR_ACC - 1 - i), sum);
		for (i = 0; i < n; i++)
			sum = fold_add(TAKE(NR_ACC + i), factors(n - 1 - i), sum);
	}
#undef TAKE
	return ~xiw_reduce128(
		_mm_xor_si128(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1)));
}

bool xiw_crc32c_has_avx2(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq") &&
	       __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.2");
}

TARGET uint32_t xiw_crc32c_avx2(uint32_t crc, const void *src, size_t len)
{
	return run(crc, NULL, src, len, false);
}

TARGET uint32_t xiw_crc32c_avx2_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
	return run(crc, dst, src, len, true);
}

#endif
