/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CRC32c: the examples of RFC 3720 appendix B.4, and every implementation compared with ISA-L's. */

#include <criterion/criterion.h>
#include <isa-l/crc.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "crc32c/crc32c.h"

#define GUARD 64
#define GUARD_OCTET 0xa5
#define MAX_SMALL 2048
#define MAX_BIG (300 * 1024)
#define SUM_MAX (64 * 1024)
#define SEED 0x5eed1234u

static uint32_t rnd_state = SEED;

static uint32_t rnd(void)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 17;
	rnd_state ^= rnd_state << 5;
	return rnd_state;
}

static void fill(uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = rnd() >> 11;
}

/* ISA-L takes and returns the raw register, without the inversions at both ends. */
static uint32_t reference(uint32_t crc, const uint8_t *src, size_t len)
{
	return ~crc32_iscsi((unsigned char *)src, len, ~crc);
}

static bool all_guard(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != GUARD_OCTET)
			return false;
	return true;
}

/* What was written: a copy, and nothing around it. */
static void check_octets(const char *what, const uint8_t *dst, const uint8_t *src, size_t len)
{
	cr_assert(memcmp(dst, src, len) == 0, "%s: wrong copy of %zu", what, len);
	cr_assert(all_guard(dst - GUARD, GUARD), "%s: wrote before %zu", what, len);
	cr_assert(all_guard(dst + len, GUARD), "%s: wrote beyond %zu", what, len);
}

/* The sum must be that of the portable loop. */
static void check_sum(const struct xiw_crc32c_ops *ops, uint32_t crc, const uint8_t *src,
		      size_t len, uint8_t *room, size_t dst_off)
{
	uint8_t *dst = room + GUARD + dst_off;
	uint32_t want = reference(crc, src, len), got, part = 1;

	memset(dst - GUARD, GUARD_OCTET, len + 2 * GUARD);
	got = ops->copy_sum(crc, dst, src, len, &part);
	cr_assert(got == want, "%s: copy and sum of %zu, %p to %p: %08x, not %08x (seed %x)",
		  ops->name, len, (const void *)src, (void *)dst, got, want, SEED);
	cr_assert_eq(xiw_csum_fold(part), xiw_csum_fold(xiw_csum_partial_generic(src, len)),
		     "%s: sum of %zu, %p to %p", ops->name, len, (const void *)src, (void *)dst);
	check_octets(ops->name, dst, src, len);
}

static void check_copy(const char *what,
		       uint32_t (*copy)(uint32_t crc, void *dst, const void *src, size_t len),
		       uint32_t crc, const uint8_t *src, size_t len, uint8_t *dst)
{
	uint32_t want = reference(crc, src, len), got;

	memset(dst - GUARD, GUARD_OCTET, len + 2 * GUARD);
	got = copy(crc, dst, src, len);
	cr_assert(got == want, "%s: copy of %zu, %p to %p: %08x, not %08x (seed %x)", what, len,
		  (const void *)src, (void *)dst, got, want, SEED);
	check_octets(what, dst, src, len);
}

/* Calls each function once. @room has @len + 64 + 2 * GUARD octets. */
static void check_one(const struct xiw_crc32c_ops *ops, uint32_t crc, const uint8_t *src,
		      size_t len, uint8_t *room, size_t dst_off)
{
	uint32_t want = reference(crc, src, len), got = ops->crc(crc, src, len);

	cr_assert(got == want, "%s: crc of %zu at %p: %08x, not %08x (seed %x)", ops->name, len,
		  (const void *)src, got, want, SEED);
	check_copy(ops->name, ops->copy, crc, src, len, room + GUARD + dst_off);
	check_copy(ops->name, ops->place, crc, src, len, room + GUARD + dst_off);
	if (ops->copy_sum && len <= SUM_MAX)
		check_sum(ops, crc, src, len, room, dst_off);
}

/* The implementations that this CPU can run. */
#define FOR_EACH_SUPPORTED(ops)                                                                    \
	for (const struct xiw_crc32c_ops *ops = xiw_crc32c_table;                                  \
	     ops < xiw_crc32c_table + xiw_crc32c_table_len; ops++)                                 \
		if (ops->supported())

