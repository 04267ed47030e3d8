// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When ACKs are sent, and what they contain: SACK, D-SACK, ECN. */
#include <errno.h>

#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/tcp_rig.h"

/* RFC 5681 section 4.2 */
Test(tcp_ack, delayed)
{
	RIG_EACH_BASE(b)
	{
		struct rig r;

		rig_init(&r, rig_bases[b], 0);
		cr_assert_eq(xiw_tcp_rx_deadline(&r.rx), XIW_TCP_NEVER);
		rig_data(&r, 0, 100);
		cr_assert_not(rig_due(&r, true));
		cr_assert_eq(xiw_tcp_rx_deadline(&r.rx), r.now + XIW_TCP_DELACK_MS);
		r.now += XIW_TCP_DELACK_MS - 1;
		cr_assert_not(rig_due(&r, true));
		r.now++;
		cr_assert(rig_due(&r, true));
		rig_ack(&r);
		cr_assert_eq(r.sent.ack - r.base, 100);
		cr_assert_not(rig_due(&r, true));
		cr_assert_eq(xiw_tcp_rx_deadline(&r.rx), XIW_TCP_NEVER);
	}
}

/* The delay counts from the first unacknowledged segment and never exceeds 500 ms. */
Test(tcp_ack, delay_is_bounded)
{
	struct rig r;

	rig_init(&r, 1, 0);
	r.conf.delack_ms = 10000;
	xiw_tcp_rx_init(&r.rx, &r.conf);
	rig_data(&r, 0, 100);
	cr_assert_eq(xiw_tcp_rx_deadline(&r.rx), r.now + 500);
	r.now += 300;
	rig_data(&r, 0, 100);
	rig_ack(&r);
	rig_data(&r, 0, 100);
	cr_assert_eq(xiw_tcp_rx_deadline(&r.rx), r.now + 500);
}

Test(tcp_ack, second_segment_whatever_its_size)
{
	struct rig r;

	rig_init(&r, 0xffffffff, 0);
	rig_data(&r, 0, 10);
	cr_assert_not(rig_due(&r, true));
	rig_data(&r, 0, 10);
	cr_assert_not(rig_due(&r, false), "one ACK for the batch");
	cr_assert(rig_due(&r, true));
	cr_assert_eq(xiw_tcp_rx_deadline(&r.rx), 0);
	rig_ack(&r);
	cr_assert_not(rig_due(&r, true));
	/* One segment of twice the full size, as after reassembly. */
	rig_data(&r, 0, 2 * RIG_MSS);
	cr_assert(rig_due(&r, true));
}

/* RFC 5681 section 4.2 counts segments that were not acknowledged, by whatever segment that is done. */
Test(tcp_ack, data_of_the_socket_acknowledges)
{
	RIG_EACH_BASE(b)
	{
		struct rig r;

		rig_init(&r, rig_bases[b], 0);
		for (int i = 0; i < 4; i++) {
			rig_data(&r, 0, 100);
			cr_assert_not(rig_due(&r, true));
			xiw_tcp_rx_acked(&r.rx, r.rx.rcv_nxt);
			cr_assert_eq(xiw_tcp_rx_deadline(&r.rx), XIW_TCP_NEVER);
			cr_assert_eq(r.rx.last_ack_sent, r.rx.rcv_nxt);
		}
		/* An old one, and one of octets that never came, mean nothing. */
		rig_data(&r, 0, 10);
		xiw_tcp_rx_acked(&r.rx, r.base);
		xiw_tcp_rx_acked(&r.rx, r.rx.rcv_nxt + 1);
		cr_assert_eq(r.rx.pending, 10);
		rig_data(&r, 0, 10);
		cr_assert(rig_due(&r, true));
		/* One of the first of two leaves one, and what must be sent now stays so. */
		xiw_tcp_rx_acked(&r.rx, r.rx.rcv_nxt - 10);
		cr_assert_eq(r.rx.pending, 10);
		rig_data(&r, 50, 100);
		xiw_tcp_rx_acked(&r.rx, r.rx.rcv_nxt);
		cr_assert(rig_due(&r, true), "a gap");
	}
}

