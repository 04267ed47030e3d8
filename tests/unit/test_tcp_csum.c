// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tcp/csum.h"
#include "tcp/wire.h"

#define BUF 70000

static uint8_t buf[BUF + 64];
static uint32_t seed = 20240611;

static uint32_t rnd(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

static void fill(void)
{
	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)rnd();
}

/* RFC 1071 section 1, octet by octet, in network order. */
static uint16_t naive(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i++) {
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return (uint16_t)sum;
}

static uint16_t in_wire_order(uint16_t folded)
{
	uint8_t b[2];

	memcpy(b, &folded, 2);
	return xiw_get_be16(b);
}

static void check_partial(const uint8_t *p, size_t len)
{
	uint16_t want = naive(p, len);

	cr_assert_eq(in_wire_order(xiw_csum_fold(xiw_csum_partial(p, len))), want,
		     "partial, length %zu at %zu", len, (size_t)(p - buf));
	cr_assert_eq(in_wire_order(xiw_csum_fold(xiw_csum_partial_generic(p, len))), want,
		     "generic, length %zu at %zu", len, (size_t)(p - buf));
}

Test(tcp_csum, every_length_and_alignment)
{
	fill();
	for (size_t off = 0; off < 32; off++)
		for (size_t len = 0; len <= 300; len++)
			check_partial(buf + off, len);
	for (size_t len = 301; len <= 4096; len++)
		check_partial(buf + len % 64, len);
}

Test(tcp_csum, big)
{
	static const size_t lens[] = { 1448, 1460, 4096, 8948, 9000, 9001, 65495, 65535, BUF };

	fill();
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++)
		for (size_t off = 0; off < 3; off++)
			check_partial(buf + off, lens[i]);
}

/* Every lane overflows. */
Test(tcp_csum, all_ones_and_zeros)
{
	memset(buf, 0xff, sizeof(buf));
	for (size_t len = 0; len <= 4096; len++)
		check_partial(buf, len);
	check_partial(buf, BUF);
	memset(buf, 0, sizeof(buf));
	check_partial(buf, BUF);
}

/* RFC 1071 section 3's example. */
Test(tcp_csum, rfc1071_example)
{
	static const uint8_t p[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };

	cr_assert_eq(in_wire_order(xiw_csum_fold(xiw_csum_partial(p, sizeof(p)))), 0xddf2);
}

Test(tcp_csum, pieces)
{
	fill();
	for (int round = 0; round < 20000; round++) {
		size_t len = rnd() % 600, done = 0;
		struct xiw_csum c = { 0 };

		while (done < len) {
			size_t n = rnd() % 4 ? rnd() % 200 : rnd() % 3;

			if (n > len - done)
				n = len - done;
			xiw_csum_add(&c, buf + done, n);
			done += n;
		}
		cr_assert_eq(in_wire_order(xiw_csum_fold(c.sum)), naive(buf, len),
			     "round %d, length %zu", round, len);
		cr_assert_eq(c.odd, (bool)(len & 1));
	}
}

/* The pseudo header of RFC 9293 section 3.1, in front of the segment. */
static uint16_t naive_tcp(const uint8_t *addr, size_t alen, const uint8_t *tcp, size_t len)
{
	uint8_t *all = calloc(1, 2 * alen + 8 + len);
	uint16_t sum;

	cr_assert(all);
	memcpy(all, addr, 2 * alen);
	if (alen == 4) {
		all[9] = XIW_IP_PROTO_TCP;
		xiw_put_be16(all + 10, (uint16_t)len);
		memcpy(all + 12, tcp, len);
		sum = naive(all, 12 + len);
	} else {
		/* RFC 8200 section 8.1 */
		xiw_put_be32(all + 32, (uint32_t)len);
		all[39] = XIW_IP_PROTO_TCP;
		memcpy(all + 40, tcp, len);
		sum = naive(all, 40 + len);
	}
	free(all);
	return (uint16_t)~sum;
}

/* As a receiver verifies it: header and payload as two pieces, with the checksum field. */
static bool verify(const uint8_t *ip, const uint8_t *tcp, size_t len)
{
	size_t first = 20 + (len - 20) / 3;
	struct xiw_csum c = { 0 };

	xiw_csum_pseudo(&c, ip, (uint32_t)len);
	xiw_csum_add(&c, tcp, first);
	xiw_csum_add(&c, tcp + first, len - first);
	return xiw_csum_good(&c);
}

Test(tcp_csum, segments)
{
	for (int round = 0; round < 3000; round++) {
		size_t len = 20 + rnd() % 1500, flat = 20 + rnd() % (len - 19);
		struct xiw_vec behind[2] = { { buf + flat, (len - flat) / 3 } };
		bool six = round & 1;
		uint8_t ip[XIW_IP6_LEN], *addr = ip + (six ? XIW_IP6_OFF_SRC : XIW_IP4_OFF_SRC);
		uint16_t want;

		behind[1] =
			(struct xiw_vec){ buf + flat + behind[0].len, len - flat - behind[0].len };
		fill();
		memcpy(ip, buf + 3000, sizeof(ip));
		ip[0] = six ? 0x60 : 0x45;
		xiw_put_be16(buf + XIW_TCP_OFF_CSUM, 0);
		want = naive_tcp(addr, six ? 16 : 4, buf, len);
		xiw_put_be16(buf + XIW_TCP_OFF_CSUM, (uint16_t)rnd());
		xiw_tcp_csum_fill(ip, buf, flat, behind, 2);
		cr_assert_eq(xiw_get_be16(buf + XIW_TCP_OFF_CSUM), want, "round %d", round);
		cr_assert(verify(ip, buf, len), "round %d", round);
		buf[rnd() % len] ^= (uint8_t)(1 << rnd() % 8);
		cr_assert_not(verify(ip, buf, len), "round %d", round);
	}
}
