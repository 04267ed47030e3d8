// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* xiw_conn_set_depths(): numbers of 14 bits (RFC 6581 section 9), at a responder that has not answered yet. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "core/conn.h"

static struct xiw_conn c;

static void setup(void)
{
	memset(&c, 0, sizeof(c));
	c.state = XIW_DECIDING;
	c.startup.terms = (struct xiw_mpa_terms){ .ird = 3, .ord = 4 };
}

TestSuite(conn_depths, .init = setup);

static void expect_depths(bool set, uint16_t ird, uint16_t ord)
{
	cr_expect_eq(c.startup.depths_set, set);
	cr_expect_eq(c.startup.terms.ird, ird);
	cr_expect_eq(c.startup.terms.ord, ord);
}

/* The highest number is XIW_DEPTH_ULP: the depth is left to the ULPs (section 9.1). */
Test(conn_depths, of_14_bits)
{
	cr_expect_eq(xiw_conn_set_depths(&c, 0x3fff, 5), 0);
	expect_depths(true, 0x3fff, 5);
	cr_expect_eq(xiw_conn_set_depths(&c, 6, 0x3fff), 0);
	expect_depths(true, 6, 0x3fff);
	cr_expect_eq(xiw_conn_set_depths(&c, 0, 0), 0);
	expect_depths(true, 0, 0);
}

Test(conn_depths, of_more_bits)
{
	cr_expect_eq(xiw_conn_set_depths(&c, 0x4000, 5), -EINVAL);
	cr_expect_eq(xiw_conn_set_depths(&c, 5, 0x4000), -EINVAL);
	cr_expect_eq(xiw_conn_set_depths(&c, 0xffff, 0xffff), -EINVAL);
	expect_depths(false, 3, 4);
}

Test(conn_depths, too_late)
{
	c.state = XIW_OPEN;
	cr_expect_eq(xiw_conn_set_depths(&c, 5, 5), -ENOTCONN);
	c.state = XIW_DECIDING;
	c.initiator = true;
	cr_expect_eq(xiw_conn_set_depths(&c, 5, 5), -ENOTCONN);
	expect_depths(false, 3, 4);
}
