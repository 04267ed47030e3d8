/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Placement and Delivery, case by case: RFC 5041 sections 5 and 7. */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/unit/ddp_rig.h"

static struct xiw_ddp_hdr version(struct xiw_ddp_hdr h, uint8_t dv)
{
	h.dv = dv;
	return h;
}

TestSuite(ddp_recv, .init = ddp_begin, .fini = ddp_end);

Test(ddp_recv, creation)
{
	struct xiw_ddp_rx_opts ok = { .table = &ddp_table, .pd = PD, .stream = STREAM, .depth = 1 };
	struct xiw_ddp_rx_opts o;
	struct xiw_ddp_rx *r;

	o = ok, o.table = NULL;
	cr_expect_eq(xiw_ddp_rx_create(&r, &o), -EINVAL);
	o = ok, o.depth = 0;
	cr_expect_eq(xiw_ddp_rx_create(&r, &o), -EINVAL);
	o = ok, o.depth = XIW_DDP_MAX_DEPTH + 1;
	cr_expect_eq(xiw_ddp_rx_create(&r, &o), -EINVAL);
	o = ok, o.nqueues = XIW_DDP_MAX_QUEUES + 1;
	cr_expect_eq(xiw_ddp_rx_create(&r, &o), -EINVAL);
	o = ok, o.stream = XIW_DDP_ANY_STREAM;
	cr_expect_eq(xiw_ddp_rx_create(&r, &o), -EINVAL);
	cr_expect_eq(rx->nqueues, XIW_DDP_DEFAULT_QUEUES);
}

