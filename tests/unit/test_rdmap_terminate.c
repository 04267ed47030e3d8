/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An RDMAP Stream's state machine: errors, and how it ends (RFC 5040 sections 5.4 and 7). */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/unit/rdmap_rig.h"

TestSuite(rdmap_terminate, .init = rdmap_begin, .fini = rdmap_end);

/* ---- what is refused --------------------------------------------------------------------------- */

/* Section 7.2: each check of a Read Request, and its error number. */
Test(rdmap_terminate, read_source)
{
	const struct {
		uint32_t size, stag;
		uint64_t to, sink_to;
		enum xiw_rdmap_error want;
	} t[] = {
		{ 1, rd, BASE, 0, XIW_RDMAP_OK },
		{ SIZE, rd, BASE, UINT64_MAX - SIZE, XIW_RDMAP_OK },
		{ 1, bound, BASE + SIZE - 1, 0, XIW_RDMAP_OK },
		{ 0, 0xdead, UINT64_MAX, UINT64_MAX, XIW_RDMAP_OK },
		{ 1, 0xdead, BASE, 0, XIW_RDMAP_STAG },
		{ 1, rd, BASE - 1, 0, XIW_RDMAP_BOUNDS },
		{ SIZE + 1, rd, BASE, 0, XIW_RDMAP_BOUNDS },
		{ 2, rd, BASE + SIZE - 1, 0, XIW_RDMAP_BOUNDS },
		{ 1, rd, BASE + SIZE, 0, XIW_RDMAP_BOUNDS },
		{ UINT32_MAX, rd, BASE, 0, XIW_RDMAP_BOUNDS },
		{ 1, wr, BASE, 0, XIW_RDMAP_ACCESS },
		{ 1, other_pd, BASE, 0, XIW_RDMAP_NOT_STREAM },
		{ 1, other_stream, BASE, 0, XIW_RDMAP_NOT_STREAM },
		{ 2, rd, UINT64_MAX - 1, 0, XIW_RDMAP_TO_WRAP },
		{ 2, rd, BASE, UINT64_MAX - 1, XIW_RDMAP_TO_WRAP },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		enum xiw_rdmap_result got = in_read(t[i].size, t[i].stag, t[i].to, t[i].sink_to);

		cr_expect_eq(got, t[i].want ? XIW_RDMAP_ERROR : XIW_RDMAP_HANDLED, "case %zu", i);
		if (t[i].want)
			expect_failed(t[i].want, true, true);
		rdmap_anew();
	}
}

Test(rdmap_terminate, read_request_of_another_length)
{
	uint8_t buf[64] = { 0 };

	for (uint32_t len = 0; len < sizeof(buf); len++) {
		if (len == XIW_RDMAP_READ_LEN)
			continue;
		cr_expect_eq(in_untagged(0x41, 1, buf, len, 0, NULL), XIW_RDMAP_ERROR);
		expect_failed(XIW_RDMAP_OPERATION, true, false);
		rdmap_anew();
	}
}

/* Section 6.1: as many as were agreed on, plus those that the peer may request before we know that ours are sent. */
Test(rdmap_terminate, too_many_reads)
{
	struct xiw_rdmap_out out;

	for (int round = 0; round < 50; round++) {
		uint64_t first = 0;

		for (int i = 0; i < 2; i++)
			cr_assert_eq(in_read(10, rd, BASE, 0), XIW_RDMAP_HANDLED);
		for (int i = 0; i < 2; i++) {
			cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
			first = i ? first : out.id;
		}
		/* TCP may have delivered both responses: these Reads are no longer open, and the peer requests more. */
		xiw_rdmap_given(&s, out.id);
		for (int i = 0; i < 2; i++)
			cr_assert_eq(in_read(10, rd, BASE, 0), XIW_RDMAP_HANDLED);
		xiw_rdmap_sent(&s, first, true);
		xiw_rdmap_sent(&s, out.id, true);
		for (int i = 0; i < 2; i++) {
			cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
			xiw_rdmap_sent(&s, out.id, true);
		}
	}
	/* TCP has none of these responses whole: two are open, which is the limit. */
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(in_read(10, rd, BASE, 0), XIW_RDMAP_HANDLED);
		cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	}
	cr_expect_eq(in_read(10, rd, BASE, 0), XIW_RDMAP_ERROR);
	expect_failed(XIW_RDMAP_STREAM, true, false);
	/* Section 7.1 rule 4: the first error remains, and nothing more is sent. */
	cr_expect_eq(in_untagged(0xc3, 0, NULL, 0, 0, NULL), XIW_RDMAP_HANDLED);
	cr_expect_eq(xiw_rdmap_next(&s, &out), 0);
	cr_expect_eq(s.info.sent.ddp_header[1], 0x41);
	cr_expect_eq(s.info.sent.code, 7);
}

