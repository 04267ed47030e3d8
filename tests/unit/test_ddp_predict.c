// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The place that a receiver predicts for the next segment, and what invalidates the prediction. */
#include <criterion/criterion.h>

#include "tests/unit/ddp_rig.h"

TestSuite(ddp_predict, .init = ddp_begin, .fini = ddp_end);

Test(ddp_predict, is_exact)
{
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;
	struct xiw_ddp_hdr h;
	const struct {
		struct xiw_ddp_hdr h;
		bool predicted;
	} after_tagged[] = {
		{ tagged(STAG, BASE + 20, false), true },
		{ tagged(STAG, BASE + 20, true), true },
		{ tagged(STAG, BASE + 21, false), false },
		{ tagged(STAG, BASE + 19, false), false },
		{ tagged(STAG, BASE, false), false },
		{ tagged(0x7000, BASE + 20, false), false }, /* same memory, other STag */
		{ tagged(0x7001, BASE + 40, false), false }, /* same memory, other TO */
		{ untagged(0, 1, 20, false), false },
	}, after_untagged[] = {
		{ untagged(0, 1, 20, false), true },
		{ untagged(0, 1, 21, false), false },
		{ untagged(0, 2, 20, false), false },
		{ untagged(1, 1, 20, false), false },
		{ tagged(STAG, BASE + 20, false), false },
	};

	region_add(0x7000, PD, STREAM, XIW_DDP_REMOTE_WRITE, BASE, mem);
	region_add(0x7001, PD, STREAM, XIW_DDP_REMOTE_WRITE, BASE + 20, mem);
	post_buf(0, 0); /* one buffer three times: only the header tells them apart */
	post_buf(0, 0);
	post_buf(1, 0);
	cr_assert_eq(receive(tagged(STAG, BASE, false), 20, &p, &m), XIW_DDP_OK);
	for (size_t i = 0; i < sizeof(after_tagged) / sizeof(after_tagged[0]); i++) {
		h = after_tagged[i].h;
		cr_assert_eq(xiw_ddp_rx_place(rx, &h, 10, &p), XIW_DDP_OK, "%zu", i);
		cr_expect_eq(p.predicted, after_tagged[i].predicted, "%zu", i);
	}
	/* A predicted place says nothing about the length. */
	h = tagged(STAG, BASE + 20, true);
	cr_expect_eq(xiw_ddp_rx_place(rx, &h, LEN, &p), XIW_DDP_TAGGED_BOUNDS);
	cr_assert_eq(receive(untagged(0, 1, 0, false), 20, &p, &m), XIW_DDP_OK);
	for (size_t i = 0; i < sizeof(after_untagged) / sizeof(after_untagged[0]); i++) {
		h = after_untagged[i].h;
		cr_assert_eq(xiw_ddp_rx_place(rx, &h, 10, &p), XIW_DDP_OK, "%zu", i);
		cr_expect_eq(p.predicted, after_untagged[i].predicted, "%zu", i);
	}
}

/* A posted buffer is also a Tagged Buffer. */
Test(ddp_predict, keeps_to_its_model)
{
	struct xiw_ddp_hdr u = untagged(0, 1, 20, false), t = tagged(STAG, BASE + 40, false);
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	cr_assert_eq(xiw_ddp_rx_post(rx, 0, mem, LEN, 0), 0);
	cr_assert_eq(receive(untagged(0, 1, 0, false), 20, &p, &m), XIW_DDP_OK);
	cr_assert_eq(receive(tagged(STAG, BASE, false), 20, &p, &m), XIW_DDP_OK);
	cr_assert_eq(xiw_ddp_rx_place(rx, &u, 5, &p), XIW_DDP_OK);
	cr_expect(p.dst == mem + 20 && !p.predicted);
	cr_assert_eq(receive(u, 20, &p, &m), XIW_DDP_OK);
	cr_assert_eq(xiw_ddp_rx_place(rx, &t, 5, &p), XIW_DDP_OK);
	cr_expect(p.dst == mem + 40 && !p.predicted);
}

