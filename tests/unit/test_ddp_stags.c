/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An engine's STags reveal nothing about each other (RFC 5040 section 8.1.1 rule 8, RFC 5042 section 6.1.1). Each test
 * is an attack by a peer that knows some STags and computes others in a simple way. Each attack succeeds if a table
 * spreads the numbers of its slots by a multiplication.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/region.h"

#define N 4096
#define BITS 1024

static struct xiw_ddp_table t;
static uint8_t mem[64];
static uint32_t stags[N];

static uint32_t chosen(void)
{
	const struct xiw_ddp_region_opts o = { .ptr = mem, .len = sizeof(mem) };
	uint32_t stag = 0;

	cr_assert_eq(xiw_ddp_region_register(&t, &o, &stag), 0);
	return stag;
}

static void begin(void)
{
	xiw_ddp_table_init(&t, xiw_random, NULL);
	for (int i = 0; i < N; i++)
		stags[i] = chosen();
}

static void end(void)
{
	xiw_ddp_table_free(&t);
}

TestSuite(ddp_stags, .init = begin, .fini = end);

/* The inverse of a modulo 2^32; a is odd. */
static uint32_t inverse(uint32_t a)
{
	uint32_t x = a;

	for (int i = 0; i < 5; i++)
		x *= 2 - a * x;
	return x;
}

/*
 * Guesses the number after three others, by one of the rules that three numbers can reveal. The same rules are tried on
 * the upper 24 bits and on the lower ones.
 */
static uint32_t guess(int rule, const uint32_t s[3])
{
	const uint32_t d1 = s[1] - s[0], d2 = s[2] - s[1];

	switch (rule) {
	case 0:
		return s[2];
	case 1:
		return s[2] + 1;
	case 2:
		return s[2] + d2;
	case 3:
		return s[2] + d2 + (d2 - d1);
	case 4:
		return s[2] ^ s[1] ^ s[0];
	case 5:
		return s[2] ^ (s[1] ^ s[0]);
	case 6: /* x * a + c */
		return s[2] + d2 * (d2 * inverse(d1 | 1));
	case 7: /* x * a */
		return s[2] * (s[1] * inverse(s[0] | 1));
	case 8:
		return s[2] << 1 | s[2] >> 31;
	case 9:
		return s[2] >> 1 | s[2] << 31;
	default:
		return ~s[2];
	}
}

#define RULES 11

/* With 33 guesses at each of 4096 numbers of 24 bits, chance hits one in 120 runs, three in ten million runs. */
Test(ddp_stags, others_do_not_tell_one)
{
	uint32_t whole = 0, high = 0;

	for (int i = 3; i < N; i++) {
		const uint32_t *s = &stags[i - 3];
		const uint32_t up[] = { s[0] >> 8, s[1] >> 8, s[2] >> 8 };
		/* The first number and its neighbour reveal all others. */
		const uint32_t first[] = { stags[0] >> 8, stags[1] >> 8, up[2] };

		for (int rule = 0; rule < RULES; rule++) {
			whole += guess(rule, s) == s[3];
			high += ((guess(rule, up) ^ s[3] >> 8) & 0xffffff) == 0;
			high += ((guess(rule, first) ^ s[3] >> 8) & 0xffffff) == 0;
		}
		high += (((up[2] + (first[1] - first[0])) ^ s[3] >> 8) & 0xffffff) == 0;
	}
	cr_expect_eq(whole, 0, "%u of %d", whole, N);
	cr_expect_leq(high, 3, "the upper 24 bits of %u of %d", high, N);
}

/* The octets of the first number alone are the factor for the next one. */
Test(ddp_stags, the_first_does_not_tell_the_second)
{
	const uint32_t index = stags[0] >> 8;

	for (uint32_t low = 0; low < 256; low++) {
		const uint32_t factor = (index << 8 | low) | 1;

		cr_expect_neq((factor + index) & 0xffffff, stags[1] >> 8);
		cr_expect_neq(factor + stags[0], stags[1]);
		cr_expect_neq(factor * stags[0], stags[1]);
	}
}

/* Section 8.1.1 rule 8: STags are sparse over the full range. No part of it is left out or preferred. */
Test(ddp_stags, all_numbers_alike)
{
	for (int bit = 0; bit < 32; bit++) {
		int ones = 0;

		for (int i = 0; i < N; i++)
			ones += stags[i] >> bit & 1;
		cr_expect(ones > N / 2 - 256 && ones < N / 2 + 256, "bit %d: %d", bit, ones);
	}
	for (int shift = 0; shift < 32; shift += 4) {
		int n[16] = { 0 };

		for (int i = 0; i < N; i++)
			n[stags[i] >> shift & 15]++;
		for (int k = 0; k < 16; k++)
			cr_expect(n[k] > 128 && n[k] < 384, "digit %d at bit %d: %d", k, shift,
				  n[k]);
	}
}

/* Length of the shortest feedback register that generates these bits (Berlekamp-Massey algorithm). */
static int linear_complexity(const uint8_t *s, int n)
{
	static uint8_t c[BITS + 1], b[BITS + 1], was[BITS + 1];
	int len = 0, m = -1;

	memset(c, 0, sizeof(c));
	memset(b, 0, sizeof(b));
	c[0] = b[0] = 1;
	for (int at = 0; at < n; at++) {
		uint8_t d = s[at];

		for (int i = 1; i <= len; i++)
			d ^= c[i] & s[at - i];
		if (!d)
			continue;
		memcpy(was, c, sizeof(c));
		for (int i = 0; i + at - m <= n; i++)
			c[i + at - m] ^= b[i];
		if (2 * len <= at) {
			len = at + 1 - len;
			m = at;
			memcpy(b, was, sizeof(b));
		}
	}
	return len;
}

/*
 * Finds counters, and generators that consist of shifts and exclusive ors. Random bits need a register of half their
 * number.
 */
Test(ddp_stags, no_short_register_makes_them)
{
	uint8_t s[BITS];

	for (int bit = 0; bit < 32; bit++) {
		int len;

		for (int i = 0; i < BITS; i++)
			s[i] = stags[i] >> bit & 1;
		len = linear_complexity(s, BITS);
		cr_expect(len > BITS / 2 - 32 && len < BITS / 2 + 32, "bit %d: %d", bit, len);
	}
}

/* When a slot is used again, its STag reveals nothing about the slot. */
Test(ddp_stags, used_again)
{
	enum { AGAIN = 128 };
	uint32_t s[AGAIN];

	end();
	xiw_ddp_table_init(&t, xiw_random, NULL);
	for (int i = 0; i < AGAIN; i++) {
		s[i] = chosen();
		cr_assert_eq(xiw_ddp_region_invalidate(&t, s[i]), 0);
		for (int k = 0; k < i; k++) {
			cr_expect_neq(s[k], s[i]);
			cr_expect(i - k > 16 || s[k] >> 8 != s[i] >> 8);
		}
	}
}