/*
 * TCP may have all responses, so that none counts as open, but none is known to be sent: their memory is still in use,
 * and there is no more of it.
 */
Test(rdmap_terminate, too_many_reads_whose_answers_are_not_sent)
{
	struct xiw_rdmap_out out;

	for (uint32_t i = 0; i < 4; i++) {
		cr_assert_eq(in_read(10 + i, rd, BASE, 0), XIW_RDMAP_HANDLED, "%u", i);
		cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
		xiw_rdmap_given(&s, out.id);
	}
	cr_expect_eq(in_read(20, rd, BASE, 0), XIW_RDMAP_ERROR);
	expect_failed(XIW_RDMAP_STREAM, true, false);
	cr_expect_eq(s.answer_tail, 4);
}

/* No Reads were negotiated, except the RTR Read of the Initiator (RFC 6581 section 9.2). */
Test(rdmap_terminate, no_reads)
{
	struct xiw_rdmap_out out;

	xiw_rdmap_limits(&s, 0, 0);
	cr_expect_eq(in_read(10, rd, BASE, 0), XIW_RDMAP_ERROR);
	expect_failed(XIW_RDMAP_STREAM, true, false);

	rdmap_anew();
	xiw_rdmap_limits(&s, 0, 0);
	cr_expect_eq(in_read(0, 0, 0, 0), XIW_RDMAP_HANDLED);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	xiw_rdmap_sent(&s, out.id, true);
	cr_expect_eq(in_read(0, 0, 0, 0), XIW_RDMAP_ERROR);
	expect_failed(XIW_RDMAP_STREAM, true, false);
}

/* The source is invalidated before or during sending: the header says how much is left (section 4.8). */
Test(rdmap_terminate, source_goes)
{
	struct xiw_rdmap_out out;
	struct xiw_rdmap_read left;

	cr_assert_eq(in_read(100, rd, BASE, 0x500), XIW_RDMAP_HANDLED);
	xiw_ddp_region_invalidate(&table, rd);
	cr_expect_eq(xiw_rdmap_next(&s, &out), -EPROTO);
	expect_failed(XIW_RDMAP_STAG, true, true);
	cr_expect_eq(s.info.sent.segment_len, 46);

	rdmap_anew();
	cr_assert_eq(in_read(100, rd, BASE + 1, 0x500), XIW_RDMAP_HANDLED);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect(xiw_rdmap_readable(&s, out.id, 60));
	xiw_ddp_region_set_access(&table, rd, XIW_DDP_REMOTE_WRITE);
	/* All octets were taken already. */
	cr_expect(xiw_rdmap_readable(&s, out.id, 100));
	cr_expect(!xiw_rdmap_readable(&s, out.id, 60));
	expect_failed(XIW_RDMAP_ACCESS, true, true);
	xiw_rdmap_read_decode(&left, s.info.sent.read_request);
	cr_expect(left.sink_stag == 0x77 && left.sink_to == 0x500 + 60 && left.size == 40);
	cr_expect(left.src_stag == rd && left.src_to == BASE + 1 + 60);
}

/* Gives the STag to another region with the same rights, base and length. */
static void replace(uint32_t stag, uint32_t access)
{
	static uint8_t others[SIZE];
	const struct xiw_ddp_region_opts o = { .ptr = others,
					       .len = SIZE,
					       .base = BASE,
					       .pd = PD,
					       .access = access,
					       .fixed = true,
					       .stag = stag };
	uint32_t got;

	cr_assert_eq(xiw_ddp_region_invalidate(&table, stag), 0);
	cr_assert_eq(xiw_ddp_region_register(&table, &o, &got), 0);
}

