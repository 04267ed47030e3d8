/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMAP's headers: RFC 5040 sections 4.1, 4.4 and 4.8. */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "rdmap/hdr.h"

static const uint8_t tagged_header[] = { 0xc1, 0x40, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
static const uint8_t untagged_header[] = { 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0,
					   1,	 0,    0, 0, 2, 0, 0, 0, 3 };

Test(rdmap_hdr, control_octet)
{
	/* RV 01, two reserved bits 0, the opcode (Figure 3). */
	cr_expect_eq(xiw_rdmap_control(XIW_RDMAP_OP_WRITE), 0x40);
	cr_expect_eq(xiw_rdmap_control(XIW_RDMAP_OP_READ_REQUEST), 0x41);
	cr_expect_eq(xiw_rdmap_control(XIW_RDMAP_OP_READ_RESPONSE), 0x42);
	cr_expect_eq(xiw_rdmap_control(XIW_RDMAP_OP_SEND), 0x43);
	cr_expect_eq(xiw_rdmap_control(XIW_RDMAP_OP_SEND_INV), 0x44);
	cr_expect_eq(xiw_rdmap_control(XIW_RDMAP_OP_SEND_SE), 0x45);
	cr_expect_eq(xiw_rdmap_control(XIW_RDMAP_OP_SEND_SE_INV), 0x46);
	cr_expect_eq(xiw_rdmap_control(XIW_RDMAP_OP_TERMINATE), 0x47);
	for (unsigned int v = 0; v < 256; v++) {
		cr_expect_eq(xiw_rdmap_version((uint8_t)v), v >> 6);
		cr_expect_eq(xiw_rdmap_opcode((uint8_t)v), v & 15);
	}
}

Test(rdmap_hdr, read_request)
{
	static const uint8_t wire[XIW_RDMAP_READ_LEN] = {
		0x01, 0x02, 0x03, 0x04, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22,
		0x23, 0x24, 0x31, 0x32, 0x33, 0x34, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,
	};
	uint8_t buf[XIW_RDMAP_READ_LEN];
	struct xiw_rdmap_read r;

	xiw_rdmap_read_decode(&r, wire);
	cr_expect_eq(r.sink_stag, 0x01020304);
	cr_expect_eq(r.sink_to, 0x1112131415161718);
	cr_expect_eq(r.size, 0x21222324);
	cr_expect_eq(r.src_stag, 0x31323334);
	cr_expect_eq(r.src_to, 0x4142434445464748);
	xiw_rdmap_read_encode(&r, buf);
	cr_expect_arr_eq(buf, wire, sizeof(buf));
}

/* ---- Terminate ---------------------------------------------------------------------------- */

static void round_trip(struct xiw_rdma_terminate_info *t, uint32_t want_len)
{
	uint8_t buf[XIW_RDMAP_TERM_MAX];
	struct xiw_rdma_terminate_info got;
	uint32_t len = xiw_rdmap_terminate_encode(t, buf);

	cr_expect_eq(len, want_len, "%u octets", len);
	cr_assert_eq(xiw_rdmap_terminate_decode(&got, buf, len), 0);
	cr_expect(got.present && !got.reversed);
	cr_expect_eq(got.layer, t->layer);
	cr_expect_eq(got.etype, t->etype);
	cr_expect_eq(got.code, t->code);
	cr_expect_eq(got.has_segment_len, t->has_segment_len);
	cr_expect_eq(got.has_ddp_header, t->has_ddp_header);
	cr_expect_eq(got.has_read_request, t->has_read_request);
	cr_expect_eq(got.segment_len, t->segment_len);
	cr_expect_eq(got.ddp_header_len, t->ddp_header_len);
	cr_expect_arr_eq(got.ddp_header, t->ddp_header, sizeof(got.ddp_header));
	cr_expect_arr_eq(got.read_request, t->read_request, sizeof(got.read_request));
	cr_expect_arr_eq(got.control, t->control, 4);
	cr_expect_eq(buf[3], 0);
}

/* Figures 7 to 10: which headers an error of each layer includes. */
Test(rdmap_hdr, terminate_of_each_layer)
{
	const struct xiw_rdmap_read r = { 1, 2, 3, 4, 5 };
	struct xiw_rdma_terminate_info t;

	xiw_rdmap_terminate_mpa(&t, XIW_MPA_ERR_CRC);
	xiw_rdmap_terminate_quote(&t, untagged_header, 18, 100);
	xiw_rdmap_terminate_quote_read(&t, &r);
	round_trip(&t, 4);
	cr_expect_arr_eq(t.control, ((uint8_t[]){ 0x20, 2, 0, 0 }), 4);

	xiw_rdmap_terminate_ddp(&t, XIW_DDP_TAGGED_BOUNDS);
	xiw_rdmap_terminate_quote(&t, tagged_header, 14, 100);
	xiw_rdmap_terminate_quote_read(&t, &r);
	round_trip(&t, 4 + 2 + 14);
	cr_expect_arr_eq(t.control, ((uint8_t[]){ 0x11, 1, 0xc0, 0 }), 4);

	xiw_rdmap_terminate_ddp(&t, XIW_DDP_UNTAGGED_TOO_LONG);
	xiw_rdmap_terminate_quote(&t, untagged_header, 18, 64768);
	round_trip(&t, 4 + 2 + 18);
	cr_expect_arr_eq(t.control, ((uint8_t[]){ 0x12, 5, 0xc0, 0 }), 4);

	/* A Local Catastrophic Error includes no header of either layer. */
	xiw_rdmap_terminate_ddp(&t, XIW_DDP_LOCAL_CATASTROPHIC);
	xiw_rdmap_terminate_quote(&t, untagged_header, 17, 17);
	xiw_rdmap_terminate_quote(&t, untagged_header, 18, 18);
	round_trip(&t, 4);
	cr_expect_arr_eq(t.control, ((uint8_t[]){ 0x10, 0, 0, 0 }), 4);
	xiw_rdmap_terminate_own(&t, XIW_RDMAP_LOCAL_CATASTROPHIC);
	xiw_rdmap_terminate_quote(&t, untagged_header, 18, 18);
	round_trip(&t, 4);
	cr_expect_arr_eq(t.control, ((uint8_t[]){ 0, 0, 0, 0 }), 4);

	/* Remote Operation Errors include no RDMA header; Remote Protection Errors of a Read do. */
	xiw_rdmap_terminate_own(&t, XIW_RDMAP_OPCODE);
	xiw_rdmap_terminate_quote(&t, untagged_header, 18, 46);
	xiw_rdmap_terminate_quote_read(&t, &r);
	round_trip(&t, 4 + 2 + 18);
	cr_expect_arr_eq(t.control, ((uint8_t[]){ 0x02, 6, 0xc0, 0 }), 4);
	xiw_rdmap_terminate_own(&t, XIW_RDMAP_BOUNDS);
	xiw_rdmap_terminate_quote(&t, untagged_header, 18, 46);
	xiw_rdmap_terminate_quote_read(&t, &r);
	round_trip(&t, XIW_RDMAP_TERM_MAX);
	cr_expect_arr_eq(t.control, ((uint8_t[]){ 0x01, 1, 0xe0, 0 }), 4);
}

/* Each number of Figure 9, RFC 5041 section 7.2, RFC 5044 and RFC 6581 section 8 has a name of its own. */
Test(rdmap_hdr, every_code)
{
	static const enum xiw_rdmap_error own[] = {
		XIW_RDMAP_LOCAL_CATASTROPHIC,
		XIW_RDMAP_STAG,
		XIW_RDMAP_BOUNDS,
		XIW_RDMAP_ACCESS,
		XIW_RDMAP_NOT_STREAM,
		XIW_RDMAP_TO_WRAP,
		XIW_RDMAP_CANNOT_INVALIDATE,
		XIW_RDMAP_PROTECTION,
		XIW_RDMAP_VERSION,
		XIW_RDMAP_OPCODE,
		XIW_RDMAP_STREAM,
		XIW_RDMAP_GLOBAL,
		XIW_RDMAP_CANNOT_INVALIDATE_OP,
		XIW_RDMAP_OPERATION,
	};
	static const enum xiw_ddp_error ddp[] = {
		XIW_DDP_LOCAL_CATASTROPHIC, XIW_DDP_TAGGED_STAG,	XIW_DDP_TAGGED_BOUNDS,
		XIW_DDP_TAGGED_NOT_STREAM,  XIW_DDP_TAGGED_TO_WRAP,	XIW_DDP_TAGGED_VERSION,
		XIW_DDP_UNTAGGED_QN,	    XIW_DDP_UNTAGGED_NO_BUFFER, XIW_DDP_UNTAGGED_MSN_RANGE,
		XIW_DDP_UNTAGGED_MO,	    XIW_DDP_UNTAGGED_TOO_LONG,	XIW_DDP_UNTAGGED_VERSION,
	};
	struct xiw_rdma_terminate_info t;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		xiw_rdmap_terminate_own(&t, own[i]);
		cr_expect_eq(t.etype, own[i] >> 8 & 0xf);
		round_trip(&t, 4);
		cr_expect_str_eq(xiw_rdma_terminate_name(&t), xiw_rdmap_error_name(own[i]));
		cr_expect(!strstr(xiw_rdma_terminate_name(&t), "unknown"), "%x", own[i]);
	}
	for (size_t i = 0; i < sizeof(ddp) / sizeof(ddp[0]); i++) {
		xiw_rdmap_terminate_ddp(&t, ddp[i]);
		round_trip(&t, 4);
		cr_expect_str_eq(xiw_rdma_terminate_name(&t), xiw_ddp_error_name(ddp[i]));
	}
	for (unsigned int e = XIW_MPA_ERR_CLOSED; e <= XIW_MPA_ERR_RTR; e++) {
		xiw_rdmap_terminate_mpa(&t, (enum xiw_mpa_error)e);
		round_trip(&t, 4);
		cr_expect_str_eq(xiw_rdma_terminate_name(&t),
				 xiw_mpa_error_name((enum xiw_mpa_error)e));
	}
	t = (struct xiw_rdma_terminate_info){ .present = true, .layer = 9 };
	cr_expect_str_eq(xiw_rdma_terminate_name(&t), "unknown layer");
	t.present = false;
	cr_expect_str_eq(xiw_rdma_terminate_name(&t), "none");
}

