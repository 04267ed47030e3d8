/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An RDMAP Stream's state machine: Sends, Writes and Reads (RFC 5040 sections 5 and 6). */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/unit/rdmap_rig.h"

TestSuite(rdmap_stream, .init = rdmap_begin, .fini = rdmap_end);

/* ---- what comes in ----------------------------------------------------------------------------- */

/* Figure 4: of all control octets, on every queue and Tagged, only these are accepted. */
Test(rdmap_stream, every_control_octet)
{
	static const uint8_t terminate[4] = { 0x20, 2 };
	uint8_t read[XIW_RDMAP_READ_LEN] = { 0 };

	for (unsigned int v = 0; v < 256; v++) {
		const unsigned int op = v & 15;

		for (unsigned int qn = 0; qn < 4; qn++) { /* 3: Tagged */
			const bool right = v >> 6 == 1 && (qn == 3   ? op == 0
							   : qn == 0 ? op == 3 || op == 5
							   : qn == 1 ? op == 1
								     : op == 7);
			enum xiw_rdmap_result got;

			/* Messages with an STag and those of a Read have test cases of their own. */
			if (v >> 6 == 1 &&
			    ((qn == 0 && (op == 4 || op == 6)) || (qn == 3 && op == 2)))
				continue;
			if (qn == 3)
				got = in_tagged((uint8_t)v, wr, BASE, 10);
			else
				got = in_untagged((uint8_t)v, qn, qn == 2 ? terminate : read,
						  qn == 2 ? 4 : sizeof(read), 0, NULL);
			if (right) {
				cr_expect_eq(got,
					     qn == 0   ? XIW_RDMAP_DELIVER
					     : qn == 2 ? XIW_RDMAP_ENDED
						       : XIW_RDMAP_HANDLED,
					     "%02x on %u", v, qn);
			} else {
				cr_expect_eq(got, XIW_RDMAP_ERROR, "%02x on %u", v, qn);
				expect_failed(v >> 6 == 1 ? XIW_RDMAP_OPCODE : XIW_RDMAP_VERSION,
					      true, false);
			}
			rdmap_anew();
		}
	}
}

Test(rdmap_stream, answers)
{
	struct xiw_rdmap_out out;

	cr_expect_eq(in_read(100, rd, BASE + 7, 0x500), XIW_RDMAP_HANDLED);
	cr_expect_eq(in_read(0, 0xdead, 1, 2), XIW_RDMAP_HANDLED);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect(out.tagged && out.from_region && out.stag == 0x77 && out.to == 0x500);
	cr_expect(out.len == 100 && out.buf == memory + 7 && out.rsvdulp[0] == 0x42);
	xiw_rdmap_sent(&s, out.id, true);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect(out.tagged && !out.from_region && out.stag == 0x77 && out.to == 2 && !out.len);
	cr_expect(!xiw_rdmap_idle(&s) || s.answer_head != s.answer_tail);
	xiw_rdmap_sent(&s, out.id, true);
	cr_expect(xiw_rdmap_idle(&s));
	cr_expect_eq(s.info.reads_in, 2);
	cr_expect_eq(s.info.read_octets_out, 100);
}

/* Section 5.3. A shared STag is never invalidated (section 8.1.1 rule 7). */
Test(rdmap_stream, invalidate)
{
	const uint32_t cannot[] = { 0xdead, other_pd, other_stream, rd, wr };
	uint32_t stag;

	cr_expect_eq(in_untagged(0x44, 0, NULL, 0, bound_wr, &stag), XIW_RDMAP_DELIVER);
	cr_expect_eq(stag, bound_wr);
	cr_expect_null(xiw_ddp_region_lookup(&table, bound_wr));
	cr_expect_eq(in_untagged(0x46, 0, NULL, 10, bound, &stag), XIW_RDMAP_DELIVER);
	cr_expect_eq(stag, bound);
	/* Other Sends invalidate nothing, whatever the field contains (section 4.1). */
	cr_expect_eq(in_untagged(0x43, 0, NULL, 10, wr, &stag), XIW_RDMAP_DELIVER);
	cr_expect_eq(in_untagged(0x45, 0, NULL, 10, wr, &stag), XIW_RDMAP_DELIVER);
	cr_expect_eq(stag, 0);
	cr_expect_not_null(xiw_ddp_region_lookup(&table, wr));
	cr_expect_eq(s.info.invalidated, 2);
	cr_expect_eq(s.info.sends_in, 4);
	/* The same STag only once. */
	cr_expect_eq(in_untagged(0x44, 0, NULL, 0, bound, &stag), XIW_RDMAP_ERROR);
	expect_failed(XIW_RDMAP_CANNOT_INVALIDATE, true, false);
	for (size_t i = 0; i < sizeof(cannot) / sizeof(cannot[0]); i++) {
		rdmap_anew();
		cr_expect_eq(in_untagged(0x46, 0, NULL, 0, cannot[i], &stag), XIW_RDMAP_ERROR);
		expect_failed(XIW_RDMAP_CANNOT_INVALIDATE, true, false);
		cr_expect(cannot[i] == 0xdead || xiw_ddp_region_lookup(&table, cannot[i]));
	}
}