Test(tcp_ack, batch_is_answered_once)
{
	unsigned int acks = 0;
	struct rig r;

	rig_init(&r, 0xfffff000, 0);
	for (int i = 0; i < 9; i++) {
		rig_data(&r, 0, RIG_MSS);
		acks += rig_due(&r, false);
	}
	cr_assert_eq(acks, 0);
	cr_assert(rig_due(&r, true));
	rig_ack(&r);
	cr_assert_eq(r.sent.ack - r.base, 9 * RIG_MSS);
	cr_assert_eq(r.rx.last_ack_sent, r.sent.ack);
}

Test(tcp_ack, gap_and_fill_are_answered_at_once)
{
	struct rig r;

	rig_init(&r, 1, 0);
	rig_data(&r, 100, 100);
	cr_assert(rig_due(&r, false));
	rig_ack(&r);
	/* A part of the gap is filled, then the rest. */
	rig_data(&r, 0, 50);
	cr_assert(rig_due(&r, true));
	rig_ack(&r);
	rig_data(&r, 0, 50);
	cr_assert_eq(r.rx.rcv_nxt - r.base, 200);
	cr_assert(rig_due(&r, true));
	rig_ack(&r);
	rig_data(&r, 0, 50);
	cr_assert_not(rig_due(&r, true));
}

/* Without SACK the peer needs each duplicate ACK; with SACK only until recovery has begun. */
Test(tcp_ack, duplicate_acks)
{
	for (int opts = 0; opts <= RIG_NO_SACK; opts += RIG_NO_SACK) {
		struct rig r;

		rig_init(&r, 1, opts);
		for (int i = 1; i <= 8; i++) {
			rig_data(&r, i * 100, 100);
			cr_assert_eq(rig_due(&r, false), opts || i <= XIW_TCP_DUPACKS, "segment %d",
				     i);
			cr_assert(rig_due(&r, true));
			rig_ack(&r);
			cr_assert_eq(r.sent.ack, r.base);
			cr_assert_eq(r.sent.nsack, opts ? 0 : 1);
		}
	}
}

/* Each new gap is reported as fast as the first. */
Test(tcp_ack, duplicate_acks_of_the_next_gap)
{
	struct rig r;

	rig_init(&r, 1, 0);
	for (int gap = 0; gap < 3; gap++) {
		for (int i = 1; i <= 5; i++) {
			rig_data(&r, i * 100, 100);
			cr_assert_eq(rig_due(&r, false), i <= XIW_TCP_DUPACKS, "gap %d, %d", gap,
				     i);
			rig_ack(&r);
		}
		rig_data(&r, 0, 100);
		rig_ack(&r);
	}
}

/* A run that begins at rcv_nxt but was not taken yet is not a SACK block. */
Test(tcp_ack, no_sack_for_what_is_due)
{
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 0xfffffff0, 0);
	rig_data(&r, 100, 100);
	rig_data(&r, 300, 100);
	seg = rig_seg(&r, 0, 100);
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_TAKE);
	xiw_tcp_rx_advance(&r.rx, 100);
	rig_ack(&r);
	cr_assert_eq(r.sent.nsack, 1);
	rig_expect_block(&r, 0, 300, 400);
}

/* RFC 2018 section 4 */
Test(tcp_ack, sack_most_recent_first)
{
	RIG_EACH_BASE(b)
	{
		struct rig r;

		rig_init(&r, rig_bases[b], 0);
		rig_data(&r, 100, 100);
		rig_data(&r, 300, 100);
		rig_data(&r, 500, 100);
		rig_data(&r, 700, 100);
		rig_ack(&r);
		cr_assert_eq(r.sent.nsack, 3, "room for three beside timestamps");
		rig_expect_block(&r, 0, 700, 800);
		rig_expect_block(&r, 1, 500, 600);
		rig_expect_block(&r, 2, 300, 400);
		/* An old block that grows comes first, as a whole. */
		rig_data(&r, 200, 50);
		rig_ack(&r);
		rig_expect_block(&r, 0, 100, 250);
		rig_expect_block(&r, 1, 700, 800);
		rig_expect_block(&r, 2, 500, 600);
		/* A segment joins two blocks. */
		rig_data(&r, 250, 50);
		rig_ack(&r);
		rig_expect_block(&r, 0, 100, 400);
		rig_expect_block(&r, 1, 700, 800);
		rig_expect_block(&r, 2, 500, 600);
		/* A segment that advances rcv_nxt does not change the order of the other blocks. */
		rig_data(&r, 0, 100);
		rig_ack(&r);
		cr_assert_eq(r.sent.ack - r.base, 400);
		cr_assert_eq(r.sent.nsack, 2);
		rig_expect_block(&r, 0, 700, 800);
		rig_expect_block(&r, 1, 500, 600);
		rig_data(&r, 0, 100);
		rig_data(&r, 0, 100);
		rig_ack(&r);
		cr_assert_eq(r.sent.ack - r.base, 800);
		cr_assert_eq(r.sent.nsack, 0);
	}
}