/* Every error of section 7.2 that Placement finds. One buffer is posted to queue 0, two to 1. */
Test(ddp_recv, errors)
{
	enum { RDONLY = 0x2000, ALIEN = 0x3000, BOUND = 0x4000, MINE = 0x5000, TOP = 0x6000 };
	const uint64_t top = UINT64_MAX - LEN;
	struct {
		const char *name;
		struct xiw_ddp_hdr h;
		uint32_t len;
		enum xiw_ddp_error want;
	} cases[] = {
		{ "first octet", tagged(STAG, BASE, true), 1, XIW_DDP_OK },
		{ "all", tagged(STAG, BASE, true), LEN, XIW_DDP_OK },
		{ "last octet", tagged(STAG, BASE + LEN - 1, true), 1, XIW_DDP_OK },
		{ "below", tagged(STAG, BASE - 1, true), 1, XIW_DDP_TAGGED_BOUNDS },
		{ "far below", tagged(STAG, 0, true), 1, XIW_DDP_TAGGED_BOUNDS },
		{ "at the end", tagged(STAG, BASE + LEN, true), 1, XIW_DDP_TAGGED_BOUNDS },
		{ "one past", tagged(STAG, BASE + 1, true), LEN, XIW_DDP_TAGGED_BOUNDS },
		{ "too long", tagged(STAG, BASE, true), LEN + 1, XIW_DDP_TAGGED_BOUNDS },
		{ "no STag", tagged(STAG + 1, BASE, true), 1, XIW_DDP_TAGGED_STAG },
		{ "no STag 0", tagged(0, BASE, true), 1, XIW_DDP_TAGGED_STAG },
		{ "no right", tagged(RDONLY, BASE, true), 1, XIW_DDP_TAGGED_STAG },
		{ "other PD", tagged(ALIEN, BASE, true), 1, XIW_DDP_TAGGED_NOT_STREAM },
		{ "other stream", tagged(BOUND, BASE, true), 1, XIW_DDP_TAGGED_NOT_STREAM },
		{ "own stream", tagged(MINE, BASE, true), 1, XIW_DDP_OK },
		{ "highest TO", tagged(TOP, UINT64_MAX - 1, true), 1, XIW_DDP_OK },
		{ "sum is 2^64", tagged(TOP, UINT64_MAX - 1, true), 2, XIW_DDP_TAGGED_TO_WRAP },
		{ "wrap", tagged(STAG, UINT64_MAX - 3, true), 1400, XIW_DDP_TAGGED_TO_WRAP },
		{ "DV 2", version(tagged(STAG, BASE, true), 2), 1, XIW_DDP_TAGGED_VERSION },
		{ "DV 0", version(tagged(0, 0, true), 0), 0, XIW_DDP_TAGGED_VERSION },
		{ "no payload, no STag", tagged(99, UINT64_MAX, true), 0, XIW_DDP_OK },

		{ "first octet", untagged(0, 1, 0, true), 1, XIW_DDP_OK },
		{ "all", untagged(0, 1, 0, true), BUF, XIW_DDP_OK },
		{ "last octet", untagged(0, 1, BUF - 1, true), 1, XIW_DDP_OK },
		{ "next buffer", untagged(1, 2, 0, true), 1, XIW_DDP_OK },
		{ "QN", untagged(3, 1, 0, true), 1, XIW_DDP_UNTAGGED_QN },
		{ "QN -1", untagged(UINT32_MAX, 1, 0, true), 1, XIW_DDP_UNTAGGED_QN },
		{ "none posted", untagged(2, 1, 0, true), 1, XIW_DDP_UNTAGGED_NO_BUFFER },
		{ "not yet", untagged(0, 2, 0, true), 1, XIW_DDP_UNTAGGED_NO_BUFFER },
		{ "last possible", untagged(0, DEPTH, 0, true), 1, XIW_DDP_UNTAGGED_NO_BUFFER },
		{ "never", untagged(0, DEPTH + 1, 0, true), 1, XIW_DDP_UNTAGGED_MSN_RANGE },
		{ "MSN behind", untagged(0, 0, 0, true), 1, XIW_DDP_UNTAGGED_MSN_RANGE },
		{ "MO at the end", untagged(0, 1, BUF, true), 1, XIW_DDP_UNTAGGED_MO },
		{ "MO beyond", untagged(0, 1, BUF + 1, true), 0, XIW_DDP_UNTAGGED_MO },
		{ "MO -1", untagged(0, 1, UINT32_MAX, true), 1, XIW_DDP_UNTAGGED_MO },
		{ "one past", untagged(0, 1, 1, true), BUF, XIW_DDP_UNTAGGED_TOO_LONG },
		{ "sum wraps", untagged(0, 1, 1, true), UINT32_MAX, XIW_DDP_UNTAGGED_TOO_LONG },
		{ "DV 2", version(untagged(0, 1, 0, true), 2), 1, XIW_DDP_UNTAGGED_VERSION },
		{ "DV 3", version(untagged(0, 1, 0, true), 3), 0, XIW_DDP_UNTAGGED_VERSION },
		{ "no payload at the end", untagged(0, 1, BUF, true), 0, XIW_DDP_OK },
	};
	const int w = XIW_DDP_REMOTE_WRITE;

	region_add(RDONLY, PD, XIW_DDP_ANY_STREAM, XIW_DDP_REMOTE_READ, BASE, other);
	region_add(ALIEN, PD + 1, XIW_DDP_ANY_STREAM, w, BASE, other);
	region_add(BOUND, PD, STREAM + 1, w, BASE, other);
	region_add(MINE, PD, STREAM, w, BASE, other);
	region_add(TOP, PD, XIW_DDP_ANY_STREAM, w, top, other);
	post_buf(0, 0);
	post_buf(1, 1);
	post_buf(1, 2);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct xiw_ddp_hdr *h = &cases[i].h;
		struct xiw_ddp_place p;

		cr_expect_eq(xiw_ddp_rx_place(rx, h, cases[i].len, &p), cases[i].want, "%s (%s)",
			     cases[i].name, h->tagged ? "tagged" : "untagged");
		cr_expect_eq(p.dst != NULL, !cases[i].want && cases[i].len, "%s", cases[i].name);
		cr_expect_not(p.predicted, "%s", cases[i].name);
	}
	cr_expect_eq(rx->error, XIW_DDP_OK, "an unverified header does not fail the stream");
}

Test(ddp_recv, stag_0_and_all_ones)
{
	static const uint32_t stags[] = { 0, 0xffffffff };
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	for (int i = 0; i < 2; i++) {
		cr_assert_eq(receive(tagged(stags[i], 7, true), 1, &p, &m), XIW_DDP_TAGGED_STAG);
		region_add(stags[i], PD, STREAM, XIW_DDP_REMOTE_WRITE, 0, other);
		cr_assert_eq(receive(tagged(stags[i], 7, true), 1, &p, &m), XIW_DDP_OK);
		cr_expect_eq(p.dst, other + 7);
		cr_expect(m.complete && m.tagged && m.stag == stags[i] && m.len == 1);
	}
}