/* The number of the stream is not enough: the region must be in its protection domain (section 8.1.1 rule 7). */
Test(rdmap_stream, invalidate_in_another_domain)
{
	const uint32_t foreign = region(PD + 1, STREAM, XIW_DDP_REMOTE_WRITE);
	uint32_t stag;

	cr_expect_eq(in_untagged(0x44, 0, NULL, 0, foreign, &stag), XIW_RDMAP_ERROR);
	expect_failed(XIW_RDMAP_CANNOT_INVALIDATE, true, false);
	cr_expect_not_null(xiw_ddp_region_lookup(&table, foreign));
	cr_expect_eq(s.info.invalidated, 0);
}

/* ---- operations -------------------------------------------------------------------------------- */

Test(rdmap_stream, posted_wrongly)
{
	struct xiw_rdma_op op = { .kind = XIW_RDMA_SEND, .len = 1 };

	cr_expect_eq(xiw_rdmap_post(&s, &op), -EINVAL); /* no buf */
	op = (struct xiw_rdma_op){ .kind = (enum xiw_rdma_kind)7 };
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EINVAL);
	op = (struct xiw_rdma_op){ .kind = XIW_RDMA_WRITE, .flags = XIW_RDMA_SOLICITED };
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EINVAL);
	op = (struct xiw_rdma_op){ .kind = XIW_RDMA_SEND, .flags = 1 << 7 };
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EINVAL);
	op = (struct xiw_rdma_op){ .kind = XIW_RDMA_WRITE, .buf = "x", .len = 2, .to = UINT64_MAX };
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EINVAL);
	op = (struct xiw_rdma_op){ .kind = XIW_RDMA_WRITE, .buf = "x", .len = 1ull << 32 };
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EMSGSIZE);
	op = (struct xiw_rdma_op){
		.kind = XIW_RDMA_READ, .len = 1, .sink_stag = rd, .sink_to = BASE
	};
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EACCES);
	op.sink_stag = wr;
	op.sink_to = BASE + SIZE;
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EACCES);
	op.sink_stag = other_pd;
	op.sink_to = BASE;
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EACCES);
	for (int i = 0; i < DEPTH; i++)
		cr_expect_eq(post(XIW_RDMA_SEND, 0, 1), 0);
	cr_expect_eq(post(XIW_RDMA_SEND, 0, 1), -EAGAIN);
	xiw_rdmap_limits(&s, 2, 0);
	cr_expect_eq(post(XIW_RDMA_READ, 0, 1), -EOPNOTSUPP);
}

/* The header of each operation; section 5.5 rule 13: they go out in the order posted. */
Test(rdmap_stream, passed_on)
{
	static const uint8_t controls[] = { 0x43, 0x45, 0x44, 0x46 };
	struct xiw_rdmap_out out;
	struct xiw_rdmap_op op;
	struct xiw_rdmap_read r;

	for (unsigned int flags = 0; flags < 4; flags++)
		cr_assert_eq(post(XIW_RDMA_SEND, flags, 3), 0);
	cr_assert_eq(post(XIW_RDMA_WRITE, 0, 16), 0);
	cr_assert_eq(post(XIW_RDMA_READ, 0, 40), 0);
	for (unsigned int flags = 0; flags < 4; flags++) {
		cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
		cr_expect(!out.tagged && out.qn == 0 && out.len == 3 && !out.from_region);
		cr_expect_eq(out.rsvdulp[0], controls[flags]);
		cr_expect_eq(xiw_get_be32(out.rsvdulp + 1), flags & 2 ? 0x01020304 : 0);
		xiw_rdmap_sent(&s, out.id, true);
		cr_expect(xiw_rdmap_completed(&s, &op) && op.op.user_data == flags && !op.failed);
	}
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect(out.tagged && out.stag == 0x99 && out.to == 0x1000 && out.len == 16);
	cr_expect_eq(out.rsvdulp[0], 0x40);
	xiw_rdmap_sent(&s, out.id, true);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect(!out.tagged && out.qn == 1 && out.rsvdulp[0] == 0x41 && out.len == 28);
	xiw_rdmap_read_decode(&r, out.buf);
	cr_expect(r.sink_stag == wr && r.sink_to == BASE && r.size == 40);
	cr_expect(r.src_stag == 0x99 && r.src_to == 0x1000);
	cr_expect(xiw_rdmap_completed(&s, &op) && op.op.kind == XIW_RDMA_WRITE);
	/* A Read completes neither when it is sent (rule 19) nor before, even if the response overtakes that notice. */
	cr_expect(!xiw_rdmap_completed(&s, &op));
	cr_expect_eq(in_tagged(0x42, wr, BASE, 40), XIW_RDMAP_HANDLED);
	cr_expect(!xiw_rdmap_completed(&s, &op));
	xiw_rdmap_sent(&s, out.id, true);
	cr_expect(xiw_rdmap_completed(&s, &op) && op.op.kind == XIW_RDMA_READ && !op.failed);
	cr_expect(xiw_rdmap_idle(&s));
	cr_expect(s.info.sends_out == 4 && s.info.writes_out == 1 && s.info.reads_out == 1);
	cr_expect(s.info.write_octets_out == 16 && s.info.read_octets_in == 40);
}

