/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* DDP headers: the figures of RFC 5041 section 4, octet by octet. */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <xiwarp/error.h>

#include "ddp/hdr.h"

/* Figure 4 with T, L and DV 1. */
static const uint8_t tagged[] = {
	0xc1, 0xa5,					/* T L Rsvd DV, RsvdULP */
	0xde, 0xad, 0xbe, 0xef,				/* STag */
	0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, /* TO */
};

/* Figure 5 without T and L, DV 1. */
static const uint8_t untagged[] = {
	0x01, 0x43, 0x11, 0x22, 0x33, 0x44, /* control, RsvdULP[0:39] */
	0x00, 0x00, 0x00, 0x02,		    /* QN */
	0xff, 0xff, 0xff, 0xfe,		    /* MSN */
	0x00, 0x00, 0x05, 0xca,		    /* MO */
};

Test(ddp_hdr, tagged_figure_4)
{
	static const uint8_t rsvdulp[5] = { 0xa5 };
	uint8_t out[XIW_DDP_HDR_MAX];
	struct xiw_ddp_hdr h;

	cr_assert_eq(sizeof(tagged), XIW_DDP_TAGGED_LEN);
	cr_assert_eq(xiw_ddp_hdr_decode(&h, tagged, sizeof(tagged), 1500), 0);
	cr_expect(h.tagged && h.last);
	cr_expect_eq(h.dv, 1);
	cr_expect_eq(h.len, 14);
	cr_expect_arr_eq(h.rsvdulp, rsvdulp, 5);
	cr_expect_eq(h.stag, 0xdeadbeef);
	cr_expect_eq(h.to, 0x0123456789abcdef);
	cr_expect_eq(xiw_ddp_hdr_encode(&h, out), sizeof(tagged));
	cr_expect_arr_eq(out, tagged, sizeof(tagged));
}

Test(ddp_hdr, untagged_figure_5)
{
	uint8_t out[XIW_DDP_HDR_MAX];
	struct xiw_ddp_hdr h;

	cr_assert_eq(sizeof(untagged), XIW_DDP_UNTAGGED_LEN);
	cr_assert_eq(xiw_ddp_hdr_decode(&h, untagged, sizeof(untagged), 1500), 0);
	cr_expect(!h.tagged && !h.last);
	cr_expect_eq(h.dv, 1);
	cr_expect_eq(h.len, 18);
	cr_expect_arr_eq(h.rsvdulp, untagged + 1, 5);
	cr_expect_eq(h.qn, 2);
	cr_expect_eq(h.msn, 0xfffffffe);
	cr_expect_eq(h.mo, 1482);
	cr_expect_eq(xiw_ddp_hdr_encode(&h, out), sizeof(untagged));
	cr_expect_arr_eq(out, untagged, sizeof(untagged));
}

/* Every control octet: T, L and DV are read separately; reserved bits are ignored, and sent as 0. */
Test(ddp_hdr, control_octet)
{
	for (unsigned int c = 0; c < 256; c++) {
		uint8_t buf[XIW_DDP_HDR_MAX] = { c };
		uint8_t out[XIW_DDP_HDR_MAX];
		struct xiw_ddp_hdr h;

		cr_assert_eq(xiw_ddp_hdr_decode(&h, buf, sizeof(buf), sizeof(buf)), 0);
		cr_expect_eq(h.tagged, c >> 7, "%02x", c);
		cr_expect_eq(h.last, c >> 6 & 1, "%02x", c);
		cr_expect_eq(h.dv, c & 3, "%02x", c);
		cr_expect_eq(xiw_ddp_hdr_encode(&h, out), h.len);
		cr_expect_eq(out[0], c & 0xc3, "%02x", c);
	}
}

Test(ddp_hdr, too_short)
{
	struct xiw_ddp_hdr h;

	for (uint32_t n = 0; n < 14; n++) {
		cr_expect_eq(xiw_ddp_hdr_decode(&h, tagged, sizeof(tagged), n), -EBADMSG);
		cr_expect_eq(xiw_ddp_hdr_decode(&h, tagged, n, 1500), -EBADMSG);
	}
	for (uint32_t n = 0; n < 18; n++) {
		cr_expect_eq(xiw_ddp_hdr_decode(&h, untagged, sizeof(untagged), n), -EBADMSG);
		cr_expect_eq(xiw_ddp_hdr_decode(&h, untagged, n, 1500), -EBADMSG);
	}
	cr_expect_eq(xiw_ddp_hdr_decode(&h, tagged, sizeof(tagged), 14), 0);
	cr_expect_eq(xiw_ddp_hdr_decode(&h, untagged, sizeof(untagged), 18), 0);
}

/* RFC 5041 section 7.2. */
Test(ddp_hdr, error_numbers)
{
	static const struct {
		enum xiw_ddp_error error;
		unsigned int type, code;
	} table[] = {
		{ XIW_DDP_LOCAL_CATASTROPHIC, 0, 0 }, { XIW_DDP_TAGGED_STAG, 1, 0 },
		{ XIW_DDP_TAGGED_BOUNDS, 1, 1 },      { XIW_DDP_TAGGED_NOT_STREAM, 1, 2 },
		{ XIW_DDP_TAGGED_TO_WRAP, 1, 3 },     { XIW_DDP_TAGGED_VERSION, 1, 4 },
		{ XIW_DDP_UNTAGGED_QN, 2, 1 },	      { XIW_DDP_UNTAGGED_NO_BUFFER, 2, 2 },
		{ XIW_DDP_UNTAGGED_MSN_RANGE, 2, 3 }, { XIW_DDP_UNTAGGED_MO, 2, 4 },
		{ XIW_DDP_UNTAGGED_TOO_LONG, 2, 5 },  { XIW_DDP_UNTAGGED_VERSION, 2, 6 },
	};
	const char *unknown = xiw_ddp_error_name((enum xiw_ddp_error)0x3ff);

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *name = xiw_ddp_error_name(table[i].error);

		cr_expect_neq(table[i].error, XIW_DDP_OK);
		cr_expect_eq(table[i].error >> 8 & 0xf, table[i].type, "%s", name);
		cr_expect_eq(table[i].error & 0xff, table[i].code, "%s", name);
		cr_expect_str_neq(name, unknown);
		for (size_t j = 0; j < i; j++)
			cr_expect_str_neq(name, xiw_ddp_error_name(table[j].error));
	}
}