Test(tcp_ack, four_blocks_without_timestamps)
{
	struct rig r;

	rig_init(&r, 0xfffffe00, RIG_NO_TS);
	for (int i = 1; i <= 6; i++)
		rig_data(&r, i * 200, 100);
	rig_ack(&r);
	cr_assert_eq(r.sent.nsack, 4);
	for (unsigned int i = 0; i < 4; i++)
		rig_expect_block(&r, i, (6 - i) * 200, (6 - i) * 200 + 100);
	/* Blocks that were not reported last take the remaining room. */
	rig_data(&r, 0, 200);
	rig_data(&r, 1000, 100); /* 1300, continues 1200 */
	rig_data(&r, 800, 100);	 /* 1100, joins 1000 to 1200 */
	rig_ack(&r);
	cr_assert_eq(r.sent.ack - r.base, 300);
	cr_assert_eq(r.sent.nsack, 4);
	rig_expect_block(&r, 0, 1000, 1400);
	rig_expect_block(&r, 1, 800, 900);
	rig_expect_block(&r, 2, 600, 700);
	rig_expect_block(&r, 3, 400, 500);
}

/*
 * A kept segment is taken out and refused. Octets that only it held are no longer reported, and ranges that only it
 * joined are two again.
 */
Test(tcp_ack, sack_after_a_kept_segment_is_refused)
{
	struct xiw_tcp_keep *n;
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 0xfffffff0, 0);
	rig_data(&r, 150, 50);
	rig_data(&r, 100, 200);
	rig_data(&r, 300, 100);
	seg = rig_seg(&r, 0, 100);
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_TAKE);
	xiw_tcp_rx_advance(&r.rx, 100);
	n = xiw_tcp_rx_next(&r.rx);
	cr_assert_eq(n->len, 200);
	cr_assert_null(xiw_tcp_rx_next(&r.rx));
	r.rx.dsack.start = r.rx.dsack.end;
	rig_ack(&r);
	cr_assert_eq(r.sent.nsack, 2);
	rig_expect_block(&r, 0, 300, 400);
	rig_expect_block(&r, 1, 150, 200);
	rig_data(&r, 0, 200);
	cr_assert_eq(r.rx.rcv_nxt - r.base, 400);
}

static void numbers(struct rig *r, uint32_t from, uint32_t to)
{
	struct xiw_tcp_seg seg = rig_seg(r, 0, to - from);

	seg.seq = r->base + from;
	rig_feed(r, &seg);
}

static void numbers_acked(struct rig *r, uint32_t from, uint32_t to, uint32_t ack)
{
	numbers(r, from, to);
	cr_expect(rig_due(r, false) || r->rx.pending, "nothing to say");
	rig_ack(r);
	cr_expect_eq(r->sent.ack - r->base, ack, "ack %u, not %u", r->sent.ack - r->base, ack);
}