/* Rule 15, and the limit of section 6.1. */
/* Section 5.1: Writes go to DDP in the order submitted, whatever lies between them or waits before them. */
Test(rdmap_stream, writes_in_order)
{
	static const enum xiw_rdma_kind kinds[] = { XIW_RDMA_WRITE, XIW_RDMA_WRITE, XIW_RDMA_SEND,
						    XIW_RDMA_WRITE, XIW_RDMA_READ,  XIW_RDMA_WRITE,
						    XIW_RDMA_SEND,  XIW_RDMA_WRITE };
	struct xiw_rdmap_out out;

	for (uint64_t i = 0; i < DEPTH; i++)
		cr_assert_eq(post(kinds[i], 0, i + 1), 0);
	for (uint64_t i = 0; i < DEPTH; i++) {
		cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
		cr_expect_eq(out.id, i);
		cr_expect_eq(out.tagged, kinds[i] == XIW_RDMA_WRITE);
		cr_expect(!out.tagged || (out.len == i + 1 && out.rsvdulp[0] == 0x40));
	}
}

Test(rdmap_stream, order_and_limit)
{
	struct xiw_rdmap_out out;
	struct xiw_rdmap_op op;

	for (int i = 0; i < 3; i++)
		cr_assert_eq(post(XIW_RDMA_READ, 0, 10), 0);
	cr_assert_eq(post(XIW_RDMA_SEND, 0, 1), 0);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
		xiw_rdmap_sent(&s, out.id, true);
	}
	cr_expect_eq(xiw_rdmap_next(&s, &out), 0);
	cr_expect_eq(in_tagged(0x42, wr, BASE, 10), XIW_RDMAP_HANDLED);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect_eq(out.id, 2);
	xiw_rdmap_sent(&s, out.id, true);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect_eq(out.id, 3);
	xiw_rdmap_sent(&s, out.id, true);
	cr_expect(xiw_rdmap_completed(&s, &op) && op.op.user_data == 0);
	cr_expect(!xiw_rdmap_completed(&s, &op));
	cr_expect_eq(in_tagged(0x42, wr, BASE, 10), XIW_RDMAP_HANDLED);
	cr_expect_eq(in_tagged(0x42, wr, BASE, 10), XIW_RDMAP_HANDLED);
	for (uint64_t i = 1; i < 4; i++)
		cr_expect(xiw_rdmap_completed(&s, &op) && op.op.user_data == i && !op.failed);
	cr_expect(xiw_rdmap_idle(&s));
	/* One octet more than was requested. */
	cr_expect_eq(in_tagged(0x42, wr, BASE, 10), XIW_RDMAP_ERROR);
	expect_failed(XIW_RDMAP_OPCODE, true, false);
}

Test(rdmap_stream, fence)
{
	struct xiw_rdmap_out out;

	cr_assert_eq(post(XIW_RDMA_READ, 0, 10), 0);
	cr_assert_eq(post(XIW_RDMA_WRITE, XIW_RDMA_FENCE, 1), 0);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	xiw_rdmap_sent(&s, out.id, true);
	cr_expect_eq(xiw_rdmap_next(&s, &out), 0);
	cr_expect_eq(in_tagged(0x42, wr, BASE, 10), XIW_RDMAP_HANDLED);
	cr_expect_eq(xiw_rdmap_next(&s, &out), 1);
}