/* RFC 3720 appendix B.4 lists octets as sent; in the number, the first octet is the lowest. */
static const struct vector {
	const char *name;
	uint8_t octets[48];
	size_t len;
	uint32_t crc;
} vectors[] = {
	{ "nothing", { 0 }, 0, 0 },
	{ "digits", "123456789", 9, 0xe3069283 },
	{ "32 of zero: aa 36 91 8a", { 0 }, 32, 0x8a9136aa },
	{ "32 of ones: 43 ab a8 62",
	  { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
	  32,
	  0x62a8ab43 },
	{ "32 ascending: 4e 79 dd 46",
	  { 0,	1,  2,	3,  4,	5,  6,	7,  8,	9,  10, 11, 12, 13, 14, 15,
	    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 },
	  32,
	  0x46dd794e },
	{ "32 descending: 5c db 3f 11",
	  { 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
	    15, 14, 13, 12, 11, 10, 9,	8,  7,	6,  5,	4,  3,	2,  1,	0 },
	  32,
	  0x113fdb5c },
	{ "an iSCSI SCSI Read (10) command PDU: 56 3a 96 d9",
	  { 0x01, 0xc0, 0, 0, 0, 0, 0,	  0, 0,	   0, 0, 0,    0, 0, 0, 0,
	    0x14, 0,	0, 0, 0, 0, 0x04, 0, 0,	   0, 0, 0x14, 0, 0, 0, 0x18,
	    0x28, 0,	0, 0, 0, 0, 0,	  0, 0x02, 0, 0, 0,    0, 0, 0, 0 },
	  48,
	  0xd9963a56 },
};

Test(crc32c, known_vectors)
{
	uint8_t out[48];

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		const struct vector *v = &vectors[i];

		cr_assert_eq(xiw_crc32c(0, v->octets, v->len), v->crc, "%s", v->name);
		cr_assert_eq(xiw_crc32c_copy(0, out, v->octets, v->len), v->crc, "%s", v->name);
		FOR_EACH_SUPPORTED(ops)
		{
			cr_assert_eq(ops->crc(0, v->octets, v->len), v->crc, "%s: %s", ops->name,
				     v->name);
			cr_assert_eq(ops->copy(0, out, v->octets, v->len), v->crc, "%s: %s",
				     ops->name, v->name);
		}
	}
}

Test(crc32c, chosen_is_first_supported)
{
	FOR_EACH_SUPPORTED(ops)
	{
		cr_assert_str_eq(xiw_crc32c_impl(), ops->name);
		break;
	}
	/* The last one must run on every CPU; otherwise there may be nothing to choose. */
	cr_assert(xiw_crc32c_table[xiw_crc32c_table_len - 1].supported());
}

static uint32_t early_crc;

/* The earliest priority that a program may use: before any constructor of the library. */
__attribute__((constructor(101))) static void before_constructors(void)
{
	early_crc = xiw_crc32c(0, "123456789", 9);
}

Test(crc32c, usable_in_constructors)
{
	cr_assert_eq(early_crc, 0xe3069283);
}

Test(crc32c, every_small_length)
{
	static const struct {
		uint8_t src, dst;
	} offs[] = { { 0, 0 }, { 1, 0 }, { 0, 1 }, { 7, 33 }, { 63, 18 }, { 32, 4 }, { 54, 61 } };
	/* Separate blocks of exact size, so that a sanitizer sees each access beyond them. */
	uint8_t *room = malloc(MAX_SMALL + 64 + 2 * GUARD);

	cr_assert(room);
	for (size_t len = 0; len <= MAX_SMALL; len++) {
		for (size_t i = 0; i < sizeof(offs) / sizeof(offs[0]); i++) {
			uint8_t *src = malloc(offs[i].src + len);
			uint32_t crc = i & 1 ? rnd() : 0;

			cr_assert(src || offs[i].src + len == 0);
			fill(src, offs[i].src + len);
			FOR_EACH_SUPPORTED(ops)
			check_one(ops, crc, src + offs[i].src, len, room, offs[i].dst);
			free(src);
		}
	}
	free(room);
}

/* The destination's alignment determines how a copy is cut: test every cut and every rest. */
Test(crc32c, every_destination_alignment)
{
	static uint8_t src[2048], room[2048 + 64 + 2 * GUARD];

	fill(src, sizeof(src));
	for (size_t dst_off = 0; dst_off < 64; dst_off++) {
		for (size_t len = 570; len < 720; len++) {
			FOR_EACH_SUPPORTED(ops)
			check_one(ops, len, src + len % 61, len, room, dst_off);
		}
		for (size_t len = 1390; len < 1470; len++) {
			FOR_EACH_SUPPORTED(ops)
			check_one(ops, len, src + len % 61, len, room, dst_off);
		}
	}
}

Test(crc32c, random_big_lengths)
{
	uint8_t *src = malloc(MAX_BIG + 64), *room = malloc(MAX_BIG + 64 + 2 * GUARD);

	cr_assert(src && room);
	fill(src, MAX_BIG + 64);
	for (int i = 0; i < 300; i++) {
		size_t len = rnd() % (i & 1 ? 16384 : MAX_BIG);
		size_t src_off = rnd() % 64, dst_off = rnd() % 64;
		uint32_t crc = rnd();

		FOR_EACH_SUPPORTED(ops)
		check_one(ops, crc, src + src_off, len, room, dst_off);
	}
	free(src);
	free(room);
}