/* STags are given to other regions between two segments. */
Test(ddp_predict, and_new_regions)
{
	struct xiw_ddp_hdr a = tagged(STAG, BASE, false), b = tagged(1, BASE, false);
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	/* The same address has another TO. */
	cr_assert_eq(receive(a, 20, &p, &m), XIW_DDP_OK);
	cr_assert_eq(xiw_ddp_region_invalidate(&ddp_table, STAG), 0);
	region_add(STAG, PD, STREAM, XIW_DDP_REMOTE_WRITE, BASE + 5, mem);
	a.to = BASE + 25;
	cr_assert_eq(xiw_ddp_rx_place(rx, &a, 20, &p), XIW_DDP_OK);
	cr_expect(p.dst == mem + 20 && !p.predicted);

	/* Octets were placed in another region, whose memory this STag got before Delivery. */
	region_add(1, PD, STREAM, XIW_DDP_REMOTE_WRITE, BASE, other);
	cr_assert_eq(xiw_ddp_rx_place(rx, &b, 20, &p), XIW_DDP_OK);
	cr_assert_eq(xiw_ddp_rx_deliver(rx, &a, 20, &m), XIW_DDP_OK);
	cr_assert_eq(xiw_ddp_region_invalidate(&ddp_table, STAG), 0);
	region_add(STAG, PD, STREAM, XIW_DDP_REMOTE_WRITE, BASE, other);
	a.to = BASE + 45;
	cr_assert_eq(xiw_ddp_rx_place(rx, &a, 20, &p), XIW_DDP_OK);
	cr_expect(p.dst == other + 45 && !p.predicted);
}

Test(ddp_predict, invalidation)
{
	struct xiw_ddp_hdr h = tagged(STAG, BASE + 20, false);
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	/* Another STag is invalidated: the check is done again, and the prediction holds. */
	region_add(1, PD, STREAM, XIW_DDP_REMOTE_WRITE, BASE, other);
	cr_assert_eq(receive(tagged(STAG, BASE, false), 20, &p, &m), XIW_DDP_OK);
	cr_assert_eq(xiw_ddp_region_invalidate(&ddp_table, 1), 0);
	cr_assert_eq(xiw_ddp_rx_place(rx, &h, 20, &p), XIW_DDP_OK);
	cr_expect(p.predicted && p.dst == mem + 20);

	cr_assert_eq(xiw_ddp_region_set_access(&ddp_table, STAG, 0), 0);
	cr_expect_eq(xiw_ddp_rx_place(rx, &h, 20, &p), XIW_DDP_TAGGED_STAG);
	cr_expect_null(p.dst);
	cr_assert_eq(xiw_ddp_region_set_access(&ddp_table, STAG, XIW_DDP_REMOTE_WRITE), 0);
	cr_expect_eq(xiw_ddp_rx_place(rx, &h, 20, &p), XIW_DDP_OK);

	cr_assert_eq(xiw_ddp_region_invalidate(&ddp_table, STAG), 0);
	cr_expect_eq(xiw_ddp_rx_place(rx, &h, 20, &p), XIW_DDP_TAGGED_STAG);
	cr_expect(!p.dst && !p.predicted);

	/* The same STag for other memory is allowed, but was not predicted. */
	region_add(STAG, PD, STREAM, XIW_DDP_REMOTE_WRITE, BASE, other);
	cr_assert_eq(xiw_ddp_rx_place(rx, &h, 20, &p), XIW_DDP_OK);
	cr_expect(p.dst == other + 20 && !p.predicted);
}

/*
 * In the middle of a message its STag and memory are registered again, and an early segment has loaded the new region.
 * The message is not one of that region alone, so the straight line is not its path.
 */
