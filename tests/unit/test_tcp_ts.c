// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Timestamps and PAWS (RFC 7323). */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/tcp_rig.h"

/* RFC 7323 sections 3.2, 4.3 and 5.3. */
Test(tcp_ts, paws)
{
	RIG_EACH_BASE(b)
	{
		struct xiw_tcp_seg seg;
		struct rig r;

		rig_init(&r, rig_bases[b], 0);
		seg = rig_seg(&r, 0, 100);
		seg.tsval -= 1;
		cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
		cr_assert_eq(r.rx.drops[XIW_TCP_DROP_PAWS], 1);
		cr_assert(xiw_tcp_rx_ack_due(&r.rx, r.now, true));
		rig_ack(&r);

		seg = rig_seg(&r, 0, 100);
		seg.has_ts = false;
		cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
		cr_assert_eq(r.rx.drops[XIW_TCP_DROP_NO_TS], 1);
		cr_assert_not(xiw_tcp_rx_ack_due(&r.rx, r.now, true));

		/* PAWS is checked before the window: the reason shows the order. */
		seg = rig_seg(&r, RIG_WND, 100);
		seg.tsval -= 0x7fffffff;
		cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
		cr_assert_eq(r.rx.drops[XIW_TCP_DROP_PAWS], 2);

		/* Half of a microsecond clock's numbers, to the second below; then a millisecond more. */
		r.now += 2147000;
		seg = rig_seg(&r, 0, 100);
		seg.tsval -= 1;
		cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
		r.now++;
		cr_assert_eq(rig_in(&r, &seg), XIW_TCP_TAKE);
		cr_assert_eq(r.rx.ts_recent, seg.tsval);
		/* Valid again from here. */
		seg.tsval--;
		cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
	}
}

Test(tcp_ts, timestamps_not_negotiated_are_ignored)
{
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 1, RIG_NO_TS);
	seg = rig_seg(&r, 0, 100);
	seg.tsval -= 1000;
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_TAKE);
	cr_assert_eq(r.rx.ts_recent, 1 + RIG_TS);
	seg.has_ts = false;
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_TAKE);
	rig_ack(&r);
	cr_assert_not(r.sent.has_ts);
}

static void feed_ts(struct rig *r, uint32_t at, uint32_t tsval)
{
	struct xiw_tcp_seg seg = rig_seg(r, 0, 100);

	seg.seq = r->base + at;
	seg.tsval = r->base + RIG_TS + tsval;
	cr_assert_neq(rig_feed(r, &seg), XIW_TCP_DROP);
}

static void expect_echo(struct rig *r, uint32_t tsecr)
{
	rig_ack(r);
	cr_assert(r->sent.has_ts);
	cr_assert_eq(r->sent.tsval, 0xabcd);
	cr_assert_eq(r->sent.tsecr, r->base + RIG_TS + tsecr, "echoed %u, not %u",
		     r->sent.tsecr - r->base - RIG_TS, tsecr);
}

/* The two examples of RFC 7323 section 4.3: delayed ACKs, then holes. */
Test(tcp_ts, timestamp_to_echo)
{
	RIG_EACH_BASE(b)
	{
		struct rig r;

		rig_init(&r, rig_bases[b], 0);
		feed_ts(&r, 0, 1);
		feed_ts(&r, 100, 2);
		feed_ts(&r, 200, 3);
		expect_echo(&r, 1);

		rig_init(&r, rig_bases[b], 0);
		feed_ts(&r, 0, 1);
		expect_echo(&r, 1);
		feed_ts(&r, 200, 3);
		expect_echo(&r, 1);
		feed_ts(&r, 100, 2);
		expect_echo(&r, 2);
		feed_ts(&r, 400, 5);
		expect_echo(&r, 2);
		feed_ts(&r, 300, 4);
		expect_echo(&r, 4);
	}
}

/* RFC 7323 appendix H (f) (1): a retransmission after a lost ACK updates TS.Recent. */
Test(tcp_ts, duplicate_updates_timestamp)
{
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 1, 0);
	feed_ts(&r, 0, 1);
	expect_echo(&r, 1);
	seg = rig_seg(&r, -100, 100);
	seg.tsval += 9;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_DROP);
	expect_echo(&r, 9);
	/* A retransmission with a wrong ACK value does not. */
	seg.tsval += 9;
	seg.ack++;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_DROP);
	expect_echo(&r, 9);
}

