/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Immediate Data of RFC 7306 section 6, alone and behind an RDMA Write. */

#include <criterion/criterion.h>
#include <errno.h>

#include "tests/unit/rdmap_rig.h"

TestSuite(rdmap_immediate, .init = rdmap_begin_extended, .fini = rdmap_end);

/* Section 6.3, last rule: exactly 8 octets. */
Test(rdmap_immediate, received)
{
	uint8_t buf[16] = { 0 };

	for (uint8_t control = 0x48; control <= 0x49; control++) {
		for (uint32_t len = 0; len <= sizeof(buf); len++) {
			const bool right = len == 8;

			cr_expect_eq(in_untagged(control, 0, buf, len, 0, NULL),
				     right ? XIW_RDMAP_DELIVER : XIW_RDMAP_ERROR);
			cr_expect_eq(s.info.immediates_in, right);
			cr_expect_eq(s.info.sends_in, 0);
			if (!right)
				expect_failed(XIW_RDMAP_OPERATION, true, false);
			rdmap_anew();
		}
	}
}

/* Figure 2: of all opcodes on every queue and Tagged, with RFC 7306. */
Test(rdmap_immediate, every_opcode)
{
	/* A bit for each queue, and bit 4 for Tagged. */
	static const unsigned int right[16] = { 16, 2, 16, 1, 1, 1, 1, 4, 1, 1, 2, 8 };

	for (unsigned int v = 0; v < 256; v++) {
		for (unsigned int qn = 0; qn <= 4; qn++) {
			const struct xiw_rdmap_seg g = {
				.tagged = qn == 4, .control = (uint8_t)v, .qn = qn, .len = 8
			};
			enum xiw_rdmap_error want = XIW_RDMAP_OK;

			if (v >> 6 != 1)
				want = XIW_RDMAP_VERSION;
			else if (!(right[v & 15] & 1u << qn) || (v & 15) == 2)
				want = XIW_RDMAP_OPCODE; /* no Read is waiting for a Response */
			cr_expect_eq(xiw_rdmap_check_segment(&s, &g), want, "%02x on %u", v, qn);
		}
	}
}

Test(rdmap_immediate, posted)
{
	static const uint8_t value[8] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 };
	struct xiw_rdmap_out out;
	struct xiw_rdmap_op op;

	for (unsigned int flags = 0; flags < 2; flags++) {
		cr_assert_eq(post(XIW_RDMA_IMMEDIATE, flags, 0), 0);
		cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
		cr_expect(!out.tagged && out.qn == 0 && out.len == 8 && !out.answer);
		cr_expect_eq(out.rsvdulp[0], 0x48 + flags);
		cr_expect_eq(xiw_get_be32(out.rsvdulp + 1), 0);
		cr_expect_arr_eq(out.buf, value, 8);
		xiw_rdmap_sent(&s, out.id, true);
		cr_expect(xiw_rdmap_completed(&s, &op) && !op.failed && op.op.user_data == flags);
	}
	cr_expect_eq(s.info.immediates_out, 2);
	cr_expect_eq(s.info.sends_out, 0);
}

/* Two messages in a row and one completion, which comes when both are sent. */
Test(rdmap_immediate, behind_a_write)
{
	struct xiw_rdmap_out out;
	struct xiw_rdmap_op op;
	uint64_t ids[2];

	cr_assert_eq(post(XIW_RDMA_WRITE_IMMEDIATE, XIW_RDMA_SOLICITED, 16), 0);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect(out.tagged && out.stag == 0x99 && out.to == 0x1000 && out.len == 16);
	cr_expect_eq(out.rsvdulp[0], 0x40);
	ids[0] = out.id;
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect(!out.tagged && out.qn == 0 && out.len == 8 && out.rsvdulp[0] == 0x49);
	ids[1] = out.id;
	xiw_rdmap_sent(&s, ids[0], true);
	cr_assert(xiw_rdmap_completed(&s, &op) && op.internal);
	cr_expect(!xiw_rdmap_completed(&s, &op));
	xiw_rdmap_sent(&s, ids[1], true);
	cr_assert(xiw_rdmap_completed(&s, &op) && !op.internal && !op.failed);
	cr_expect(op.op.kind == XIW_RDMA_WRITE_IMMEDIATE && op.op.len == 16);
	cr_expect(xiw_rdmap_idle(&s));
	cr_expect(s.info.writes_out == 1 && s.info.write_octets_out == 16);
	cr_expect(s.info.immediates_out == 1);
}