Test(ddp_recv, tagged_message)
{
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	cr_assert_eq(receive(tagged(STAG, BASE + 10, false), 20, &p, &m), XIW_DDP_OK);
	cr_expect(p.dst == mem + 10 && !p.predicted && !m.complete);
	cr_assert_eq(receive(tagged(STAG, BASE + 30, false), 20, &p, &m), XIW_DDP_OK);
	cr_expect(p.dst == mem + 30 && p.predicted && !m.complete);
	cr_assert_eq(receive(tagged(STAG, BASE + 50, true), 5, &p, &m), XIW_DDP_OK);
	cr_expect(p.dst == mem + 50 && p.predicted && m.complete);
	cr_expect(m.tagged && m.stag == STAG && m.contiguous && m.len == 45);
	cr_expect(m.to == BASE + 10 && m.to_end == BASE + 55 && m.rsvdulp[0] == 0x42);
	/* It was the last segment: the next one begins another message. */
	cr_assert_eq(receive(tagged(STAG, BASE + 55, true), 5, &p, &m), XIW_DDP_OK);
	cr_expect(p.dst == mem + 55 && !p.predicted && m.complete && m.len == 5);

	/* Not in increasing TO order (section 5.3: only SHOULD): the message's first TO is not known. */
	cr_assert_eq(receive(tagged(STAG, BASE + 40, false), 20, &p, &m), XIW_DDP_OK);
	cr_assert_eq(receive(tagged(STAG, BASE + 20, true), 20, &p, &m), XIW_DDP_OK);
	cr_expect(!p.predicted && m.complete && m.len == 40 && !m.contiguous);
}

/* The STag is given to another region within a message, whose octets are then in two places. */
Test(ddp_recv, region_replaced_in_a_message)
{
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	cr_assert_eq(receive(tagged(STAG, BASE, false), 10, &p, &m), XIW_DDP_OK);
	cr_expect_eq(p.dst, mem);
	cr_assert_eq(xiw_ddp_region_invalidate(&ddp_table, STAG), 0);
	cr_expect_eq(receive(tagged(STAG, BASE + 10, false), 0, &p, &m), XIW_DDP_OK);
	region_add(STAG, PD, STREAM, XIW_DDP_REMOTE_WRITE, BASE, other);
	cr_assert_eq(receive(tagged(STAG, BASE + 10, true), 10, &p, &m), XIW_DDP_OK);
	cr_expect_eq(p.dst, other + 10);
	cr_expect(m.complete && m.len == 20 && !m.contiguous);
	cr_assert_eq(receive(tagged(STAG, BASE + 20, true), 10, &p, &m), XIW_DDP_OK);
	cr_expect(m.complete && m.len == 10 && m.contiguous && m.to == BASE + 20);
}

Test(ddp_recv, zero_length)
{
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	cr_assert_eq(receive(tagged(0x99, 77, true), 0, &p, &m), XIW_DDP_OK);
	cr_expect(m.complete && m.tagged && m.len == 0 && m.stag == 0x99 && !m.contiguous);
	cr_expect(!p.dst && !p.predicted);

	/* A message whose last segment has no payload; the STag field there has no meaning. */
	cr_assert_eq(receive(tagged(STAG, BASE, false), 8, &p, &m), XIW_DDP_OK);
	cr_assert_eq(receive(tagged(0, 0, false), 0, &p, &m), XIW_DDP_OK);
	cr_assert_eq(receive(tagged(STAG, BASE + 8, false), 8, &p, &m), XIW_DDP_OK);
	cr_expect(p.predicted);
	cr_assert_eq(receive(tagged(0, 0, true), 0, &p, &m), XIW_DDP_OK);
	cr_expect(m.complete && m.len == 16 && m.stag == STAG && m.contiguous && m.to == BASE);

	/* An Untagged message takes a buffer even if it has no octets. */
	cr_assert_eq(receive(untagged(0, 1, 0, true), 0, &p, &m), XIW_DDP_UNTAGGED_NO_BUFFER);
	cr_assert_eq(xiw_ddp_rx_post(rx, 0, NULL, 0, 7), 0);
	cr_assert_eq(receive(untagged(0, 1, 0, true), 0, &p, &m), XIW_DDP_OK);
	cr_expect(m.complete && !m.tagged && m.len == 0 && m.msn == 1 && m.buf.user_data == 7);
	cr_expect(!p.dst);
}

