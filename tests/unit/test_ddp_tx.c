/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Segmentation: RFC 5041 section 5.2. */

#include <criterion/criterion.h>
#include <errno.h>

#include "ddp/tx.h"

static const uint8_t ulp[5] = { 1, 2, 3, 4, 5 };

/* The examples of section 5.2: 2048 octets at a MULPDU of 1500. */
Test(ddp_tx, example_untagged)
{
	struct xiw_ddp_tx_msg m;
	struct xiw_ddp_seg s;
	struct xiw_ddp_tx tx;

	cr_assert_eq(xiw_ddp_tx_init(&tx, 3, 0), 0);
	cr_assert_eq(xiw_ddp_tx_untagged(&tx, &m, 2, 2048, ulp), 0);
	cr_assert_eq(xiw_ddp_tx_next(&m, 1500, &s), 1);
	cr_expect(!s.hdr.tagged && !s.hdr.last && s.hdr.dv == 1 && s.hdr.len == 18);
	cr_expect(s.hdr.qn == 2 && s.hdr.msn == 1 && s.hdr.mo == 0);
	cr_expect(s.off == 0 && s.len == 1482);
	cr_expect_arr_eq(s.hdr.rsvdulp, ulp, 5);
	cr_assert_eq(xiw_ddp_tx_next(&m, 1500, &s), 1);
	cr_expect(s.hdr.last && s.hdr.qn == 2 && s.hdr.msn == 1 && s.hdr.mo == 1482);
	cr_expect(s.off == 1482 && s.len == 566);
	cr_expect_arr_eq(s.hdr.rsvdulp, ulp, 5);
	cr_expect_eq(xiw_ddp_tx_next(&m, 1500, &s), 0);
	xiw_ddp_tx_free(&tx);
}

Test(ddp_tx, example_tagged)
{
	struct xiw_ddp_tx_msg m;
	struct xiw_ddp_seg s;

	cr_assert_eq(xiw_ddp_tx_tagged(&m, 0xffffffff, 16384, 2048, 0x77), 0);
	cr_assert_eq(xiw_ddp_tx_next(&m, 1500, &s), 1);
	cr_expect(s.hdr.tagged && !s.hdr.last && s.hdr.dv == 1 && s.hdr.len == 14);
	cr_expect(s.hdr.stag == 0xffffffff && s.hdr.to == 16384 && s.hdr.rsvdulp[0] == 0x77);
	cr_expect(s.off == 0 && s.len == 1486);
	cr_assert_eq(xiw_ddp_tx_next(&m, 1500, &s), 1);
	cr_expect(s.hdr.last && s.hdr.to == 17870 && s.off == 1486 && s.len == 562);
	cr_expect_eq(xiw_ddp_tx_next(&m, 1500, &s), 0);
}

Test(ddp_tx, zero_length_takes_one_segment)
{
	struct xiw_ddp_tx_msg m;
	struct xiw_ddp_seg s;
	struct xiw_ddp_tx tx;

	cr_assert_eq(xiw_ddp_tx_init(&tx, 1, 0), 0);
	cr_assert_eq(xiw_ddp_tx_untagged(&tx, &m, 0, 0, ulp), 0);
	cr_expect_eq(xiw_ddp_tx_next(&m, 17, &s), -EMSGSIZE);
	cr_assert_eq(xiw_ddp_tx_next(&m, 18, &s), 1);
	cr_expect(s.hdr.last && s.len == 0 && s.hdr.mo == 0);
	cr_expect_eq(xiw_ddp_tx_next(&m, 18, &s), 0);
	cr_assert_eq(xiw_ddp_tx_tagged(&m, 0, 5, 0, 0), 0);
	cr_assert_eq(xiw_ddp_tx_next(&m, 14, &s), 1);
	cr_expect(s.hdr.last && s.len == 0);
	cr_expect_eq(xiw_ddp_tx_next(&m, 14, &s), 0);
	xiw_ddp_tx_free(&tx);
}

/* A MULPDU without room for payload changes nothing. */
Test(ddp_tx, mulpdu_changes)
{
	struct xiw_ddp_tx_msg m;
	struct xiw_ddp_seg s;

	cr_assert_eq(xiw_ddp_tx_tagged(&m, 1, 0, 10, 0), 0);
	cr_expect_eq(xiw_ddp_tx_next(&m, 14, &s), -EMSGSIZE);
	cr_expect_eq(xiw_ddp_tx_next(&m, 0, &s), -EMSGSIZE);
	cr_assert_eq(xiw_ddp_tx_next(&m, 15, &s), 1);
	cr_expect(!s.hdr.last && s.len == 1);
	cr_expect_eq(xiw_ddp_tx_next(&m, 14, &s), -EMSGSIZE);
	cr_assert_eq(xiw_ddp_tx_next(&m, 14 + 9, &s), 1);
	cr_expect(s.hdr.last && s.off == 1 && s.len == 9 && s.hdr.to == 1);
	cr_expect_eq(xiw_ddp_tx_next(&m, 1500, &s), 0);
}

/* Section 4.3: the MSN begins at 1 and counts per queue; 0 follows 0xFFFFFFFF. */
Test(ddp_tx, msn)
{
	static const uint32_t want[] = { 0xffffffff, 0, 1 };
	struct xiw_ddp_tx_msg m;
	struct xiw_ddp_tx tx;

	cr_expect_eq(xiw_ddp_tx_init(&tx, 0, 0), -EINVAL);
	cr_assert_eq(xiw_ddp_tx_init(&tx, 2, 0), 0);
	cr_assert_eq(xiw_ddp_tx_untagged(&tx, &m, 0, 1, ulp), 0);
	cr_expect_eq(m.hdr.msn, 1);
	cr_assert_eq(xiw_ddp_tx_untagged(&tx, &m, 0, 1, ulp), 0);
	cr_expect_eq(m.hdr.msn, 2);
	tx.next_msn[1] = 0xffffffff;
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(xiw_ddp_tx_untagged(&tx, &m, 1, 1, ulp), 0);
		cr_expect_eq(m.hdr.msn, want[i]);
	}
	cr_expect_eq(xiw_ddp_tx_untagged(&tx, &m, 2, 1, ulp), -EINVAL);
	xiw_ddp_tx_free(&tx);
}

Test(ddp_tx, limits)
{
	uint64_t sum = 0, to = UINT64_MAX - UINT32_MAX;
	struct xiw_ddp_tx_msg m;
	struct xiw_ddp_seg s = { 0 };

	cr_expect_eq(xiw_ddp_tx_tagged(&m, 1, 0, 1ull << 32, 0), -EMSGSIZE);
	cr_expect_eq(xiw_ddp_tx_tagged(&m, 1, to + 1, UINT32_MAX, 0), -EINVAL);
	cr_assert_eq(xiw_ddp_tx_tagged(&m, 1, to, UINT32_MAX, 0), 0);
	while (xiw_ddp_tx_next(&m, 64768, &s) == 1) {
		cr_assert_eq(s.hdr.to, to + sum);
		cr_assert_eq(s.off, sum);
		sum += s.len;
	}
	cr_expect(s.hdr.last);
	cr_expect_eq(sum, UINT32_MAX);
}