/* It takes two places or none. */
Test(rdmap_immediate, places)
{
	struct xiw_rdmap_out out;

	for (int i = 0; i < DEPTH - 1; i++)
		cr_assert_eq(post(XIW_RDMA_SEND, 0, 1), 0);
	cr_expect_eq(post(XIW_RDMA_WRITE_IMMEDIATE, 0, 1), -EAGAIN);
	cr_expect_eq(post(XIW_RDMA_IMMEDIATE, 0, 0), 0);
	cr_expect_eq(post(XIW_RDMA_IMMEDIATE, 0, 0), -EAGAIN);
	for (int i = 0; i < DEPTH; i++) {
		cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
		cr_expect_eq(out.rsvdulp[0], i == DEPTH - 1 ? 0x48 : 0x43);
	}
	cr_expect_eq(xiw_rdmap_next(&s, &out), 0);
}

/* A fence makes the Write wait, and the Immediate Data stays behind it. */
Test(rdmap_immediate, fence)
{
	struct xiw_rdmap_out out;

	cr_assert_eq(post(XIW_RDMA_READ, 0, 8), 0);
	cr_assert_eq(post(XIW_RDMA_WRITE_IMMEDIATE, XIW_RDMA_FENCE, 1), 0);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect_eq(xiw_rdmap_next(&s, &out), 0);
	cr_expect_eq(in_tagged(0x42, wr, BASE, 8), XIW_RDMAP_HANDLED);
	cr_expect(xiw_rdmap_next(&s, &out) == 1 && out.rsvdulp[0] == 0x40);
	cr_expect(xiw_rdmap_next(&s, &out) == 1 && out.rsvdulp[0] == 0x48);
}

Test(rdmap_immediate, posted_wrongly)
{
	struct xiw_rdma_op op = { .kind = XIW_RDMA_IMMEDIATE, .buf = "12345678" };
	const struct xiw_rdmap_opts shallow = {
		.table = &table, .pd = PD, .stream = STREAM, .depth = 1, .extended = true
	};

	cr_expect_eq(xiw_rdmap_post(&s, &op), -EINVAL);
	op = (struct xiw_rdma_op){ .kind = XIW_RDMA_IMMEDIATE, .len = 8 };
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EINVAL);
	op = (struct xiw_rdma_op){ .kind = XIW_RDMA_IMMEDIATE, .flags = XIW_RDMA_INVALIDATE };
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EINVAL);
	op = (struct xiw_rdma_op){ .kind = XIW_RDMA_WRITE_IMMEDIATE, .len = 8 };
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EINVAL);
	op = (struct xiw_rdma_op){
		.kind = XIW_RDMA_WRITE_IMMEDIATE, .buf = "x", .len = 2, .to = UINT64_MAX
	};
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EINVAL);
	op = (struct xiw_rdma_op){ .kind = XIW_RDMA_WRITE_IMMEDIATE };
	cr_expect_eq(xiw_rdmap_post(&s, &op), 0, "a Write of no octets");
	xiw_rdmap_free(&s);
	cr_assert_eq(xiw_rdmap_init(&s, &shallow), 0);
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EINVAL, "it would never have two places");
}

Test(rdmap_immediate, not_extended)
{
	uint8_t buf[8] = { 0 };

	rdmap_end();
	rdmap_begin();
	cr_expect_eq(post(XIW_RDMA_IMMEDIATE, 0, 0), -EOPNOTSUPP);
	cr_expect_eq(post(XIW_RDMA_WRITE_IMMEDIATE, 0, 1), -EOPNOTSUPP);
	for (uint8_t control = 0x48; control <= 0x49; control++) {
		cr_expect_eq(in_untagged(control, 0, buf, 8, 0, NULL), XIW_RDMAP_ERROR);
		expect_failed(XIW_RDMAP_OPCODE, true, false);
		rdmap_anew();
	}
}