Test(ddp_recv, untagged_message)
{
	static const uint8_t ulp[5] = { 1, 2, 3, 4, 5 };
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	post_buf(2, 0);
	post_buf(2, 1);
	cr_assert_eq(receive(untagged(2, 1, 0, false), 30, &p, &m), XIW_DDP_OK);
	cr_expect(p.dst == bufs[0] && !p.predicted && !m.complete);
	cr_assert_eq(receive(untagged(2, 1, 30, true), 12, &p, &m), XIW_DDP_OK);
	cr_expect(p.dst == bufs[0] + 30 && p.predicted && m.complete && !m.tagged);
	cr_expect(m.qn == 2 && m.msn == 1 && m.len == 42);
	cr_expect(m.buf.base == bufs[0] && m.buf.len == BUF && m.buf.user_data == 100);
	cr_expect_arr_eq(m.rsvdulp, ulp, 5);
	cr_expect_eq(receive(untagged(2, 1, 0, true), 1, &p, &m), XIW_DDP_UNTAGGED_MSN_RANGE);
	cr_assert_eq(receive(untagged(2, 2, 0, true), BUF, &p, &m), XIW_DDP_OK);
	cr_expect(p.dst == bufs[1] && !p.predicted && m.complete && m.len == BUF);
	cr_expect_eq(receive(untagged(2, 3, 0, true), 1, &p, &m), XIW_DDP_UNTAGGED_NO_BUFFER);
}

/* Section 4.3: 0 follows 0xFFFFFFFF. */
/* Only the next message of a queue can wait for a buffer; all others without one are errors for good. */
Test(ddp_recv, lacks_buffer)
{
	struct xiw_ddp_hdr h = untagged(0, 1, 0, true), t = tagged(STAG, BASE, true);
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	cr_assert(xiw_ddp_rx_lacks_buffer(rx, &h));
	cr_assert_eq(xiw_ddp_rx_place(rx, &h, 1, &p), XIW_DDP_UNTAGGED_NO_BUFFER);
	cr_assert(!xiw_ddp_rx_lacks_buffer(rx, &t));
	h.msn = 2;
	cr_assert(!xiw_ddp_rx_lacks_buffer(rx, &h));
	h.msn = 0;
	cr_assert(!xiw_ddp_rx_lacks_buffer(rx, &h));
	h.msn = 1;
	h.qn = rx->nqueues;
	cr_assert(!xiw_ddp_rx_lacks_buffer(rx, &h));
	h.qn = 0;
	post_buf(0, 0);
	cr_assert(!xiw_ddp_rx_lacks_buffer(rx, &h));
	cr_assert_eq(receive(h, 1, &p, &m), XIW_DDP_OK);
	cr_assert(!xiw_ddp_rx_lacks_buffer(rx, &h));
	h.msn = 2;
	cr_assert(xiw_ddp_rx_lacks_buffer(rx, &h));
	xiw_ddp_rx_fail(rx, XIW_DDP_UNTAGGED_MO);
	cr_assert(!xiw_ddp_rx_lacks_buffer(rx, &h));
}

Test(ddp_recv, msn_wrap)
{
	static const uint32_t msn[] = { 0xfffffffe, 0xffffffff, 0, 1 };
	struct xiw_ddp_hdr h = untagged(0, 0, 0, true);
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	rx->queues[0].next_msn = 0xfffffffe;
	for (int i = 0; i < DEPTH; i++)
		post_buf(0, i);
	cr_expect_eq(xiw_ddp_rx_place(rx, &h, 1, &p), XIW_DDP_OK);
	cr_expect_eq(p.dst, bufs[2], "placed across the wrap");
	h.msn = 0xfffffffd;
	cr_expect_eq(xiw_ddp_rx_place(rx, &h, 1, &p), XIW_DDP_UNTAGGED_MSN_RANGE);
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(receive(untagged(0, msn[i], 0, true), 1, &p, &m), XIW_DDP_OK);
		cr_expect(m.complete && m.msn == msn[i] && m.buf.base == bufs[i]);
	}
	cr_expect_eq(rx->queues[0].next_msn, 2);
}

/* A buffer of 2^32 - 1 octets; only its address is used. */
Test(ddp_recv, longest_message)
{
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	cr_assert_eq(xiw_ddp_rx_post(rx, 0, mem, UINT32_MAX, 0), 0);
	cr_expect_eq(receive(untagged(0, 1, UINT32_MAX, true), 1, &p, &m), XIW_DDP_UNTAGGED_MO);
	cr_expect_eq(receive(untagged(0, 1, UINT32_MAX - 1, true), 2, &p, &m),
		     XIW_DDP_UNTAGGED_TOO_LONG);
	rx->queues[0].extent = UINT32_MAX - 9;
	cr_assert_eq(receive(untagged(0, 1, UINT32_MAX - 9, true), 9, &p, &m), XIW_DDP_OK);
	cr_expect_eq(m.len, UINT32_MAX);
}

