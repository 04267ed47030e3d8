// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/csum.h"

static uint32_t fold32(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	return (uint32_t)((sum & 0xffffffff) + (sum >> 32));
}

static uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Fewer than 8 octets: a zero-padded word adds the same as the octets alone. */
static uint64_t load_tail(const uint8_t *p, size_t len)
{
	uint64_t sum = 0;
	uint32_t v4;
	uint16_t v2 = 0;

	/* The lengths are constants, because a memcpy of `len` octets would be a call. */
	if (len & 4) {
		memcpy(&v4, p, 4);
		sum = v4;
		p += 4;
	}
	if (len & 2) {
		memcpy(&v2, p, 2);
		sum += v2;
		p += 2;
		v2 = 0;
	}
	if (len & 1) {
		memcpy(&v2, p, 1);
		sum += v2;
	}
	return sum;
}

uint32_t xiw_csum_partial_generic(const void *data, size_t len)
{
	const uint8_t *p = data;
	/* 128-bit sums keep the carries of 64-bit words; two of them run in parallel. */
	unsigned __int128 a = 0, b = 0;
	uint64_t lo, hi;

	for (; len >= 32; p += 32, len -= 32) {
		a += load64(p);
		b += load64(p + 8);
		a += load64(p + 16);
		b += load64(p + 24);
	}
	for (; len >= 8; p += 8, len -= 8)
		a += load64(p);
	if (len)
		b += load_tail(p, len);
	a += b;
	lo = (uint64_t)a;
	hi = (uint64_t)(a >> 64);
	return fold32((lo & 0xffffffff) + (lo >> 32) + hi);
}

#if defined(__x86_64__)
#define INLINE_AVX2 static inline __attribute__((always_inline, target("avx2")))

/* The longest area for csum_partial_avx2(): then each lane of 32 bits is less than 2^30 in the end. */
#define AVX2_MAX (1u << 19)

/* Before 32 octets of which the last n are meant: `mask + n`. */
static const uint8_t mask[64] = { [32 ... 63] = 0xff };

/*
 * Adds the 16-bit words of @v, each less 0x8000: vpmaddwd adds pairs of words, but as signed ones. That is one
 * instruction less for each 32 octets than to separate the halves of wider words.
 */
INLINE_AVX2 __m256i add_words(__m256i sum, __m256i v)
{
	return _mm256_add_epi32(sum, _mm256_madd_epi16(v, _mm256_set1_epi16(1)));
}

INLINE_AVX2 __m256i less_8000(const uint8_t *p)
{
	return _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)p), _mm256_set1_epi16(-0x8000));
}

/* At least 32 octets. Two sums hide the latency. */
__attribute__((target("avx2"))) static uint32_t csum_partial_avx2(const void *data, size_t len)
{
	const uint8_t *p = data, *end = p + len / 128 * 128;
	const uint64_t words = len / 2;
	__m256i s = _mm256_setzero_si256(), t = s, last;
	__m128i half;
	uint64_t sum;

	for (; p != end; p += 128) {
		s = add_words(s, less_8000(p));
		t = add_words(t, less_8000(p + 32));
		s = add_words(s, less_8000(p + 64));
		t = add_words(t, less_8000(p + 96));
	}
	for (len %= 128; len >= 32; p += 32, len -= 32)
		s = add_words(s, less_8000(p));
	/* The words that are left end 32 octets of which the others were added already. */
	last = _mm256_loadu_si256((const __m256i *)(mask + (len & 30)));
	t = add_words(t, _mm256_and_si256(less_8000(p + (len & 30) - 32), last));
	s = _mm256_add_epi32(s, t);
	s = _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(s)),
			     _mm256_cvtepi32_epi64(_mm256_extracti128_si256(s, 1)));
	half = _mm_add_epi64(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
	sum = (uint64_t)_mm_cvtsi128_si64(half) + (uint64_t)_mm_extract_epi64(half, 1);
	/* gcc (seen with 12) leaves this out here, and then every SSE instruction that follows is slow. */
	_mm256_zeroupper();
	return fold32(sum + words * 0x8000 + ((len & 1) ? p[len - 1] : 0));
}

static bool have_avx2;

__attribute__((constructor)) static void csum_choose(void)
{
	__builtin_cpu_init();
	have_avx2 = __builtin_cpu_supports("avx2");
}

uint32_t xiw_csum_partial(const void *data, size_t len)
{
	/* For fewer octets the wide loop is no faster (measured). */
	if (have_avx2 && len >= 256 && len <= AVX2_MAX)
		return csum_partial_avx2(data, len);
	return xiw_csum_partial_generic(data, len);
}
#else
uint32_t xiw_csum_partial(const void *data, size_t len)
{
	return xiw_csum_partial_generic(data, len);
}
#endif