/* Terminates as Linux's siw writes them: Layer and EType swapped; M, D and R at the other end of their octet. */
Test(rdmap_hdr, terminate_of_siw)
{
	static const struct {
		uint8_t control[4];
		uint8_t ddp; /* first octet of the DDP header after the length; 0: no header */
		bool read;   /* followed by a Read Request */
		bool reversed;
		uint8_t layer, etype, code;
		bool m, d, r;
	} t[] = {
		/* siw's CRC error, and its insufficient IRD, which can also be read as an unexpected opcode. */
		{ { 0x02, 2, 0, 0 }, 0, false, true, 2, 0, 2, false, false, false },
		{ { 0x02, 6, 0, 0 }, 0, false, false, 0, 2, 6, false, false, false },
		/* siw's version and opcode errors have no headers. */
		{ { 0x20, 9, 0, 0 }, 0, false, true, 0, 2, 9, false, false, false },
		/* With headers there is no doubt: in the RFC's format the octet announces none. */
		{ { 0x11, 0, 0x03, 0 }, 0x81, false, true, 1, 1, 0, true, true, false },
		{ { 0x11, 1, 0x03, 0 }, 0x81, false, true, 1, 1, 1, true, true, false },
		{ { 0x21, 2, 0x03, 0 }, 0x41, false, true, 1, 2, 2, true, true, false },
		{ { 0x10, 0, 0x07, 0 }, 0x41, true, true, 0, 1, 0, true, true, true },
		{ { 0x10, 1, 0x07, 0 }, 0x41, true, true, 0, 1, 1, true, true, true },
		{ { 0x20, 7, 0x03, 0 }, 0x41, false, true, 0, 2, 7, true, true, false },
		{ { 0x01, 0, 0x03, 0 }, 0x81, false, true, 1, 0, 0, true, true, false },
		/* R without a Read Request, for a Send that invalidates an STag that it must not. */
		{ { 0x10, 9, 0x07, 0 }, 0x41, false, true, 0, 1, 9, true, true, false },
		/* In the RFC's format. */
		{ { 0x20, 2, 0, 0 }, 0, false, false, 2, 0, 2, false, false, false },
		{ { 0x12, 1, 0xc0, 0 }, 0x41, false, false, 1, 2, 1, true, true, false },
		{ { 0x01, 1, 0xe0, 0 }, 0x41, true, false, 0, 1, 1, true, true, true },
		/* Reserved bits do not matter if the other bits are unambiguous. */
		{ { 0x12, 1, 0xc3, 0xff }, 0x41, false, false, 1, 2, 1, true, true, false },
		{ { 0x10, 2, 0x01, 0 }, 0, false, false, 1, 0, 2, false, false, false },
		{ { 0x10, 2, 0x1f, 0xff }, 0, false, false, 1, 0, 2, false, false, false },
		{ { 0x01, 9, 0x07, 0 }, 0, false, false, 0, 1, 9, false, false, false },
		{ { 0x11, 1, 0x03, 0 }, 0, false, false, 1, 1, 1, false, false, false },
		{ { 0x20, 5, 0x04, 0 }, 0, false, false, 2, 0, 5, false, false, false },
		/* Senseless in both formats: the RFC's is used. */
		{ { 0x7f, 1, 0, 0 }, 0, false, false, 7, 15, 1, false, false, false },
		{ { 0x02, 2, 0x03, 0 }, 0, false, false, 0, 2, 2, false, false, false },
	};
	struct xiw_rdma_terminate_info got;
	uint8_t buf[XIW_RDMAP_TERM_MAX] = { 0 };

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const uint32_t header = t[i].ddp ? 2 + (t[i].ddp & 0x80 ? 14 : 18) : 0;

		memcpy(buf, t[i].control, 4);
		buf[6] = t[i].ddp;
		cr_assert_eq(xiw_rdmap_terminate_decode(&got, buf,
							4 + header + (t[i].read ? 28 : 0)),
			     0);
		cr_expect_eq(got.reversed, t[i].reversed, "case %zu", i);
		cr_expect(got.layer == t[i].layer && got.etype == t[i].etype &&
				  got.code == t[i].code,
			  "case %zu: %u %u %u", i, got.layer, got.etype, got.code);
		cr_expect(got.has_segment_len == t[i].m && got.has_ddp_header == t[i].d &&
				  got.has_read_request == t[i].r,
			  "case %zu", i);
	}
}