Test(ddp_recv, early_placement_then_delivery)
{
	struct xiw_ddp_hdr h[] = {
		untagged(0, 1, 0, false),      untagged(0, 1, 10, true), tagged(STAG, BASE, false),
		tagged(STAG, BASE + 10, true), untagged(0, 2, 0, true),
	};
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	post_buf(0, 0);
	post_buf(0, 1);
	for (int i = 4; i >= 0; i--) {
		cr_assert_eq(xiw_ddp_rx_place(rx, &h[i], 10, &p), XIW_DDP_OK);
		cr_expect(p.dst && !p.predicted);
	}
	for (int i = 0; i < 5; i++) {
		cr_assert_eq(xiw_ddp_rx_deliver(rx, &h[i], 10, &m), XIW_DDP_OK);
		cr_expect_eq(m.complete, h[i].last);
		cr_expect(!m.complete || m.len == (i == 4 ? 10 : 20));
	}
}

/* A message is delivered before the previous one has ended. */
Test(ddp_recv, msn_skipped)
{
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	post_buf(0, 0);
	post_buf(0, 1);
	cr_assert_eq(receive(untagged(0, 1, 0, false), 5, &p, &m), XIW_DDP_OK);
	cr_expect_eq(receive(untagged(0, 2, 0, true), 5, &p, &m), XIW_DDP_UNTAGGED_MSN_RANGE);
	cr_expect_not(m.complete);
	/* Section 7.1: everything after the error is dropped. */
	cr_expect_eq(receive(untagged(0, 1, 5, true), 5, &p, &m), XIW_DDP_UNTAGGED_MSN_RANGE);
	cr_expect_eq(receive(tagged(STAG, BASE, true), 5, &p, &m), XIW_DDP_UNTAGGED_MSN_RANGE);
	cr_expect_null(p.dst);
	cr_expect_eq(xiw_ddp_rx_post(rx, 0, bufs[2], BUF, 0), -ESHUTDOWN);
}

/* Section 5.3: segments come in order. What a message has not brought must not pass for its octets. */
Test(ddp_recv, message_with_a_hole)
{
	static const uint32_t mo[] = { 0, 5, 9, 11, 50 }; /* behind ten octets */
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	for (size_t i = 0; i < sizeof(mo) / sizeof(mo[0]); i++) {
		for (int last = 0; last < 2; last++) {
			rx->error = XIW_DDP_OK;
			rx->queues[0].extent = 0;
			rx->queues[0].next_msn = 1;
			rx->queues[0].head = rx->queues[0].count = 0;
			post_buf(0, 0);
			cr_assert_eq(receive(untagged(0, 1, 0, false), 10, &p, &m), XIW_DDP_OK);
			cr_expect_eq(receive(untagged(0, 1, mo[i], last), 10, &p, &m),
				     XIW_DDP_UNTAGGED_MO);
			cr_expect_not(m.complete);
		}
	}
}

Test(ddp_recv, message_without_its_begin)
{
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	post_buf(0, 0);
	cr_expect_eq(receive(untagged(0, 1, BUF - 1, true), 1, &p, &m), XIW_DDP_UNTAGGED_MO);
	cr_expect_not(m.complete);
}

Test(ddp_recv, post_and_flush)
{
	struct xiw_ddp_buf b;
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;
	uint32_t qn;

	cr_expect_eq(xiw_ddp_rx_post(rx, 3, bufs[0], BUF, 0), -EINVAL);
	cr_expect_eq(xiw_ddp_rx_post(rx, 0, NULL, BUF, 0), -EINVAL);
	for (int i = 0; i < DEPTH; i++)
		post_buf(0, i);
	cr_expect_eq(xiw_ddp_rx_post(rx, 0, bufs[0], BUF, 0), -EAGAIN);
	post_buf(2, 1);
	cr_assert_eq(receive(untagged(0, 1, 0, true), 5, &p, &m), XIW_DDP_OK);
	post_buf(0, 0);
	for (int i = 1; i <= DEPTH; i++) {
		cr_assert(xiw_ddp_rx_flush(rx, &qn, &b));
		cr_expect(qn == 0 && b.user_data == 100 + i % DEPTH && b.base == bufs[i % DEPTH]);
	}
	cr_assert(xiw_ddp_rx_flush(rx, &qn, &b));
	cr_expect(qn == 2 && b.user_data == 101);
	cr_expect_not(xiw_ddp_rx_flush(rx, &qn, &b));
	cr_expect_eq(receive(tagged(STAG, BASE, true), 5, &p, &m), XIW_DDP_LOCAL_CATASTROPHIC);
}