/* Section 4.3 (2) compares with the last ACK, not with what has been taken: nobody has acknowledged this one yet. */
Test(tcp_ts, duplicate_before_the_ack_updates_timestamp)
{
	RIG_EACH_BASE(b)
	{
		struct xiw_tcp_seg seg;
		struct rig r;

		rig_init(&r, rig_bases[b], 0);
		feed_ts(&r, 0, 1);
		feed_ts(&r, 100, 2);
		cr_assert_eq(r.rx.last_ack_sent, r.base);
		seg = rig_seg(&r, -200, 100);
		seg.tsval = r.base + RIG_TS + 9;
		cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_DROP);
		cr_assert_eq(r.rx.last_drop, XIW_TCP_DROP_DUP);
		expect_echo(&r, 9);
	}
}

/* Section 5.3, R2 before R3: a segment that ends below the last ACK is outside the window; anybody can send it. */
Test(tcp_ts, old_duplicate_does_not)
{
	RIG_EACH_BASE(b)
	{
		struct xiw_tcp_seg seg;
		struct rig r;

		rig_init(&r, rig_bases[b], 0);
		feed_ts(&r, 0, 1);
		expect_echo(&r, 1);
		seg = rig_seg(&r, -100, 99);
		seg.tsval += 1 << 20;
		cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_DROP);
		expect_echo(&r, 1);
		feed_ts(&r, 100, 2); /* not stopped by PAWS */
		expect_echo(&r, 2);
	}
}

/* A duplicate is reported (RFC 2883 section 4) even if it is wrong otherwise. */
Test(tcp_ts, old_timestamp_on_a_duplicate)
{
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 1, 0);
	feed_ts(&r, 0, 1000);
	expect_echo(&r, 1000);
	seg = rig_seg(&r, -50, 100);
	seg.tsval -= 500;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_DROP);
	cr_assert_eq(r.rx.drops[XIW_TCP_DROP_PAWS], 1);
	expect_echo(&r, 1000);
	cr_assert_eq(r.sent.nsack, 1);
	cr_assert_eq(r.sent.sack[0].start, seg.seq);
	cr_assert_eq(r.sent.sack[0].end, r.rx.rcv_nxt);
	/* Its new octets were not taken. */
	seg = rig_seg(&r, 0, 100);
	seg.tsval -= 500;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_DROP);
	expect_echo(&r, 1000);
	cr_assert_eq(r.sent.nsack, 0);
}

/* Segments that have waited while another one filled the gap before them do not give the echo. */
Test(tcp_ts, the_echo_is_of_what_advanced_the_stream_elsewhere)
{
	RIG_EACH_BASE(b)
	{
		struct xiw_tcp_seg seg;
		struct rig r;

		rig_init(&r, rig_bases[b], 0);
		seg = rig_seg(&r, 0, 100);
		cr_assert_eq(rig_in(&r, &seg), XIW_TCP_TAKE);
		xiw_tcp_rx_advanced_elsewhere(&r.rx, r.base + RIG_TS + 5000);
		expect_echo(&r, 5000);
		xiw_tcp_rx_advanced_elsewhere(&r.rx, r.base + RIG_TS + 4000);
		cr_assert_eq(r.rx.ts_recent, r.base + RIG_TS + 5000);
	}
}

Test(tcp_ts, no_echo_from_elsewhere_without_timestamps)
{
	struct rig r;
	uint32_t was;

	rig_init(&r, 1, RIG_NO_TS);
	was = r.rx.ts_recent;
	xiw_tcp_rx_advanced_elsewhere(&r.rx, was + 1);
	cr_assert_eq(r.rx.ts_recent, was);
}

/* What waited may be older than TS.Recent, which stays the echo, until one that is newer has come in order. */
Test(tcp_ts, what_waited_passes_until_a_newer_one_comes)
{
	RIG_EACH_BASE(b)
	{
		struct xiw_tcp_seg seg;
		struct rig r;

		rig_init(&r, rig_bases[b], 0);
		r.rx.ts_oldest -= 500;
		seg = rig_seg(&r, 0, 100);
		seg.tsval = r.base + RIG_TS - 501;
		cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_DROP);
		seg = rig_seg(&r, 0, 100);
		seg.tsval = r.base + RIG_TS - 500;
		cr_assert_eq(rig_in(&r, &seg), XIW_TCP_TAKE);
		cr_assert_eq(r.rx.ts_recent, r.base + RIG_TS);
		expect_echo(&r, 0);
		seg = rig_seg(&r, 0, 100);
		seg.tsval = r.base + RIG_TS + 1;
		cr_assert_eq(rig_in(&r, &seg), XIW_TCP_TAKE);
		seg = rig_seg(&r, 0, 100);
		seg.tsval = r.base + RIG_TS;
		cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_DROP);
	}
}