/* A Read belongs to the region for which it was admitted, not to a later region with the same STag. */
Test(rdmap_terminate, source_is_another)
{
	struct xiw_rdmap_out out;
	struct xiw_rdmap_read left;

	cr_assert_eq(in_read(100, rd, BASE, 0x500), XIW_RDMAP_HANDLED);
	replace(rd, XIW_DDP_REMOTE_READ);
	cr_expect_eq(xiw_rdmap_next(&s, &out), -EPROTO);
	expect_failed(XIW_RDMAP_STAG, true, true);

	rdmap_anew();
	cr_assert_eq(in_read(100, rd, BASE, 0x500), XIW_RDMAP_HANDLED);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect(out.from_region && out.buf == memory);
	replace(rd, XIW_DDP_REMOTE_READ);
	cr_expect(!xiw_rdmap_readable(&s, out.id, 60));
	expect_failed(XIW_RDMAP_STAG, true, true);
	xiw_rdmap_read_decode(&left, s.info.sent.read_request);
	cr_expect(left.sink_to == 0x500 + 60 && left.size == 40);

	/* A later Read belongs to the new region. */
	rdmap_anew();
	replace(rd, XIW_DDP_REMOTE_READ);
	cr_assert_eq(in_read(100, rd, BASE, 0x500), XIW_RDMAP_HANDLED);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect(out.from_region && out.buf != memory);
	cr_expect(xiw_rdmap_readable(&s, out.id, 60));
}

/* ---- segments ---------------------------------------------------------------------------------- */

static enum xiw_rdmap_error segment(bool in_turn, bool tagged, uint8_t control, uint32_t qn,
				    uint32_t stag, uint64_t to, uint32_t len, uint64_t before)
{
	const struct xiw_ddp_region *r = xiw_ddp_region_lookup(&table, stag);
	const struct xiw_rdmap_seg g = {
		.tagged = tagged,
		.control = control,
		.qn = qn,
		.stag = stag,
		.to = to,
		.len = len,
		.serial = len && r ? r->serial : 0,
		.in_turn = in_turn,
		.before = before,
	};

	return xiw_rdmap_check_segment(&s, &g);
}

/* Version and opcode of every segment are checked before its payload is placed. */
Test(rdmap_terminate, segment_of_no_message)
{
	for (unsigned int control = 0; control < 256; control++) {
		const unsigned int opcode = control & 15;
		enum xiw_rdmap_error version = control >> 6 == 1 ? XIW_RDMAP_OK : XIW_RDMAP_VERSION;

		for (unsigned int qn = 0; qn < 5; qn++) {
			const bool tagged = qn == 4;
			const bool right = tagged    ? opcode == 0
					   : qn == 0 ? opcode >= 3 && opcode <= 6
					   : qn == 1 ? opcode == 1
						     : qn == 2 && opcode == 7;
			const enum xiw_rdmap_error want = version ? version
							  : right ? XIW_RDMAP_OK
								  : XIW_RDMAP_OPCODE;

			for (int turn = 0; turn < 2; turn++)
				cr_expect_eq(segment(turn, tagged, (uint8_t)control,
						     tagged ? 0 : qn, wr, BASE, 10, 0),
					     want, "%02x, queue %u", control, qn);
		}
	}
	cr_expect_eq(s.state, XIW_RDMAP_OPEN, "no change of state, because the CRC may be wrong");
}

