// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which operation is named as the one that ended the stream, and its cause. */
#include <criterion/criterion.h>
#include <string.h>

#include "ddp/hdr.h"
#include "tests/unit/rdmap_rig.h"

TestSuite(rdmap_cause, .init = rdmap_begin, .fini = rdmap_end);

#define NOBODY UINT64_MAX
#define MSN 0xfffffffe /* of the first message of each queue: they wrap */

static uint32_t next_msn[3];

/* Passes to DDP what the stream has for it. */
static void pass_on(void)
{
	struct xiw_rdmap_out out;

	while (xiw_rdmap_next(&s, &out) == 1)
		if (!out.tagged)
			xiw_rdmap_numbered(&s, out.id, out.qn, MSN + next_msn[out.qn]++);
}

static void posted(enum xiw_rdma_kind kind, uint64_t len)
{
	cr_assert_eq(post(kind, 0, len), 0);
	pass_on();
}

/* 0: Send 0, 1: Write of 16, 2: Read, 3: Send 1, 4: Write of nothing, 5: Read, 6: Send 2 */
static void post_all(void)
{
	memset(next_msn, 0, sizeof(next_msn));
	posted(XIW_RDMA_SEND, 16);
	posted(XIW_RDMA_WRITE, 16);
	posted(XIW_RDMA_READ, 16);
	posted(XIW_RDMA_SEND, 16);
	posted(XIW_RDMA_WRITE, 0);
	posted(XIW_RDMA_READ, 16);
	posted(XIW_RDMA_SEND, 16);
}

struct quoted {
	bool tagged;
	uint8_t control;
	uint32_t stag, qn, msn;
	uint64_t to;
};

static void quote(struct xiw_rdma_terminate_info *t, const struct quoted *q)
{
	const struct xiw_ddp_hdr h = {
		.tagged = q->tagged,
		.dv = 1,
		.rsvdulp = { q->control },
		.stag = q->stag,
		.to = q->to,
		.qn = q->qn,
		.msn = q->msn,
	};

	t->has_ddp_header = t->has_segment_len = true;
	t->segment_len = 100;
	t->ddp_header_len = (uint8_t)xiw_ddp_hdr_encode(&h, t->ddp_header);
}

static void terminate(uint8_t layer, unsigned int error, const struct quoted *q)
{
	struct xiw_rdma_terminate_info t = { .present = true,
					     .layer = layer,
					     .etype = (uint8_t)(error >> 8),
					     .code = (uint8_t)error };
	uint8_t buf[XIW_RDMAP_TERM_MAX];

	if (q)
		quote(&t, q);
	cr_assert_eq(in_untagged(0x47, 2, buf, xiw_rdmap_terminate_encode(&t, buf), 0, NULL),
		     XIW_RDMAP_ENDED);
}

/*
 * All operations end: one with this cause, the others are flushed. `done`: how many DDP has sent by then. If the peer
 * has refused one, TCP had those before it as well, and those behind it fail in any case.
 */
static void expect_cause(uint64_t blamed, enum xiw_cause cause, uint64_t done)
{
	struct xiw_rdmap_op o;
	uint64_t n = 0;

	xiw_rdmap_blame(&s);
	xiw_rdmap_abandon(&s);
	for (uint64_t i = s.head; i != s.tail; i++)
		xiw_rdmap_sent(&s, i, i < done);
	for (; xiw_rdmap_completed(&s, &o); n++) {
		const bool refused = s.state == XIW_RDMAP_TERMINATED && blamed != NOBODY;
		const bool sent = refused ? n < blamed : n < done;

		if (n == blamed)
			cr_expect(o.failed && o.cause == cause, "%lu: %d", (unsigned long)n,
				  o.cause);
		else
			cr_expect_eq(o.cause, XIW_CAUSE_NONE, "%lu: %d", (unsigned long)n, o.cause);
		if (n != blamed)
			cr_expect_eq(o.failed, o.op.kind == XIW_RDMA_READ || !sent, "%lu",
				     (unsigned long)n);
	}
	cr_expect_eq(n, 7);
}

