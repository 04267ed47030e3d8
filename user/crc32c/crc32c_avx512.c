/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CRC32c by carry-less multiplication, four 128-bit lanes at a time.
 *
 * CPUs that have VPCLMULQDQ on 512 bits do not lower their clock for it: in measurements scalar code between bursts of
 * calls ran at full speed. The first use after a pause costs some 70 ns, which a few payloads win back.
 */

#ifdef __x86_64__

#include "crc32c/crc32c_x86.h"

#define TARGET                                                                                     \
	__attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vnni,vpclmulqdq,pclmul,sse4.2")))
#define INLINE static inline __attribute__((always_inline)) TARGET
#define NR_ACC 8
#define BLOCK 64

/*
 * For fewer octets the narrower multiplications, which have a lower latency, are faster. The accumulators must be full
 * after a head of up to 3 + BLOCK octets.
 */
#define MIN_LEN 576
_Static_assert(MIN_LEN >= 3 + NR_ACC * BLOCK, "too short to fill the accumulators");

/* As in crc32c_avx2.c. */
static const uint64_t fold[] __attribute__((aligned(64))) = { XIW_CRC32C_FOLD };
#define FOLD_END (sizeof(fold) / sizeof(fold[0]))

/* Loaded once, as xiw_take8() explains. */
INLINE __m512i take(uint8_t *dst, const uint8_t *src, bool copy)
{
	__m512i v = _mm512_loadu_si512(src);

	if (copy)
		_mm512_storeu_si512(dst, v);
	return v;
}

/* @v moved by the factors @k, plus @sum */
INLINE __m512i fold_add(__m512i v, __m512i k, __m512i sum)
{
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(v, k, 0x00),
					 _mm512_clmulepi64_epi128(v, k, 0x11), sum, 0x96);
}

/* The factors of a block that has @d blocks after it */
INLINE __m512i factors(size_t d)
{
	return _mm512_load_si512(fold + FOLD_END - 8 * (d + 1));
}

static const uint8_t iota[64] __attribute__((aligned(64))) = {
	0,  1,	2,  3,	4,  5,	6,  7,	8,  9,	10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
	22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
	44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
};

/*
 * The first @head octets (4 to 64) and the CRC before them, as the end of a block
 * of zeros: zeros in front change nothing while the register is zero. So all other
 * blocks are whole, and nothing outside of the buffer is touched: the block taken
 * here overlaps the next one, which copies the same octets again: as they are in
 * its own sum.
 */
INLINE __m512i take_head(uint32_t c, uint8_t *dst, const uint8_t *src, size_t head, bool copy)
{
	__m512i v = _mm512_xor_si512(take(dst, src, copy),
				     _mm512_zextsi128_si512(_mm_cvtsi32_si128(c)));
	__m512i from = _mm512_add_epi8(_mm512_load_si512(iota), _mm512_set1_epi8(head));

	return _mm512_maskz_permutexvar_epi8(~0ull << (BLOCK - head), from, v);
}

INLINE __m128i sum_lanes(__m512i v)
{
	__m256i w = _mm256_xor_si256(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));

	return _mm_xor_si128(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1));
}

/* octets[k - 1] moves 64 bits k octets on; as with fold, k is 8 more for the first word. */
static const uint64_t octets[] = { XIW_CRC32C_OCTETS };

/*
 * The last @tail octets (1 to 63) behind the blocks whose sum is given, by way of the 64 octets that end the buffer.
 * Only these are copied: others are in the sum as the block before them found them.
 */
INLINE __m512i take_tail(__m512i sum, uint8_t *dst, const uint8_t *src, size_t tail)
{
	const __mmask64 last = ~(~0ull >> tail);
	__m512i v = _mm512_maskz_loadu_epi8(last, src + tail - BLOCK);
	__m128i k = _mm_set_epi64x(octets[tail - 1], octets[tail + 7]), w = sum_lanes(sum);

	_mm512_mask_storeu_epi8(dst + tail - BLOCK, last, v);

	w = _mm_xor_si128(_mm_clmulepi64_si128(w, k, 0x00), _mm_clmulepi64_si128(w, k, 0x11));
	return fold_add(v, factors(0), _mm512_zextsi128_si512(w));
}

/*
 * The Internet checksum in the making: the octets at even offsets and those at odd ones. Where blocks begin at an odd
 * offset, the two have changed places. Each addition adds less than 2^9 to each of 16 lanes; less than 2^27 is left of
 * 64 KiB when the odd octets have been moved to their places.
 */
struct words {
	__m512i even, odd;
};

INLINE void add_words(struct words *w, __m512i v)
{
	w->even = _mm512_dpbusd_epi32(w->even, v, _mm512_set1_epi16(0x0001));
	w->odd = _mm512_dpbusd_epi32(w->odd, v, _mm512_set1_epi16(0x0100));
}

