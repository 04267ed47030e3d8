// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <criterion/criterion.h>
#include <string.h>

#include "base/be.h"
#include "base/seq.h"

static const uint8_t octets[9] = { 0xff, 0x81, 0x02, 0x83, 0x04, 0x85, 0x06, 0x87, 0x08 };

Test(base_be, get_unaligned)
{
	cr_expect_eq(xiw_get_be16(octets + 1), 0x8102);
	cr_expect_eq(xiw_get_be32(octets + 1), 0x81028304);
	cr_expect_eq(xiw_get_be64(octets + 1), 0x8102830485068708);
}

Test(base_be, put_unaligned)
{
	uint8_t buf[10];

	memset(buf, 0xff, sizeof(buf));
	xiw_put_be16(buf + 1, 0x8102);
	cr_expect_arr_eq(buf, octets, 3);
	cr_expect_eq(buf[3], 0xff);
	xiw_put_be32(buf + 1, 0x81028304);
	cr_expect_arr_eq(buf, octets, 5);
	cr_expect_eq(buf[5], 0xff);
	xiw_put_be64(buf + 1, 0x8102830485068708);
	cr_expect_arr_eq(buf, octets, 9);
	cr_expect_eq(buf[9], 0xff);
}

Test(base_seq, modulo)
{
	cr_expect(xiw_seq_before(0xffffffff, 0));
	cr_expect(xiw_seq_after(5, 0xfffffff0));
	cr_expect_not(xiw_seq_before(7, 7));
	cr_expect_not(xiw_seq_after(7, 7));
	cr_expect_eq(xiw_seq_max(5, 0xfffffff0), 5);
	cr_expect_eq(xiw_seq_min(5, 0xfffffff0), 0xfffffff0);
}