/* Every lane of the sum is as full as it can be. */
Test(crc32c, sum_of_ones)
{
	uint8_t *src = malloc(SUM_MAX), *room = malloc(SUM_MAX + 64 + 2 * GUARD);

	cr_assert(src && room);
	memset(src, 0xff, SUM_MAX);
	FOR_EACH_SUPPORTED(ops)
	{
		if (!ops->copy_sum)
			continue;
		for (size_t dst_off = 0; dst_off < 64; dst_off++)
			check_sum(ops, 0, src, SUM_MAX, room, dst_off);
	}
	free(src);
	free(room);
}

/* The function that is chosen adds to a sum, at even and at odd offsets. */
Test(crc32c, sums_of_pieces)
{
	static uint8_t src[9000], dst[9000];

	fill(src, sizeof(src));
	for (int round = 0; round < 200; round++) {
		struct xiw_csum sum = { .sum = 77 };
		uint32_t crc = 0, at = 0;

		while (at < sizeof(src)) {
			uint32_t len = 1 + rnd() % 2000;

			len = len < sizeof(src) - at ? len : (uint32_t)sizeof(src) - at;
			crc = xiw_crc32c_copy_sum(crc, dst + at, src + at, len, &sum);
			at += len;
		}
		cr_assert_eq(crc, reference(0, src, sizeof(src)));
		cr_assert_eq(xiw_csum_fold(sum.sum),
			     xiw_csum_fold(77 + (uint64_t)xiw_csum_partial(src, sizeof(src))));
		cr_assert(!memcmp(dst, src, sizeof(src)));
	}
}

/* Often pieces of 2 to 16 octets, like headers, markers and padding. */
static size_t piece(size_t left)
{
	size_t len = rnd() & 1 ? rnd() % 17 : rnd() % 600;

	return len < left ? len : left;
}

Test(crc32c, chained_pieces)
{
	static uint8_t src[9000], dst[9000];

	fill(src, sizeof(src));
	for (int round = 0; round < 500; round++) {
		size_t total = rnd() % sizeof(src);
		uint32_t want = reference(0, src, total);

		FOR_EACH_SUPPORTED(ops)
		{
			uint32_t crc = 0;

			memset(dst, GUARD_OCTET, sizeof(dst));
			for (size_t at = 0, n; at < total; at += n) {
				n = piece(total - at);
				if (rnd() & 1) {
					crc = ops->copy(crc, dst + at, src + at, n);
				} else {
					crc = ops->crc(crc, src + at, n);
					memcpy(dst + at, src + at, n);
				}
			}
			cr_assert(crc == want, "%s: %zu in pieces: %08x, not %08x (seed %x)",
				  ops->name, total, crc, want, SEED);
			cr_assert(memcmp(dst, src, total) == 0, "%s", ops->name);
			cr_assert(all_guard(dst + total, sizeof(dst) - total), "%s", ops->name);
		}
	}
}

/* ---- A source that another thread changes ---- */

#define CHANGING 2000
#define CHANGING_COPIES 100000

static struct {
	uint64_t octets[CHANGING / 8 + 8];
	bool end;
} changing;

static void *change(void *arg)
{
	(void)arg;
	for (uint64_t v = 0; !__atomic_load_n(&changing.end, __ATOMIC_RELAXED);
	     v += 0x0101010101010101)
		for (size_t i = 0; i < sizeof(changing.octets) / 8; i++)
			__atomic_store_n(&changing.octets[i], v, __ATOMIC_RELAXED);
	return NULL;
}

/* Whatever of the changes a copy has seen, the CRC is that of the copy: each octet is loaded once. */
Test(crc32c, of_what_was_copied, .timeout = 300)
{
	const uint8_t *src = (const uint8_t *)changing.octets;
	static uint8_t dst[CHANGING + 64];
	uint64_t changed = 0;
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, change, NULL), 0);
	FOR_EACH_SUPPORTED(ops)
	{
		for (int i = 0; i < CHANGING_COPIES; i++) {
			size_t len = 1 + rnd() % CHANGING;
			uint8_t *to = dst + rnd() % 64;
			uint32_t got = ops->copy(0, to, src + rnd() % 64, len);

			cr_assert_eq(got, reference(0, to, len), "%s: copy %d, of %zu", ops->name,
				     i, len);
			changed += to[0] != to[len - 1];
		}
	}
	__atomic_store_n(&changing.end, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	cr_expect(changed > 0 || sysconf(_SC_NPROCESSORS_ONLN) < 2,
		  "no copy saw a change: this test has shown nothing");
}

Test(crc32c, detects_every_single_bit)
{
	static uint8_t buf[1428];

	fill(buf, sizeof(buf));
	FOR_EACH_SUPPORTED(ops)
	{
		uint32_t good = ops->crc(0, buf, sizeof(buf));

		for (size_t bit = 0; bit < 8 * sizeof(buf); bit++) {
			buf[bit / 8] ^= 1 << bit % 8;
			cr_assert(ops->crc(0, buf, sizeof(buf)) != good, "%s: bit %zu", ops->name,
				  bit);
			buf[bit / 8] ^= 1 << bit % 8;
		}
	}
}
