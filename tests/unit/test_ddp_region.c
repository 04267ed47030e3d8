/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The STag table: RFC 5041 sections 7.1 and 8.3.1. */

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "ddp/region.h"

#define SEED 0x5eed1234u
#define RW (XIW_DDP_REMOTE_WRITE | XIW_DDP_REMOTE_READ)

static uint8_t mem[4096];

static uint32_t rnd(void)
{
	static uint32_t x = SEED;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x;
}

static const uint32_t *given; /* if set, these are used instead of random numbers */

static int number(void *ctx, uint32_t *n)
{
	(void)ctx;
	*n = given ? *given++ : rnd();
	return 0;
}

static int none(void *ctx, uint32_t *n)
{
	(void)ctx, (void)n;
	return -EIO;
}

static int nine(void *ctx, uint32_t *n)
{
	(void)ctx;
	*n = 9;
	return 0;
}

static struct xiw_ddp_region_opts opts_fixed(uint32_t stag)
{
	return (struct xiw_ddp_region_opts){
		.ptr = mem,
		.len = sizeof(mem),
		.pd = 1,
		.access = RW,
		.fixed = true,
		.stag = stag,
	};
}

Test(ddp_region, any_stag_can_be_asked_for)
{
	static const uint32_t stags[] = { 0, 1, 0x80000000, 0xfffffffe, 0xffffffff };
	struct xiw_ddp_table t;
	uint32_t stag;

	xiw_ddp_table_init(&t, number, NULL);
	for (int i = 0; i < 5; i++) {
		struct xiw_ddp_region_opts o = opts_fixed(stags[i]);

		cr_expect_null(xiw_ddp_region_lookup(&t, stags[i]));
		cr_assert_eq(xiw_ddp_region_register(&t, &o, &stag), 0);
		cr_expect_eq(stag, stags[i]);
		cr_expect_eq(xiw_ddp_region_register(&t, &o, &stag), -EEXIST);
	}
	for (int i = 0; i < 5; i++)
		cr_expect_eq(xiw_ddp_region_lookup(&t, stags[i])->stag, stags[i]);
	cr_expect_null(xiw_ddp_region_lookup(&t, 2));
	xiw_ddp_table_free(&t);
}

Test(ddp_region, arguments)
{
	struct xiw_ddp_region_opts o = opts_fixed(7);
	struct xiw_ddp_table t;
	uint32_t stag;

	xiw_ddp_table_init(&t, number, NULL);
	o.len = 0;
	cr_expect_eq(xiw_ddp_region_register(&t, &o, &stag), -EINVAL);
	o = opts_fixed(7);
	o.ptr = NULL;
	cr_expect_eq(xiw_ddp_region_register(&t, &o, &stag), -EINVAL);
	o = opts_fixed(7);
	o.access = 16;
	cr_expect_eq(xiw_ddp_region_register(&t, &o, &stag), -EINVAL);
	o = opts_fixed(7);
	o.base = UINT64_MAX - o.len + 1;
	cr_expect_eq(xiw_ddp_region_register(&t, &o, &stag), -EINVAL);
	o.base--;
	cr_expect_eq(xiw_ddp_region_register(&t, &o, &stag), 0);
	o = opts_fixed(6);
	o.len = (uint64_t)PTRDIFF_MAX + 1;
	cr_expect_eq(xiw_ddp_region_register(&t, &o, &stag), -EINVAL);
	o.len--;
	cr_expect_eq(xiw_ddp_region_register(&t, &o, &stag), 0);
	cr_expect_eq(xiw_ddp_region_invalidate(&t, 8), -ENOENT);
	cr_expect_eq(xiw_ddp_region_set_access(&t, 8, RW), -ENOENT);
	cr_expect_eq(xiw_ddp_region_set_access(&t, 7, 16), -EINVAL);
	xiw_ddp_table_free(&t);
}

/* A chosen STag is the source's number, unless that is 0 or in use. */
Test(ddp_region, chosen_stags)
{
	struct xiw_ddp_region_opts o = opts_fixed(7);
	struct xiw_ddp_table t;
	uint32_t stag;

	xiw_ddp_table_init(&t, number, NULL);
	cr_assert_eq(xiw_ddp_region_register(&t, &o, &stag), 0);
	o.fixed = false;
	given = (const uint32_t[]){ 0, 7, 0x80000000, 0x80000000, 7, 0, 1 };
	cr_assert_eq(xiw_ddp_region_register(&t, &o, &stag), 0);
	cr_expect_eq(stag, 0x80000000);
	cr_assert_eq(xiw_ddp_region_register(&t, &o, &stag), 0);
	cr_expect_eq(stag, 1);
	given = NULL;
	xiw_ddp_table_free(&t);
}

/* Without a source, with a source that fails, and with one that always returns the same number. */
Test(ddp_region, no_stag_to_be_had)
{
	struct xiw_ddp_region_opts o = opts_fixed(9);
	struct xiw_ddp_table t;
	uint32_t stag;

	xiw_ddp_table_init(&t, NULL, NULL);
	cr_assert_eq(xiw_ddp_region_register(&t, &o, &stag), 0);
	o.fixed = false;
	cr_expect_eq(xiw_ddp_region_register(&t, &o, &stag), -EINVAL);
	t.random = none;
	cr_expect_eq(xiw_ddp_region_register(&t, &o, &stag), -EIO);
	t.random = nine;
	cr_expect_eq(xiw_ddp_region_register(&t, &o, &stag), -ENOSPC);
	t.random = number;
	cr_expect_eq(xiw_ddp_region_register(&t, &o, &stag), 0);
	xiw_ddp_table_free(&t);
}