static const struct {
	const char *name;
	uint8_t layer;
	unsigned int error;
	struct quoted q;
	uint64_t blamed;
	enum xiw_cause cause;
} rows[] = {
	{ "a Send without a buffer",
	  1,
	  XIW_DDP_UNTAGGED_NO_BUFFER,
	  { .control = 0x43, .msn = MSN },
	  0,
	  XIW_CAUSE_NOT_READY },
	{ "the second Send",
	  1,
	  XIW_DDP_UNTAGGED_TOO_LONG,
	  { .control = 0x43, .msn = MSN + 1 },
	  3,
	  XIW_CAUSE_REMOTE_INVALID },
	{ "the third Send",
	  0,
	  XIW_RDMAP_CANNOT_INVALIDATE,
	  { .control = 0x44, .msn = 0 },
	  6,
	  XIW_CAUSE_REMOTE_ACCESS },
	{ "a Send that was not sent",
	  1,
	  XIW_DDP_UNTAGGED_NO_BUFFER,
	  { .control = 0x43, .msn = 1 },
	  NOBODY,
	  0 },
	{ "an older Send",
	  1,
	  XIW_DDP_UNTAGGED_NO_BUFFER,
	  { .control = 0x43, .msn = MSN - 1 },
	  NOBODY,
	  0 },
	{ "a Read",
	  0,
	  XIW_RDMAP_BOUNDS,
	  { .control = 0x41, .qn = 1, .msn = MSN },
	  2,
	  XIW_CAUSE_REMOTE_ACCESS },
	{ "the second Read",
	  0,
	  XIW_RDMAP_STREAM,
	  { .control = 0x41, .qn = 1, .msn = MSN + 1 },
	  5,
	  XIW_CAUSE_REMOTE_OPERATION },
	{ "a Read's opcode",
	  0,
	  XIW_RDMAP_OPCODE,
	  { .control = 0x41, .qn = 1, .msn = MSN },
	  2,
	  XIW_CAUSE_REMOTE_INVALID },
	{ "a Write",
	  1,
	  XIW_DDP_TAGGED_STAG,
	  { true, 0x40, 0x99, .to = 0x1000 },
	  1,
	  XIW_CAUSE_REMOTE_ACCESS },
	{ "a Write's last octet",
	  1,
	  XIW_DDP_TAGGED_BOUNDS,
	  { true, 0x40, 0x99, .to = 0x100f },
	  1,
	  XIW_CAUSE_REMOTE_ACCESS },
	{ "behind it", 1, XIW_DDP_TAGGED_BOUNDS, { true, 0x40, 0x99, .to = 0x1010 }, NOBODY, 0 },
	{ "in front of it",
	  1,
	  XIW_DDP_TAGGED_BOUNDS,
	  { true, 0x40, 0x99, .to = 0xfff },
	  NOBODY,
	  0 },
	{ "another STag", 1, XIW_DDP_TAGGED_STAG, { true, 0x40, 0x98, .to = 0x1000 }, NOBODY, 0 },
	{ "our answer to a Read",
	  1,
	  XIW_DDP_TAGGED_STAG,
	  { true, 0x42, 0x99, .to = 0x1000 },
	  NOBODY,
	  0 },
	{ "the version of a Write",
	  1,
	  XIW_DDP_TAGGED_VERSION,
	  { true, 0x40, 0x99, .to = 0x1000 },
	  1,
	  XIW_CAUSE_REMOTE_INVALID },
	{ "a queue that is not",
	  1,
	  XIW_DDP_UNTAGGED_QN,
	  { .control = 0x43, .qn = 7, .msn = MSN },
	  NOBODY,
	  0 },
};

Test(rdmap_cause, the_operation_that_the_peer_names)
{
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		/* TCP has said nothing yet, or has all of them. */
		const uint64_t done = i % 2 ? 7 : 0;

		rdmap_anew();
		post_all();
		for (uint64_t n = 0; n < done; n++)
			xiw_rdmap_sent(&s, n, true);
		terminate(rows[i / 2].layer, rows[i / 2].error, &rows[i / 2].q);
		cr_log_info("%s", rows[i / 2].name);
		expect_cause(rows[i / 2].blamed, rows[i / 2].cause, done);
	}
}

/* The Send is sent, but its completion waits for that of the Read before it. */
Test(rdmap_cause, one_that_was_sent_already)
{
	post_all();
	xiw_rdmap_sent(&s, 0, true);
	xiw_rdmap_sent(&s, 3, true);
	terminate(1, XIW_DDP_UNTAGGED_NO_BUFFER,
		  &(struct quoted){ .control = 0x43, .msn = MSN + 1 });
	expect_cause(3, XIW_CAUSE_NOT_READY, 4);
}