/* RFC 6581 section 9.2: the application does not see the RTR, and no limit applies to it. */
Test(rdmap_stream, ready_to_receive)
{
	struct xiw_rdmap_out out;
	struct xiw_rdmap_op op;
	struct xiw_rdmap_read r;

	xiw_rdmap_limits(&s, 0, 0);
	cr_assert_eq(xiw_rdmap_post_ready(&s), 0);
	cr_expect_eq(xiw_rdmap_post_ready(&s), -EAGAIN);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	xiw_rdmap_read_decode(&r, out.buf);
	cr_expect(out.rsvdulp[0] == 0x41 && out.qn == 1 && !r.size);
	xiw_rdmap_sent(&s, out.id, true);
	cr_expect_eq(in_tagged(0x42, 0, 0, 0), XIW_RDMAP_HANDLED);
	cr_expect(xiw_rdmap_completed(&s, &op) && op.internal);
	cr_expect_eq(s.info.reads_out, 0);
	/* Also the peer's RTR Read, although no Reads were agreed on. */
	cr_expect_eq(in_read(0, 0, 0, 0), XIW_RDMAP_HANDLED);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect_eq(out.rsvdulp[0], 0x42);
}

/* ---- any order of events ------------------------------------------------------------------ */

#define IN_FLIGHT 64

/* Messages that DDP has. It may finish them in any order if some come back. */
static struct {
	uint64_t id[IN_FLIGHT];
	unsigned int n;
} ddp;

static void ddp_done(unsigned int i, bool success)
{
	xiw_rdmap_sent(&s, ddp.id[i], success);
	memmove(&ddp.id[i], &ddp.id[i + 1], (--ddp.n - i) * sizeof(ddp.id[0]));
}

static void random_event(unsigned int *seed, unsigned int *asked)
{
	struct xiw_rdmap_out out;

	switch (rand_r(seed) % 12) {
	case 0:
	case 1:
		post((enum xiw_rdma_kind)(rand_r(seed) % 3), rand_r(seed) % 4 ? 0 : XIW_RDMA_FENCE,
		     10);
		break;
	case 2:
	case 3:
	case 4:
		if (ddp.n < IN_FLIGHT && xiw_rdmap_next(&s, &out) > 0) {
			ddp.id[ddp.n++] = out.id;
			*asked += out.rsvdulp[0] == 0x41;
		}
		break;
	case 5:
	case 6:
	case 7:
		if (ddp.n)
			ddp_done(0, true);
		break;
	case 8:
	case 9:
		if (*asked && in_tagged(0x42, wr, BASE, 10) == XIW_RDMAP_HANDLED)
			--*asked;
		break;
	case 10:
		in_read((uint32_t)rand_r(seed) % 20, rd, BASE, 0);
		break;
	default:
		in_untagged(0x43, 0, NULL, 10, 0, NULL);
	}
}

/* Every posted operation completes once, in order; a failed stream gives its reason; nothing is counted twice. */
Test(rdmap_stream, random)
{
	unsigned int seed = 7, failures = 0;

	for (int run = 0; run < 3000; run++) {
		unsigned int asked = 0, events = (unsigned int)rand_r(&seed) % 300;
		uint64_t completed = 0, posted;
		struct xiw_rdmap_op op;

		ddp.n = 0;
		for (unsigned int i = 0; i < events; i++) {
			random_event(&seed, &asked);
			if (rand_r(&seed) % 500 == 0)
				xiw_ddp_region_invalidate(&table, rd);
			while (xiw_rdmap_completed(&s, &op))
				cr_assert_eq(op.op.user_data, completed++, "seed 7, run %d", run);
			cr_assert_leq(s.reads_out, 2, "seed 7, run %d", run);
			cr_assert_leq(s.answer_tail - s.answer_head, 4, "seed 7, run %d", run);
			cr_assert_eq(s.state == XIW_RDMAP_FAILED, s.info.sent.present,
				     "seed 7, run %d", run);
		}
		failures += s.state == XIW_RDMAP_FAILED;
		posted = s.tail;
		if (rand_r(&seed) % 2)
			xiw_rdmap_peer_gone(&s);
		xiw_rdmap_abandon(&s);
		while (ddp.n)
			ddp_done((unsigned int)rand_r(&seed) % ddp.n, rand_r(&seed) % 2);
		while (xiw_rdmap_completed(&s, &op))
			cr_assert_eq(op.op.user_data, completed++, "seed 7, run %d", run);
		cr_assert_eq(completed, posted, "seed 7, run %d", run);
		cr_assert(xiw_rdmap_idle(&s) && s.answer_head == s.answer_tail, "seed 7, run %d",
			  run);
		rdmap_anew();
	}
	/* The runs had streams that failed and streams that did not. */
	cr_expect(failures > 300 && failures < 2700, "%u", failures);
}