Test(ddp_region, check)
{
	enum { BASE = 1000, LEN = 4096 };
	const struct xiw_ddp_region *r;
	struct xiw_ddp_region_opts o = opts_fixed(42);
	struct xiw_ddp_table t;
	uint32_t stag;
	static const struct {
		uint32_t stag, pd, stream, access;
		uint64_t to, len;
		enum xiw_ddp_error want;
	} cases[] = {
		{ 42, 1, 9, RW, BASE, LEN, XIW_DDP_OK },
		{ 42, 1, 9, RW, BASE, 1, XIW_DDP_OK },
		{ 42, 1, 9, RW, BASE + LEN - 1, 1, XIW_DDP_OK },
		{ 43, 1, 9, RW, BASE, 1, XIW_DDP_TAGGED_STAG },
		{ 42, 2, 9, RW, BASE, 1, XIW_DDP_TAGGED_NOT_STREAM },
		{ 42, 1, 8, RW, BASE, 1, XIW_DDP_TAGGED_NOT_STREAM },
		{ 42, 1, 9, RW, BASE - 1, 1, XIW_DDP_TAGGED_BOUNDS },
		{ 42, 1, 9, RW, 0, 1, XIW_DDP_TAGGED_BOUNDS },
		{ 42, 1, 9, RW, BASE + LEN, 1, XIW_DDP_TAGGED_BOUNDS },
		{ 42, 1, 9, RW, BASE, LEN + 1, XIW_DDP_TAGGED_BOUNDS },
		{ 42, 1, 9, RW, BASE + LEN - 1, 2, XIW_DDP_TAGGED_BOUNDS },
		{ 42, 1, 9, RW, UINT64_MAX, 1, XIW_DDP_TAGGED_TO_WRAP },
		{ 42, 1, 9, RW, UINT64_MAX - 1, 1, XIW_DDP_TAGGED_BOUNDS },
		{ 42, 1, 9, RW, BASE, UINT64_MAX, XIW_DDP_TAGGED_TO_WRAP },
	};

	xiw_ddp_table_init(&t, number, NULL);
	o.base = BASE;
	o.stream = 9;
	cr_assert_eq(xiw_ddp_region_register(&t, &o, &stag), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		r = NULL;
		cr_expect_eq(xiw_ddp_region_check(&t, cases[i].stag, cases[i].pd, cases[i].stream,
						  cases[i].access, cases[i].to, cases[i].len, &r),
			     cases[i].want, "case %zu", i);
		cr_expect_eq(r != NULL, cases[i].want == XIW_DDP_OK, "case %zu", i);
	}

	cr_assert_eq(xiw_ddp_region_set_access(&t, 42, XIW_DDP_REMOTE_READ), 0);
	cr_expect_eq(xiw_ddp_region_check(&t, 42, 1, 9, XIW_DDP_REMOTE_WRITE, BASE, 1, &r),
		     XIW_DDP_TAGGED_STAG);
	cr_expect_eq(xiw_ddp_region_check(&t, 42, 1, 9, XIW_DDP_REMOTE_READ, BASE, 1, &r),
		     XIW_DDP_OK);
	xiw_ddp_table_free(&t);
}

/* Random registrations and invalidations, compared with a plain list. */
Test(ddp_region, random)
{
	enum { N = 600, STEPS = 60000 };
	static uint32_t list[N];
	struct xiw_ddp_table t;
	uint32_t n = 0, peak = 0, stag;

	xiw_ddp_table_init(&t, number, NULL);
	for (int step = 0; step < STEPS; step++) {
		if (n && (n == N || rnd() % 5 < 2)) {
			uint32_t i = rnd() % n;
			uint64_t generation = t.generation;

			cr_assert_eq(xiw_ddp_region_invalidate(&t, list[i]), 0, "seed %x step %d",
				     SEED, step);
			cr_assert_null(xiw_ddp_region_lookup(&t, list[i]));
			cr_assert_neq(t.generation, generation);
			list[i] = list[--n];
		} else {
			/* Few values, so that many collide with cells in use and with chosen STags. */
			struct xiw_ddp_region_opts o = opts_fixed(rnd() % 512 * 0x01000001);
			bool taken = xiw_ddp_region_lookup(&t, o.stag);
			int err;

			o.fixed = rnd() % 2;
			o.base = step;
			err = xiw_ddp_region_register(&t, &o, &stag);
			cr_assert_eq(err, o.fixed && taken ? -EEXIST : 0, "seed %x step %d", SEED,
				     step);
			if (!err) {
				cr_assert_eq(xiw_ddp_region_lookup(&t, stag)->base, step);
				list[n++] = stag;
			}
		}
		peak = n > peak ? n : peak;
		if (step % 64)
			continue;
		for (uint32_t i = 0; i < n; i++) {
			const struct xiw_ddp_region *r = xiw_ddp_region_lookup(&t, list[i]);

			cr_assert(r && r->stag == list[i], "seed %x step %d", SEED, step);
		}
	}
	cr_expect_gt(peak, 256, "the table grew several times");
	xiw_ddp_table_free(&t);
}