/* The application knows of one operation, whose completion is that of the Immediate Data. */
Test(rdmap_cause, a_write_with_immediate_data)
{
	const struct xiw_rdmap_opts extended = { .table = &table,
						 .pd = PD,
						 .stream = STREAM,
						 .depth = DEPTH,
						 .ird_max = 2,
						 .extended = true };
	struct xiw_rdmap_op o;

	xiw_rdmap_free(&s);
	cr_assert_eq(xiw_rdmap_init(&s, &extended), 0);
	xiw_rdmap_limits(&s, 2, 2);
	posted(XIW_RDMA_WRITE_IMMEDIATE, 16);
	terminate(1, XIW_DDP_TAGGED_STAG, &(struct quoted){ true, 0x40, 0x99, .to = 0x1000 });
	xiw_rdmap_blame(&s);
	xiw_rdmap_abandon(&s);
	xiw_rdmap_sent(&s, 0, true);
	xiw_rdmap_sent(&s, 1, true);
	cr_assert(xiw_rdmap_completed(&s, &o) && o.internal);
	cr_assert(xiw_rdmap_completed(&s, &o));
	cr_expect(!o.internal && o.failed && o.cause == XIW_CAUSE_REMOTE_ACCESS, "%d", o.cause);
}

/* Queue and number of an operation without a message are 0, as those of the third Send are here. */
Test(rdmap_cause, none_that_has_no_message)
{
	const struct xiw_rdma_work change = { .size = sizeof(change),
					      .kind = XIW_RDMA_LOCAL_INVALIDATE };
	struct xiw_rdmap_op o;

	for (int i = 0; i < 2; i++) {
		rdmap_anew();
		memset(next_msn, 0, sizeof(next_msn));
		/* The first one is not complete, so the others wait. */
		posted(XIW_RDMA_SEND, 16);
		if (i) {
			cr_assert_eq(post(XIW_RDMA_READ, 0, 16), 0);
			xiw_rdmap_peer_gone(&s);
		} else {
			cr_assert_eq(xiw_rdmap_post_change(&s, &change,
							   xiw_ddp_region_lookup(&table, bound), 0),
				     0);
		}
		pass_on();
		posted(XIW_RDMA_SEND, 16);
		posted(XIW_RDMA_SEND, 16);
		terminate(1, XIW_DDP_UNTAGGED_NO_BUFFER,
			  &(struct quoted){ .control = 0x43, .msn = 0 });
		xiw_rdmap_blame(&s);
		xiw_rdmap_abandon(&s);
		for (uint64_t n = s.head; n != s.tail; n++) {
			if (n != 1)
				xiw_rdmap_sent(&s, n, n != 3);
		}
		for (int n = 0; n < 4; n++) {
			cr_assert(xiw_rdmap_completed(&s, &o));
			cr_expect_eq(o.cause, n == 3 ? XIW_CAUSE_NOT_READY : XIW_CAUSE_NONE,
				     "%d %d: %d", i, n, o.cause);
		}
	}
}

Test(rdmap_cause, nobody_without_a_header)
{
	post_all();
	terminate(0, XIW_RDMAP_BOUNDS, NULL);
	expect_cause(NOBODY, 0, 0);
	rdmap_anew();
	post_all();
	terminate(2, XIW_MPA_ERR_CRC, NULL);
	expect_cause(NOBODY, 0, 0);
}

Test(rdmap_cause, nobody_if_it_just_ends)
{
	post_all();
	expect_cause(NOBODY, 0, 0);
}

static void refuse_answer(enum xiw_ddp_error ddp, uint8_t control)
{
	const struct quoted q = { true, control, wr, .to = BASE };
	struct xiw_rdma_terminate_info t = {};

	quote(&t, &q);
	if (ddp)
		xiw_rdmap_lower_failed(&s, 0, ddp, t.ddp_header, t.ddp_header_len, 100);
	else
		xiw_rdmap_fail(&s, XIW_RDMAP_STREAM, t.ddp_header, t.ddp_header_len, 100, NULL);
}

Test(rdmap_cause, the_read_whose_answer_is_wrong)
{
	post_all();
	refuse_answer(0, 0x42);
	expect_cause(2, XIW_CAUSE_BAD_RESPONSE, 0);
	rdmap_anew();
	post_all();
	refuse_answer(XIW_DDP_TAGGED_STAG, 0x42);
	expect_cause(2, XIW_CAUSE_LOCAL_PROTECTION, 0);
}

Test(rdmap_cause, no_operation_of_ours_if_a_write_of_the_peer_is_wrong)
{
	post_all();
	refuse_answer(XIW_DDP_TAGGED_STAG, 0x40);
	expect_cause(NOBODY, 0, 0);
}

Test(rdmap_cause, names)
{
	for (int i = 0; i < XIW_CAUSE_MAX; i++)
		for (int k = 0; k < i; k++)
			cr_expect_str_neq(xiw_cause_name(i), xiw_cause_name(k));
	for (int i = 0; i < XIW_OPERATION_MAX; i++)
		for (int k = 0; k < i; k++)
			cr_expect_str_neq(xiw_operation_name(i), xiw_operation_name(k));
	cr_expect_str_eq(xiw_cause_name(99), "unknown cause");
	cr_expect_str_eq(xiw_operation_name(99), "unknown operation");
}