/* Up to 63 octets */
INLINE void add_few(struct words *w, const uint8_t *src, size_t len)
{
	add_words(w, _mm512_maskz_loadu_epi8((1ull << len) - 1, src));
}

INLINE void change_places(struct words *w)
{
	const __m512i even = w->even;

	w->even = w->odd;
	w->odd = even;
}

/* The sum as xiw_csum_partial() returns it */
INLINE uint32_t words_sum(const struct words *w)
{
	return (uint32_t)_mm512_reduce_add_epi32(
		_mm512_add_epi32(w->even, _mm512_slli_epi32(w->odd, 8)));
}

INLINE __m512i take_sum(struct words *w, uint8_t *dst, const uint8_t *src, bool copy)
{
	__m512i v = take(dst, src, copy);

	if (w)
		add_words(w, v);
	return v;
}

/*
 * Blocks are cut so that every store except the first and the last is aligned: an unaligned store of 64 octets crosses
 * a cache line every time. Without a copy, blocks are cut so that there is no tail. Neither prefetching nor stores past
 * the cache help: by measurement the former is slower in the cache and no faster outside of it, the latter up to 12
 * times slower in the cache.
 */
INLINE uint32_t run(uint32_t crc, uint8_t *dst, const uint8_t *src, size_t len, bool copy,
		    uint32_t *part)
{
	const __m512i step = _mm512_broadcast_i32x4(
		_mm_load_si128((const __m128i *)(fold + FOLD_END - 8 * NR_ACC - 2)));
	__m512i acc[NR_ACC], sum = _mm512_setzero_si512();
	size_t head = (copy ? -(uintptr_t)dst : len) % BLOCK, tail, n, i;
	struct words w = { _mm512_setzero_si512(), _mm512_setzero_si512() };
	const bool odd = head & 1;
	uint32_t c = ~crc;

	if (part)
		add_few(&w, src, head);
	if (part && odd)
		change_places(&w);
	/* The register is 4 octets long, and so must be what it is added to. */
	if (head < 4) {
		c = xiw_steps_below8(c, dst, src, head, copy);
		src += head;
		dst = copy ? dst + head : NULL;
		len -= head;
		head = BLOCK;
		if (part)
			add_words(&w, take(NULL, src, false));
	}
	acc[0] = take_head(c, dst, src, head, copy);
	src += head;
	dst = copy ? dst + head : NULL;
	n = (len - head) / BLOCK;
	tail = copy ? (len - head) % BLOCK : 0;

#define TAKE(i) take_sum(part ? &w : NULL, copy ? dst + (i)*BLOCK : NULL, src + (i)*BLOCK, copy)
#pragma GCC unroll 8
	for (i = 1; i < NR_ACC; i++)
		acc[i] = TAKE(i - 1);
	src += (NR_ACC - 1) * BLOCK;
	dst = copy ? dst + (NR_ACC - 1) * BLOCK : NULL;
	for (n -= NR_ACC - 1; n >= NR_ACC; n -= NR_ACC) {
#pragma GCC unroll 8
		for (i = 0; i < NR_ACC; i++)
			acc[i] = fold_add(acc[i], step, TAKE(i));
		src += NR_ACC * BLOCK;
		dst = copy ? dst + NR_ACC * BLOCK : NULL;
	}
#pragma GCC unroll 8
	for (i = 0; i < NR_ACC; i++)
		sum = fold_add(acc[i], factors(n + NR_ACC - 1 - i), sum);
	for (i = 0; i < n; i++)
		sum = fold_add(TAKE(i), factors(n - 1 - i), sum);
#undef TAKE
	if (tail)
		sum = take_tail(sum, dst + n * BLOCK, src + n * BLOCK, tail);
	if (part) {
		add_few(&w, src + n * BLOCK, tail);
		if (odd)
			change_places(&w);
		*part = words_sum(&w);
	}
	return ~xiw_reduce128(sum_lanes(sum));
}

bool xiw_crc32c_has_avx512(void)
{
	return xiw_crc32c_has_avx2() && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") &&
	       __builtin_cpu_supports("avx512vnni");
}

TARGET uint32_t xiw_crc32c_avx512(uint32_t crc, const void *src, size_t len)
{
	if (len < MIN_LEN)
		return xiw_crc32c_avx2(crc, src, len);
	return run(crc, NULL, src, len, false, NULL);
}

TARGET uint32_t xiw_crc32c_avx512_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
	if (len < MIN_LEN)
		return xiw_crc32c_avx2_copy(crc, dst, src, len);
	return run(crc, dst, src, len, true, NULL);
}

TARGET uint32_t xiw_crc32c_avx512_copy_sum(uint32_t crc, void *dst, const void *src, size_t len,
					   uint32_t *part)
{
	if (len >= MIN_LEN)
		return run(crc, dst, src, len, true, part);
	*part = xiw_csum_partial(src, len);
	return xiw_crc32c_avx2_copy(crc, dst, src, len);
}

#endif
