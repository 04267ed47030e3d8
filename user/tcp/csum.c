// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tcp/csum.h"
#include "tcp/wire.h"

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
/*
 * 32-bit words are added into 64-bit lanes, so no carry is lost before 2^32 rounds. A load per
 * 32 octets, one shift, one mask and two adds; two pairs of sums hide the latency.
 */
__attribute__((target("avx2"))) static uint32_t csum_partial_avx2(const void *data, size_t len)
{
	const __m256i low = _mm256_set1_epi64x(0xffffffff);
	__m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
	const uint8_t *p = data;
	uint64_t lane[4], sum;

	for (; len >= 64; p += 64, len -= 64) {
		__m256i v = _mm256_loadu_si256((const __m256i *)p);
		__m256i w = _mm256_loadu_si256((const __m256i *)(p + 32));

		a = _mm256_add_epi64(a, _mm256_and_si256(v, low));
		b = _mm256_add_epi64(b, _mm256_srli_epi64(v, 32));
		c = _mm256_add_epi64(c, _mm256_and_si256(w, low));
		d = _mm256_add_epi64(d, _mm256_srli_epi64(w, 32));
	}
	a = _mm256_add_epi64(_mm256_add_epi64(a, b), _mm256_add_epi64(c, d));
	_mm256_storeu_si256((__m256i *)lane, a);
	/* gcc (seen with 12) leaves this out here, and then every SSE instruction that follows is slow. */
	_mm256_zeroupper();
	sum = (uint64_t)fold32(lane[0]) + fold32(lane[1]) + fold32(lane[2]) + fold32(lane[3]);
	return fold32(sum + xiw_csum_partial_generic(p, len));
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
	if (have_avx2 && len >= 256)
		return csum_partial_avx2(data, len);
	return xiw_csum_partial_generic(data, len);
}
#else
uint32_t xiw_csum_partial(const void *data, size_t len)
{
	return xiw_csum_partial_generic(data, len);
}
#endif

void xiw_csum_add(struct xiw_csum *c, const void *p, size_t len)
{
	uint32_t part = xiw_csum_partial(p, len);

	/* RFC 1071 section 2 (B): a piece at an odd offset adds its sum octet-swapped. */
	if (c->odd)
		part = __builtin_bswap16(xiw_csum_fold(part));
	c->sum += part;
	c->odd ^= len & 1;
}

void xiw_csum_pseudo(struct xiw_csum *c, const uint8_t *ip, uint32_t tcp_len)
{
	/* The two addresses are adjacent. */
	if (ip[0] >> 4 == 4)
		xiw_csum_add(c, ip + XIW_IP4_OFF_SRC, 8);
	else
		xiw_csum_add(c, ip + XIW_IP6_OFF_SRC, 32);
	c->sum += (uint64_t)htonl(tcp_len) + htons(IPPROTO_TCP);
}

void xiw_tcp_csum_fill(const uint8_t *ip, uint8_t *tcp, size_t len, const struct xiw_vec *pieces,
		       unsigned int n)
{
	struct xiw_csum c = {};
	uint16_t field = 0;

	xiw_csum_pseudo(&c, ip, (uint32_t)(len + xiw_vec_total(pieces, n)));
	memcpy(tcp + XIW_TCP_OFF_CSUM, &field, sizeof(field));
	xiw_csum_add(&c, tcp, len);
	for (; n; n--, pieces++)
		xiw_csum_add(&c, pieces->base, pieces->len);
	field = xiw_csum_final(&c);
	memcpy(tcp + XIW_TCP_OFF_CSUM, &field, sizeof(field));
}
