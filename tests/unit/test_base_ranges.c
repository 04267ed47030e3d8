// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <criterion/criterion.h>
#include <string.h>

#include "base/ranges.h"

static char text[XIW_RANGES_MAX];

Test(base_ranges, texts)
{
	cr_expect_str_eq(xiw_ranges(0, text), "none");
	cr_expect_str_eq(xiw_ranges(1, text), "0");
	cr_expect_str_eq(xiw_ranges(0x10f, text), "0-3,8");
	cr_expect_str_eq(xiw_ranges(3ull << 62 | 1, text), "0,62-63");
	cr_expect_str_eq(xiw_ranges(~0ull, text), "0-63");
}

/* Two of three bits are set: the longest text. */
Test(base_ranges, longest_text_fits)
{
	uint64_t mask = 0;

	for (unsigned int i = 0; i < 64; i++)
		mask |= (uint64_t)(i % 3 != 2) << i;
	cr_expect_lt(strlen(xiw_ranges(mask, text)), XIW_RANGES_MAX - 1);
	cr_expect_str_eq(text + strlen(text) - 3, ",63");
}

/* A list ends between two numbers. */
Test(base_ranges, cut)
{
	const uint64_t odd = 0xaaaaaaaaaaaaaaaa;

	cr_expect_str_eq(xiw_ranges_cut(0x10f, text, 5), "0-3,8");
	cr_expect_str_eq(xiw_ranges_cut(odd, text, 14), "1,3,5,7,9,...");
	cr_expect_str_eq(xiw_ranges_cut(odd, text, 15), "1,3,5,7,9,...");
	cr_expect_str_eq(xiw_ranges_cut(odd, text, 16), "1,3,5,7,9,11,...");
	cr_expect_str_eq(xiw_ranges_cut(odd, text, 3), "...");
}