Test(ddp_predict, registered_again_in_a_message)
{
	struct xiw_ddp_hdr h = tagged(STAG, BASE + 20, false);
	uint8_t octets[XIW_DDP_HDR_MAX];
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	xiw_ddp_hdr_encode(&h, octets);
	cr_assert_eq(receive(tagged(STAG, BASE, false), 20, &p, &m), XIW_DDP_OK);
	cr_assert_eq(xiw_ddp_rx_expected(rx, octets, 20), mem + 20);
	cr_assert_eq(xiw_ddp_region_invalidate(&ddp_table, STAG), 0);
	region_add(STAG, PD, STREAM, XIW_DDP_REMOTE_WRITE, BASE, mem);
	cr_expect_null(xiw_ddp_rx_expected(rx, octets, 20));
	h.to = BASE + 40;
	cr_assert_eq(xiw_ddp_rx_place(rx, &h, 20, &p), XIW_DDP_OK);
	cr_expect_null(xiw_ddp_rx_expected(rx, octets, 20));
}

static uint32_t rnd(uint32_t n)
{
	static uint32_t state = 0x5eed7;

	state = state * 1664525 + 1013904223;
	return (state >> 8) % n;
}

/* The regions, and what they allow, change now and then. */
static void change(void)
{
	static const uint32_t stags[] = { STAG, 0x7000 };
	uint32_t stag = stags[rnd(2)], access = rnd(6) ? XIW_DDP_REMOTE_WRITE : XIW_DDP_SINK;

	if (rnd(2)) {
		xiw_ddp_region_set_access(&ddp_table, stag, access);
		return;
	}
	cr_assert_eq(xiw_ddp_region_invalidate(&ddp_table, stag), 0);
	region_add(stag, PD, STREAM, access, BASE + rnd(2), rnd(4) ? mem : other);
}

static void check_straight(const struct xiw_ddp_rx *got, const struct xiw_ddp_rx *want)
{
	cr_assert_eq(got->next.dst, want->next.dst);
	cr_assert_eq(got->next.to, want->next.to);
	cr_assert_eq(got->next.stag, want->next.stag);
	cr_assert_eq(got->next.tagged, want->next.tagged);
	cr_assert_eq(memcmp(&got->tagged, &want->tagged, sizeof(got->tagged)), 0);
	cr_assert_eq(memcmp(&got->view, &want->view, sizeof(got->view)), 0);
}

/* What the straight line accepts, Placement predicts, and Delivery has the same effect. */
Test(ddp_predict, straight_line)
{
	uint32_t straight = 0, predicted = 0;

	region_add(0x7000, PD, STREAM, XIW_DDP_REMOTE_WRITE, BASE, mem);
	xiw_ddp_rx_sinks(rx, 0x0f, 2);
	for (int i = 0; i < 100000; i++) {
		struct xiw_ddp_hdr h = tagged(rnd(12) ? rx->next.stag : STAG,
					      rnd(8) ? rx->next.to : BASE + rnd(900), !rnd(12));
		uint32_t len = rnd(20) ? 1 + rnd(40) : rnd(2) * LEN;
		uint8_t octets[XIW_DDP_HDR_MAX], *dst;
		struct xiw_ddp_rx before;
		struct xiw_ddp_place p;
		struct xiw_ddp_msg m;

		if (!rnd(50))
			change();
		h.rsvdulp[0] = rnd(10) ? 0x40 : 0x42;
		h.dv = rnd(50) ? XIW_DDP_VERSION : rnd(4);
		xiw_ddp_hdr_encode(&h, octets);
		octets[0] |= (uint8_t)(rnd(16) << 2); /* reserved bits are not checked */
		before = *rx;
		dst = xiw_ddp_rx_expected(rx, octets, len);
		straight += !!dst;
		if (xiw_ddp_rx_place(rx, &h, len, &p)) {
			cr_assert_null(dst, "step %d", i);
			continue;
		}
		predicted += p.predicted && !h.last;
		cr_assert(!dst || (p.predicted && p.dst == dst && !h.last), "step %d", i);
		cr_assert_eq(xiw_ddp_rx_deliver(rx, &h, len, &m), XIW_DDP_OK);
		if (!dst)
			continue;
		xiw_ddp_rx_expected_placed(&before, len);
		check_straight(&before, rx);
		cr_assert(!m.complete);
	}
	/* Almost all: the first check after the regions have changed is Placement's. */
	cr_assert_gt(straight, 10000);
	cr_assert_gt(straight, predicted * 9 / 10, "%u of %u", straight, predicted);
}