/* A Read Response: each segment begins where the previous one ended, in the region that was requested. */
Test(rdmap_terminate, segments_of_an_answer)
{
	struct xiw_rdmap_out out;

	cr_expect_eq(segment(true, true, 0x42, 0, wr, BASE, 10, 0), XIW_RDMAP_OPCODE);
	cr_expect_eq(segment(false, true, 0x42, 0, wr, BASE, 10, 0), XIW_RDMAP_OPCODE);
	cr_assert_eq(post(XIW_RDMA_READ, 0, 200), 0);
	cr_expect_eq(segment(true, true, 0x42, 0, wr, BASE, 10, 0), XIW_RDMAP_OPCODE);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect_eq(segment(true, true, 0x42, 0, wr, BASE, 100, 0), XIW_RDMAP_OK);
	cr_expect_eq(segment(true, true, 0x42, 0, wr, BASE + 100, 100, 100), XIW_RDMAP_OK);
	cr_expect_eq(segment(true, true, 0x42, 0, 0xdead, 7, 0, 100), XIW_RDMAP_OK);
	cr_expect_eq(segment(true, true, 0x42, 0, wr, BASE, 100, 100), XIW_RDMAP_STREAM);
	cr_expect_eq(segment(true, true, 0x42, 0, wr, BASE + 1, 100, 0), XIW_RDMAP_STREAM);
	cr_expect_eq(segment(true, true, 0x42, 0, wr, BASE, 201, 0), XIW_RDMAP_STREAM);
	cr_expect_eq(segment(true, true, 0x42, 0, wr, BASE + 100, 101, 100), XIW_RDMAP_STREAM);
	cr_expect_eq(segment(true, true, 0x42, 0, wr, BASE + 201, 1, 201), XIW_RDMAP_STREAM);
	cr_expect_eq(segment(true, true, 0x42, 0, bound_wr, BASE, 100, 0), XIW_RDMAP_STREAM);
	/* For an early segment, the preceding octets are not known. */
	cr_expect_eq(segment(false, true, 0x42, 0, wr, BASE + 100, 100, 0), XIW_RDMAP_OK);
	replace(wr, XIW_DDP_REMOTE_WRITE);
	cr_expect_eq(segment(true, true, 0x42, 0, wr, BASE, 100, 0), XIW_RDMAP_STREAM);
}

/* The first segments went to the sink's region, the last one ends the message: all are checked. */
Test(rdmap_terminate, answer_in_pieces)
{
	const struct {
		bool contiguous, other;
	} t[] = { { false, false }, { true, true }, { true, false } };
	const uint8_t control = 0x42;
	struct xiw_rdmap_out out;
	uint32_t none;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct xiw_rdmap_in m = {
			.tagged = true,
			.contiguous = t[i].contiguous,
			.stag = wr,
			.to = BASE,
			.len = 200,
			.rsvdulp = &control,
			.header = header,
			.header_len = 14,
		};

		cr_assert_eq(post(XIW_RDMA_READ, 0, 200), 0);
		cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
		if (t[i].other)
			replace(wr, XIW_DDP_REMOTE_WRITE);
		m.serial = xiw_ddp_region_lookup(&table, wr)->serial;
		cr_expect_eq(xiw_rdmap_received(&s, &m, &none),
			     i < 2 ? XIW_RDMAP_ERROR : XIW_RDMAP_HANDLED, "case %zu", i);
		if (i < 2)
			expect_failed(XIW_RDMAP_STREAM, true, false);
		rdmap_anew();
	}
}

/* Section 5.2.2: STag, Tagged Offset and length must be those of the request. */
Test(rdmap_terminate, wrong_answers)
{
	const struct {
		uint32_t stag;
		uint64_t to, len;
	} t[] = { { rd, BASE, 10 },
		  { wr, BASE + 1, 10 },
		  { wr, BASE, 9 },
		  { wr, BASE, 11 },
		  { wr, BASE, 0 } };
	struct xiw_rdmap_out out;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		cr_assert_eq(post(XIW_RDMA_READ, 0, 10), 0);
		cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
		cr_expect_eq(in_tagged(0x42, t[i].stag, t[i].to, t[i].len), XIW_RDMAP_ERROR);
		expect_failed(XIW_RDMAP_STREAM, true, false);
		rdmap_anew();
	}
	/* Without octets: the header's fields have no meaning. */
	cr_assert_eq(post(XIW_RDMA_READ, 0, 0), 0);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect_eq(in_tagged(0x42, 0xdead, 1, 0), XIW_RDMAP_HANDLED);
}

/* ---- ends -------------------------------------------------------------------------------------- */