/* A queue that is added later begins with its first message, and the others keep what they have. */
Test(ddp_recv, queue_added)
{
	const uint32_t n = XIW_DDP_DEFAULT_QUEUES;
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	for (int i = 0; i < DEPTH; i++)
		post_buf(n - 1, i);
	cr_expect_eq(receive(untagged(n, 1, 0, true), 1, &p, &m), XIW_DDP_UNTAGGED_QN);
	ddp_end();
	ddp_begin();
	for (int i = 0; i < DEPTH; i++)
		post_buf(n - 1, i);
	cr_assert_eq(xiw_ddp_rx_add_queue(rx, 0), 0);
	cr_expect_eq(rx->nqueues, n + 1);
	post_buf(n, 2);
	cr_expect_eq(receive(untagged(n, 1, 0, true), 7, &p, &m), XIW_DDP_OK);
	cr_expect(m.complete && m.qn == n && m.buf.user_data == 102 && p.dst == bufs[2]);
	for (uint32_t i = 0; i < DEPTH; i++) {
		cr_expect_eq(receive(untagged(n - 1, i + 1, 0, true), 9, &p, &m), XIW_DDP_OK);
		cr_expect(m.complete && m.buf.user_data == 100 + i);
	}
	cr_expect_eq(receive(untagged(n + 1, 1, 0, true), 1, &p, &m), XIW_DDP_UNTAGGED_QN);
}

/* A queue has memory for what was posted, not for its depth, and a refused post takes none. */
Test(ddp_recv, queues_grow_up_to_their_depth)
{
	const struct xiw_ddp_rx_opts o = { .table = &ddp_table, .stream = STREAM, .depth = 1000 };
	struct xiw_ddp_buf buf;
	size_t all = 0, growth;
	struct xiw_ddp_rx *r;
	uint32_t qn;

	cr_assert_eq(xiw_ddp_rx_create(&r, &o), 0);
	cr_expect_lt(xiw_ddp_rx_size(&o), 512);
	for (uint64_t i = 0; i < 1000; i++) {
		growth = xiw_ddp_rx_growth(r, 1, 1);
		all += growth;
		cr_assert_leq(growth, (i + 4) * sizeof(buf));
		cr_assert_eq(xiw_ddp_rx_post(r, 1, NULL, 0, i), 0);
	}
	cr_expect_eq(all, 1024 * sizeof(buf));
	cr_expect_eq(xiw_ddp_rx_growth(r, 1, 1), 0);
	cr_expect_eq(xiw_ddp_rx_post(r, 1, NULL, 0, 0), -EAGAIN);
	cr_expect_eq(xiw_ddp_rx_growth(r, 2, 20), 32 * sizeof(buf));
	cr_expect_eq(xiw_ddp_rx_reserve(r, 2, 20), 0);
	cr_expect_eq(xiw_ddp_rx_growth(r, 2, 32), 0);
	cr_expect_eq(xiw_ddp_rx_growth(r, 2, 5000), (1024 - 32) * sizeof(buf));
	cr_expect_eq(xiw_ddp_rx_growth(r, 3, 1), 0);
	for (uint64_t i = 0; i < 1000; i++) {
		cr_assert(xiw_ddp_rx_flush(r, &qn, &buf));
		cr_assert(qn == 1 && buf.user_data == i);
	}
	cr_expect_not(xiw_ddp_rx_flush(r, &qn, &buf));
	xiw_ddp_rx_free(r);
}

Test(ddp_recv, peek_in_pieces)
{
	struct xiw_ddp_piece pieces[] = { { mem, 3 }, { mem + 10, 1 }, { mem + 20, 50 } };
	const struct xiw_ddp_buf scattered = { .base = (void *)pieces, .len = 54, .npieces = 3 };
	const struct xiw_ddp_buf whole = { .base = mem, .len = 8 };
	uint8_t got[8];

	for (int i = 0; i < 60; i++)
		mem[i] = (uint8_t)i;
	xiw_ddp_buf_read(&scattered, got, 8);
	cr_expect_arr_eq(got, ((const uint8_t[]){ 0, 1, 2, 10, 20, 21, 22, 23 }), 8);
	xiw_ddp_buf_read(&whole, got, 8);
	cr_expect_arr_eq(got, mem, 8);
}