/* A message that makes sense in the RFC's format is read so, whatever its reserved bits are (section 4.8). */
Test(rdmap_hdr, reserved_bits)
{
	uint8_t clean[4] = { 0 }, spoilt[4];
	struct xiw_rdma_terminate_info want, got;

	for (unsigned int i = 0; i < 1u << 16; i++) {
		clean[0] = (uint8_t)(i >> 8);
		clean[1] = (uint8_t)i;
		cr_assert_eq(xiw_rdmap_terminate_decode(&want, clean, 4), 0);
		if (want.reversed)
			continue; /* senseless in the RFC's format */
		memcpy(spoilt, clean, 4);
		spoilt[2] = 0x1f;
		spoilt[3] = 0xff;
		cr_assert_eq(xiw_rdmap_terminate_decode(&got, spoilt, 4), 0);
		cr_assert(!got.reversed && got.layer == want.layer && got.etype == want.etype &&
				  got.code == want.code && !got.has_segment_len &&
				  !got.has_ddp_header && !got.has_read_request,
			  "%02x %02x", clean[0], clean[1]);
	}
}

/* Announced headers that do not fit are left out; the error remains. */
Test(rdmap_hdr, terminate_cut_short)
{
	const struct xiw_rdmap_read r = { 1, 2, 3, 4, 5 };
	struct xiw_rdma_terminate_info t, got;
	uint8_t buf[XIW_RDMAP_TERM_MAX];
	uint32_t len;

	xiw_rdmap_terminate_own(&t, XIW_RDMAP_BOUNDS);
	xiw_rdmap_terminate_quote(&t, untagged_header, 18, 46);
	xiw_rdmap_terminate_quote_read(&t, &r);
	len = xiw_rdmap_terminate_encode(&t, buf);
	for (uint32_t n = 0; n <= len; n++) {
		uint8_t *exact = malloc(n ? n : 1);

		/* So that a sanitizer sees an access beyond it. */
		memcpy(exact, buf, n);
		if (n < 4) {
			cr_expect_eq(xiw_rdmap_terminate_decode(&got, exact, n), -EBADMSG);
			cr_expect(!got.present);
		} else {
			cr_expect_eq(xiw_rdmap_terminate_decode(&got, exact, n), 0);
			cr_expect(got.present && got.etype == 1 && got.code == 1);
			cr_expect_eq(got.has_segment_len, n >= 6);
			cr_expect_eq(got.has_ddp_header, n >= 24);
			cr_expect_eq(got.has_read_request, n >= 52);
		}
		free(exact);
	}
}

/* Random octets: nothing beyond their end is read, and an accepted message can be written again. */
Test(rdmap_hdr, terminate_random)
{
	unsigned int seed = 20;
	struct xiw_rdma_terminate_info t;
	uint8_t out[XIW_RDMAP_TERM_MAX];

	for (int i = 0; i < 200000; i++) {
		uint32_t n = (uint32_t)rand_r(&seed) % 80;
		uint8_t *buf = malloc(n ? n : 1);

		for (uint32_t k = 0; k < n; k++)
			buf[k] = (uint8_t)rand_r(&seed);
		if (!xiw_rdmap_terminate_decode(&t, buf, n)) {
			uint32_t len = xiw_rdmap_terminate_encode(&t, out);

			cr_assert(len <= n && len >= 4, "seed 20, case %d", i);
			cr_assert_eq(memcmp(out + 4, buf + 4, len - 4), 0, "seed 20, case %d", i);
		}
		free(buf);
	}
}
