/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CRC32c by the SSE4.2 instruction. */

#ifdef __x86_64__

#include "crc32c/crc32c_x86.h"

/*
 * The instruction takes a word per cycle, but its result comes three cycles later, so three streams of @n octets run
 * side by side. The first two CRCs must then be moved over the octets that follow, which means multiplied by x^16n and
 * x^8n. The products are added to the last word of the third stream, whose instruction multiplies by x^32. As a product
 * of reflected 32-bit words is one place low, the exponents are smaller by 33.
 */
struct shift {
	uint32_t x16n, x8n;
};

/* shifts[n / 8 - 1]: 8,928 octets at once suit a segment's payload at MTU 9000. */
static const struct shift shifts[] = { XIW_CRC32C_SHIFTS };

/* The most octets of a stream, and the fewest: step32() has to fit. */
#define MOST (sizeof(shifts) / sizeof(shifts[0]) * 8)
#define FEWEST 32

XIW_SSE42_INLINE uint64_t times(uint32_t a, uint32_t b)
{
	return _mm_cvtsi128_si64(
		_mm_clmulepi64_si128(_mm_cvtsi32_si128(a), _mm_cvtsi32_si128(b), 0));
}

/*
 * What becomes of the octets, beside the CRC. PLACE: they are copied, and do not change meanwhile. SETTLE: they are
 * copied by wide moves, and the CRC is that of the copy, which nobody else changes.
 */
enum how { READ, COPY, PLACE, SETTLE };

/* In a function for AVX, one register; otherwise two. */
typedef uint64_t __attribute__((vector_size(32), may_alias, aligned(1))) octets32;

/* The CRC takes its words from memory, so to place can be one wide copy. */
XIW_SSE42_INLINE uint64_t step32(uint64_t c, uint8_t *dst, const uint8_t *src, enum how how)
{
	if (how == PLACE || how == SETTLE)
		*(octets32 *)dst = *(const octets32 *)src;
	if (how == SETTLE) {
		__asm__ volatile("" : "+m"(*(octets32 *)dst)); /* it is read there, and not from src again */
		src = dst;
	}
#pragma GCC unroll 4
	for (int i = 0; i < 32; i += 8)
		c = xiw_step8(c, how == COPY ? dst + i : NULL, src + i, how == COPY);
	return c;
}

/* Three streams of @n octets each. */
XIW_SSE42_INLINE uint32_t three(uint32_t crc, uint8_t *dst, const uint8_t *src, size_t n,
				enum how how)
{
	const struct shift *s = &shifts[n / 8 - 1];
	uint64_t a = crc, b = 0, c = 0, last;
	const bool copy = how == COPY || how == SETTLE;
	size_t i;

	for (i = 0; n - i > 32; i += 32) {
		a = step32(a, how ? dst + i : NULL, src + i, how);
		b = step32(b, how ? dst + n + i : NULL, src + n + i, how);
		c = step32(c, how ? dst + 2 * n + i : NULL, src + 2 * n + i, how);
	}
	/* Octets that were placed may be so again. */
	if (how == PLACE) {
#pragma GCC unroll 3
		for (int j = 1; j <= 3; j++)
			*(octets32 *)(dst + j * n - 32) = *(const octets32 *)(src + j * n - 32);
	}
	for (; i < n - 8; i += 8) {
		a = xiw_step8(a, copy ? dst + i : NULL, src + i, copy);
		b = xiw_step8(b, copy ? dst + n + i : NULL, src + n + i, copy);
		c = xiw_step8(c, copy ? dst + 2 * n + i : NULL, src + 2 * n + i, copy);
	}
	a = xiw_step8(a, copy ? dst + i : NULL, src + i, copy);
	b = xiw_step8(b, copy ? dst + n + i : NULL, src + n + i, copy);
	last = xiw_take8(copy ? dst + 2 * n + i : NULL, src + 2 * n + i, copy);
	return _mm_crc32_u64(c, last ^ times(a, s->x16n) ^ times(b, s->x8n));
}

XIW_SSE42_INLINE uint32_t run(uint32_t crc, uint8_t *dst, const uint8_t *src, size_t len,
			      enum how how)
{
	uint32_t c = ~crc;

	while (len >= 3 * FEWEST) {
		size_t n = len / 24 * 8;

		if (n > MOST)
			n = MOST;
		c = three(c, dst, src, n, how);
		src += 3 * n;
		dst = how ? dst + 3 * n : NULL;
		len -= 3 * n;
	}
	return ~xiw_steps(c, dst, src, len, how != READ);
}

bool xiw_crc32c_has_sse42(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

__attribute__((target("sse4.2,pclmul"))) uint32_t xiw_crc32c_sse42(uint32_t crc, const void *src,
								   size_t len)
{
	return run(crc, NULL, src, len, READ);
}

__attribute__((target("sse4.2,pclmul"))) uint32_t xiw_crc32c_sse42_copy(uint32_t crc, void *dst,
									const void *src, size_t len)
{
	return run(crc, dst, src, len, COPY);
}

__attribute__((target("sse4.2,pclmul"))) uint32_t
xiw_crc32c_sse42_place(uint32_t crc, void *dst, const void *src, size_t len)
{
	return run(crc, dst, src, len, PLACE);
}

bool xiw_crc32c_has_avx(void)
{
	return xiw_crc32c_has_sse42() && __builtin_cpu_supports("avx");
}

__attribute__((target("avx,sse4.2,pclmul"))) uint32_t
xiw_crc32c_avx_place(uint32_t crc, void *dst, const void *src, size_t len)
{
	return run(crc, dst, src, len, PLACE);
}

__attribute__((target("avx,sse4.2,pclmul"))) uint32_t
xiw_crc32c_avx_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
	return run(crc, dst, src, len, SETTLE);
}

#endif
