// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Buffers of registered memory whose region goes while they are posted. */
#include <criterion/criterion.h>
#include <string.h>

#include "ddp/revoke.h"
#include "tests/unit/ddp_rig.h"

TestSuite(ddp_revoke, .init = ddp_begin, .fini = ddp_end);

enum { OTHER_STAG = 0x2000, SINK_STAG = 0x3000 };

static void post(int i, uint32_t npieces, bool registered)
{
	static struct xiw_ddp_piece pieces[DEPTH][2];
	struct xiw_ddp_buf b = { .base = bufs[i], .len = BUF, .user_data = 100 + (uint64_t)i };

	if (npieces) {
		pieces[i][0] = (struct xiw_ddp_piece){ bufs[i], BUF / 2 };
		pieces[i][1] = (struct xiw_ddp_piece){ bufs[i] + BUF / 2, BUF / 2 };
		b = xiw_ddp_buf_of(pieces[i], npieces, 100 + (uint64_t)i);
	}
	b.registered = registered;
	cr_assert_eq(xiw_ddp_rx_post_buf(rx, 0, &b), 0);
}

static void add(uint32_t stag, uint8_t *ptr, uint64_t len, uint32_t access)
{
	const struct xiw_ddp_region_opts o = {
		.ptr = ptr, .len = len, .access = access, .fixed = true, .stag = stag
	};

	cr_assert_eq(xiw_ddp_region_register(&ddp_table, &o, &stag), 0);
}

static struct xiw_ddp_gone gone(const void *ptr, uint64_t len)
{
	return (struct xiw_ddp_gone){ &ddp_table, (uintptr_t)ptr, len, NULL };
}

static void revoke(const void *ptr, uint64_t len)
{
	struct xiw_ddp_gone g = gone(ptr, len);

	xiw_ddp_rx_revoke(rx, &g);
}

static enum xiw_ddp_error message(uint32_t msn, uint32_t len, struct xiw_ddp_msg *m)
{
	struct xiw_ddp_place p;

	return receive(untagged(0, msn, 0, true), len, &p, m);
}

/* In one piece and in two, wherever the memory that goes begins and ends; what was not promised stays. */
Test(ddp_revoke, what_has_an_octet_of_it)
{
	static const struct {
		int from, len; /* from the buffer's begin on */
		bool hit;
	} cases[] = {
		{ -10, 10, false }, { -10, 11, true },	{ 0, BUF, true },     { BUF - 1, 5, true },
		{ BUF, 5, false },  { -10, 500, true }, { BUF / 2, 1, true },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		const uint8_t *from = bufs[1] + cases[i / 2].from;

		ddp_end();
		ddp_begin();
		post(0, 0, false);
		post(1, i % 2 ? 2 : 0, true);
		revoke(from, (uint64_t)cases[i / 2].len);
		cr_expect_eq(rx->queues[0].ring[1].revoked, cases[i / 2].hit, "%zu", i);
		cr_expect_eq(rx->queues[0].ring[1].len, cases[i / 2].hit ? 0 : BUF, "%zu", i);
		cr_expect_eq(rx->queues[0].ring[1].user_data, 101);
		cr_expect(!rx->queues[0].ring[0].revoked);
	}
}

/* A region that takes payload keeps it; a region that is only read, of others' Reads, or too short does not. */
Test(ddp_revoke, what_another_region_has)
{
	static const struct {
		uint32_t access;
		uint32_t len;
		bool keeps;
	} cases[] = {
		{ XIW_DDP_SINK, BUF, true },
		{ XIW_DDP_REMOTE_WRITE, BUF, true },
		{ XIW_DDP_REMOTE_READ, BUF, false },
		{ XIW_DDP_SINK, BUF - 1, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ddp_end();
		ddp_begin();
		add(OTHER_STAG, bufs[0], cases[i].len, cases[i].access);
		post(0, 0, true);
		revoke(bufs[0], BUF);
		cr_expect_eq(!rx->queues[0].ring[0].revoked, cases[i].keeps, "%zu", i);
	}
}

/* Payload ends the stream; a message of none takes the buffer, as any. */
Test(ddp_revoke, what_comes_for_it)
{
	struct xiw_ddp_msg m;

	post(0, 0, true);
	post(1, 2, true);
	revoke(bufs, sizeof(bufs));
	cr_assert_eq(message(1, 0, &m), XIW_DDP_OK);
	cr_assert(m.complete && m.buf.user_data == 100 && !m.len);
	cr_assert_eq(message(2, 1, &m), XIW_DDP_LOCAL_CATASTROPHIC);
}

/* In the middle of a message: neither the predicted segment nor an empty last one is delivered. */
Test(ddp_revoke, in_a_message)
{
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	for (uint32_t len = 0; len < 2; len++) {
		ddp_end();
		ddp_begin();
		post(0, 0, true);
		cr_assert_eq(receive(untagged(0, 1, 0, false), 10, &p, &m), XIW_DDP_OK);
		revoke(bufs[0], BUF);
		cr_assert_eq(receive(untagged(0, 1, 10, true), len, &p, &m),
			     XIW_DDP_LOCAL_CATASTROPHIC);
		cr_assert_null(p.dst);
	}
}

Test(ddp_revoke, shared_buffers)
{
	struct xiw_ddp_gone g = gone(bufs[1], BUF);
	struct xiw_ddp_buf b = { .len = BUF, .registered = 1 };
	const struct xiw_ddp_hdr h = untagged(0, 2, 0, true);
	struct xiw_ddp_srq srq;
	struct xiw_ddp_msg m;
	uint32_t qn;

	cr_assert_eq(xiw_ddp_srq_init(&srq, DEPTH), 0);
	cr_assert_eq(xiw_ddp_rx_share(rx, &srq, NULL, NULL), 0);
	for (int i = 0; i < 2; i++) {
		b.base = bufs[i];
		b.user_data = (uint64_t)i;
		cr_assert_eq(xiw_ddp_srq_post(&srq, &b), 0);
	}
	xiw_ddp_srq_revoke(&srq, &g);
	cr_assert_eq(message(1, BUF, &m), XIW_DDP_OK);
	cr_assert_eq(message(2, 1, &m), XIW_DDP_LOCAL_CATASTROPHIC);
	/* The buffer is the message's, and is returned. */
	xiw_ddp_rx_refuse(rx, &h, XIW_DDP_LOCAL_CATASTROPHIC);
	cr_assert(xiw_ddp_rx_flush(rx, &qn, &b) && qn == 0 && b.user_data == 1);
	xiw_ddp_rx_share(rx, NULL, NULL, NULL);
	xiw_ddp_srq_free(&srq);
}

/* The sink of a Read, made of pieces of other regions, goes with the first of these; plain memory stays. */
Test(ddp_revoke, sinks_of_reads)
{
	struct xiw_ddp_piece pieces[2] = { { bufs[0], BUF }, { bufs[2], BUF } };
	struct xiw_ddp_region_opts o = {
		.ptr = pieces, .npieces = 2, .len = 2 * BUF, .access = XIW_DDP_SINK, .fixed = true
	};
	struct xiw_ddp_gone g = gone(bufs[2], BUF);

	for (uint32_t i = 0; i < 2; i++) {
		o.stag = SINK_STAG + i;
		o.borrowed = i;
		cr_assert_eq(xiw_ddp_region_register(&ddp_table, &o, &o.stag), 0);
	}
	xiw_ddp_sinks_revoke(&ddp_table, &g);
	cr_assert(xiw_ddp_region_lookup(&ddp_table, SINK_STAG));
	cr_assert(!xiw_ddp_region_lookup(&ddp_table, SINK_STAG + 1));
}