static void lost_segments(void)
{
	struct rig r;

	/* 4.2.2 */
	rig_init(&r, 0xfffff800, 0);
	numbers_acked(&r, 0, 1000, 1000);
	numbers_acked(&r, 3000, 3500, 1000);
	numbers_acked(&r, 1000, 1500, 1500);
	rig_expect_block(&r, 0, 3000, 3500);
	numbers_acked(&r, 2000, 2500, 1500);
	rig_expect_block(&r, 0, 2000, 2500);
	rig_expect_block(&r, 1, 3000, 3500);
	numbers_acked(&r, 1000, 2500, 2500);
	rig_expect_block(&r, 0, 1000, 1500);
	rig_expect_block(&r, 1, 3000, 3500);

	/* 4.2.3 */
	rig_init(&r, 0xfffff800, 0);
	numbers_acked(&r, 0, 1000, 1000);
	numbers_acked(&r, 3500, 4000, 1000);
	numbers_acked(&r, 1500, 2000, 1000);
	rig_expect_block(&r, 0, 1500, 2000);
	rig_expect_block(&r, 1, 3500, 4000);
	numbers_acked(&r, 2500, 3000, 1000);
	rig_expect_block(&r, 0, 2500, 3000);
	rig_expect_block(&r, 1, 1500, 2000);
	rig_expect_block(&r, 2, 3500, 4000);
	numbers_acked(&r, 1500, 3000, 1000);
	rig_expect_block(&r, 0, 1500, 2000);
	rig_expect_block(&r, 1, 1500, 3000);
	rig_expect_block(&r, 2, 3500, 4000);

	/* In order, and over kept octets. */
	numbers_acked(&r, 1000, 2200, 3000);
	rig_expect_block(&r, 0, 1500, 2200);
	rig_expect_block(&r, 1, 3500, 4000);
}

/* The examples of RFC 2883 sections 4.1 and 4.2, by their numbers. */
Test(tcp_ack, dsack_examples)
{
	struct rig r;

	/* 4.1.1 and 4.1.2 */
	rig_init(&r, 0xfffff800, 0);
	numbers_acked(&r, 0, 3500, 3500);
	numbers_acked(&r, 3500, 4000, 4000);
	cr_expect_eq(r.sent.nsack, 0);
	numbers_acked(&r, 3000, 3500, 4000);
	cr_expect_eq(r.sent.nsack, 1);
	rig_expect_block(&r, 0, 3000, 3500);
	numbers_acked(&r, 4500, 5000, 4000);
	cr_expect_eq(r.sent.nsack, 1, "reported once only");
	rig_expect_block(&r, 0, 4500, 5000);
	numbers_acked(&r, 3000, 3500, 4000);
	rig_expect_block(&r, 0, 3000, 3500);
	rig_expect_block(&r, 1, 4500, 5000);
	/* 4.1.3 */
	numbers_acked(&r, 5000, 5500, 4000);
	rig_expect_block(&r, 0, 4500, 5500);
	numbers_acked(&r, 5000, 5500, 4000);
	rig_expect_block(&r, 0, 5000, 5500);
	rig_expect_block(&r, 1, 4500, 5500);

	/* 4.2.1 */
	rig_init(&r, 0xfffff800, 0);
	numbers_acked(&r, 0, 1000, 1000);
	numbers_acked(&r, 2000, 2500, 1000);
	numbers_acked(&r, 1000, 1500, 1500);
	rig_expect_block(&r, 0, 2000, 2500);
	numbers_acked(&r, 1000, 2000, 2500);
	cr_expect_eq(r.sent.nsack, 1);
	rig_expect_block(&r, 0, 1000, 1500);
	lost_segments();
}

Test(tcp_ack, no_sack_unless_negotiated)
{
	struct rig r;

	rig_init(&r, 1, RIG_NO_SACK);
	rig_data(&r, 100, 100);
	rig_data(&r, 100, 100);
	rig_ack(&r);
	cr_assert_eq(r.sent.nsack, 0);
}

static void feed_ecn(struct rig *r, int32_t off, uint8_t ecn, uint8_t flags)
{
	struct xiw_tcp_seg seg = rig_seg(r, off, 100);

	seg.ecn = ecn;
	seg.flags |= flags;
	rig_feed(r, &seg);
	rig_ack(r);
}

/* A CE that came before the receiver took over is also echoed until CWR. */
Test(tcp_ack, ecn_echo_inherited)
{
	struct xiw_tcp_rx_conf conf = { .ece = true };
	struct rig r;

	rig_init(&r, 1, RIG_ECN);
	feed_ecn(&r, 0, XIW_ECN_ECT0, 0);
	cr_assert_not(r.rx.flags & XIW_TCP_RX_ECN_SEEN, "nothing is known");
	r.rx.flags |= XIW_TCP_RX_ECE;
	feed_ecn(&r, 0, XIW_ECN_ECT0, 0);
	cr_assert(r.sent.flags & XIW_TCP_ECE);
	feed_ecn(&r, 0, XIW_ECN_ECT0, XIW_TCP_CWR);
	cr_assert_not(r.sent.flags & XIW_TCP_ECE);
	cr_assert(r.rx.flags & XIW_TCP_RX_ECN_SEEN);

	xiw_tcp_rx_init(&r.rx, &conf);
	cr_assert_not(r.rx.flags & XIW_TCP_RX_ECE, "not negotiated");
	conf.ecn_ok = true;
	xiw_tcp_rx_init(&r.rx, &conf);
	cr_assert(r.rx.flags & XIW_TCP_RX_ECE && r.rx.flags & XIW_TCP_RX_ECN_SEEN);
}