Test(rdmap_terminate, terminated)
{
	static const uint8_t body[4] = { 0x12, 5 };
	struct xiw_rdmap_out out;
	struct xiw_rdmap_op op;

	cr_assert_eq(post(XIW_RDMA_SEND, 0, 1), 0);
	cr_assert_eq(post(XIW_RDMA_READ, 0, 1), 0);
	cr_assert_eq(post(XIW_RDMA_SEND, 0, 1), 0);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect_eq(in_untagged(0x47, 2, body, 4, 0, NULL), XIW_RDMAP_ENDED);
	cr_expect(s.info.received.present && s.info.received.layer == 1 &&
		  s.info.received.etype == 2 && s.info.received.code == 5);
	cr_expect(!s.info.sent.present);
	cr_expect_eq(post(XIW_RDMA_SEND, 0, 1), -EPIPE);
	cr_expect_eq(xiw_rdmap_next(&s, &out), 0);
	/* Section 5.4: operations that DDP does not have fail at once, the others when DDP has finished them. */
	xiw_rdmap_abandon(&s);
	cr_expect(!xiw_rdmap_completed(&s, &op));
	xiw_rdmap_sent(&s, 0, true);
	for (uint64_t i = 0; i < 3; i++)
		cr_expect(xiw_rdmap_completed(&s, &op) && op.op.user_data == i && op.failed);
	cr_expect(xiw_rdmap_idle(&s));
}

Test(rdmap_terminate, terminate_too_short)
{
	static const uint8_t body[4] = { 0x12, 5 };

	for (uint32_t len = 0; len < 4; len++) {
		cr_expect_eq(in_untagged(0x47, 2, body, len, 0, NULL), XIW_RDMAP_ERROR);
		expect_failed(XIW_RDMAP_OPERATION, true, false);
		rdmap_anew();
	}
}

Test(rdmap_terminate, lower_layers)
{
	header[0] = 0x41;
	xiw_rdmap_lower_failed(&s, XIW_MPA_ERR_MARKER, 0, NULL, 0, 0);
	cr_expect(s.info.sent.layer == 2 && s.info.sent.etype == 0 && s.info.sent.code == 3);
	cr_expect(!s.info.sent.has_ddp_header && !s.info.sent.has_segment_len);
	rdmap_anew();
	xiw_rdmap_lower_failed(&s, 0, XIW_DDP_UNTAGGED_MO, header, 18, 77);
	cr_expect(s.info.sent.layer == 1 && s.info.sent.etype == 2 && s.info.sent.code == 4);
	cr_expect(s.info.sent.has_ddp_header && s.info.sent.segment_len == 77);
	/* Only the first one counts. */
	xiw_rdmap_lower_failed(&s, XIW_MPA_ERR_CRC, 0, NULL, 0, 0);
	cr_expect_eq(s.info.sent.layer, 1);
	rdmap_anew();
	xiw_rdmap_lower_failed(&s, 0, 0, NULL, 0, 0);
	expect_failed(XIW_RDMAP_LOCAL_CATASTROPHIC, false, false);
}

/* The peer has closed: all Reads fail, and the operations between them still go out. */
Test(rdmap_terminate, peer_gone)
{
	struct xiw_rdmap_out out;
	struct xiw_rdmap_op op;

	for (int i = 0; i < 4; i++)
		cr_assert_eq(post(XIW_RDMA_READ, 0, 10), 0);
	cr_assert_eq(post(XIW_RDMA_SEND, 0, 1), 0);
	cr_assert_eq(post(XIW_RDMA_READ, 0, 10), 0);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	xiw_rdmap_sent(&s, 1, true);
	xiw_rdmap_peer_gone(&s);
	cr_expect_eq(post(XIW_RDMA_READ, 0, 10), -EPIPE);
	cr_expect(!xiw_rdmap_completed(&s, &op));
	xiw_rdmap_sent(&s, 0, true);
	for (uint64_t i = 0; i < 4; i++)
		cr_expect(xiw_rdmap_completed(&s, &op) && op.op.user_data == i && op.failed);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect_eq(out.id, 4);
	xiw_rdmap_sent(&s, out.id, true);
	cr_expect(xiw_rdmap_completed(&s, &op) && op.op.user_data == 4 && !op.failed);
	cr_expect(xiw_rdmap_completed(&s, &op) && op.op.user_data == 5 && op.failed);
	cr_expect_eq(xiw_rdmap_next(&s, &out), 0);
	cr_expect(xiw_rdmap_idle(&s));
}