/* RFC 3168 sections 6.1.3 and 6.1.5 */
Test(tcp_ack, ecn_echo)
{
	struct rig r;

	rig_init(&r, 1, RIG_ECN);
	feed_ecn(&r, 0, XIW_ECN_ECT0, 0);
	cr_assert_not(r.sent.flags & XIW_TCP_ECE);
	feed_ecn(&r, -100, XIW_ECN_CE, 0);
	cr_assert_not(r.sent.flags & XIW_TCP_ECE, "out of the window: ignored");
	feed_ecn(&r, RIG_WND, XIW_ECN_CE, 0);
	cr_assert_not(r.sent.flags & XIW_TCP_ECE, "out of the window: ignored");
	feed_ecn(&r, 200, XIW_ECN_CE, 0);
	cr_assert(r.sent.flags & XIW_TCP_ECE, "out of order counts");
	feed_ecn(&r, 0, XIW_ECN_ECT0, 0);
	cr_assert(r.sent.flags & XIW_TCP_ECE, "until CWR");
	feed_ecn(&r, 0, XIW_ECN_ECT0, XIW_TCP_CWR);
	cr_assert_not(r.sent.flags & XIW_TCP_ECE);
	feed_ecn(&r, 0, XIW_ECN_CE, XIW_TCP_CWR);
	cr_assert(r.sent.flags & XIW_TCP_ECE, "CE of the same packet is newer");
	cr_assert_eq(r.sent.flags, XIW_TCP_ACK | XIW_TCP_ECE);

	rig_init(&r, 1, 0);
	feed_ecn(&r, 0, XIW_ECN_CE, XIW_TCP_ECE);
	cr_assert_not(r.sent.flags & XIW_TCP_ECE, "not negotiated");
	cr_assert_eq(r.rx.feedback_due, 0);
}

Test(tcp_ack, header)
{
	struct rig r;
	int len;

	rig_init(&r, 0xfffffff0, 0);
	rig_data(&r, 0, 100);
	rig_data(&r, 100, 100);
	cr_assert_eq(xiw_tcp_rx_build_ack(&r.rx, 1, r.ack, 43), -ENOSPC);
	cr_assert(rig_due(&r, true), "not sent, so still due");
	memset(r.ack, 0xff, sizeof(r.ack));
	len = xiw_tcp_rx_build_ack(&r.rx, 0x01020304, r.ack, 44);
	cr_assert_eq(len, 44);
	cr_assert_eq(xiw_get_be16(r.ack + XIW_TCP_OFF_SPORT), 0x1111);
	cr_assert_eq(xiw_get_be16(r.ack + XIW_TCP_OFF_DPORT), 0x2222);
	cr_assert_eq(xiw_get_be32(r.ack + XIW_TCP_OFF_SEQ), r.rx.snd_nxt);
	cr_assert_eq(xiw_get_be32(r.ack + XIW_TCP_OFF_ACK), r.base + 100);
	cr_assert_eq(r.ack[XIW_TCP_OFF_DOFF], 11 << 4);
	cr_assert_eq(r.ack[XIW_TCP_OFF_FLAGS], XIW_TCP_ACK);
	cr_assert_eq(xiw_get_be16(r.ack + XIW_TCP_OFF_CSUM), 0);
	cr_assert_eq(xiw_get_be16(r.ack + XIW_TCP_OFF_URG), 0);
	cr_assert_eq(xiw_get_be32(r.ack + 20), 0x0101080a);
	cr_assert_eq(xiw_get_be32(r.ack + 24), 0x01020304);
	cr_assert_eq(xiw_get_be32(r.ack + 32), 0x0101050a);
}
