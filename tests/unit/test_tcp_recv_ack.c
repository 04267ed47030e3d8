// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Acknowledgements in incoming segments: which are acceptable, and what the kernel must learn of them. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/tcp_rig.h"

#define NONE XIW_TCP_DROP_MAX

struct ack_case {
	const char *name;
	int64_t ack; /* relative to SND.NXT */
	uint32_t in_flight;
	enum xiw_tcp_action want;
	enum xiw_tcp_drop reason;
};

/* RFC 5961 section 5.2, with MAX.SND.WND = 65535. */
static const struct ack_case ack_cases[] = {
	{ "all", 0, 1000, XIW_TCP_TAKE, NONE },
	{ "some", -500, 1000, XIW_TCP_TAKE, NONE },
	{ "nothing new", -1000, 1000, XIW_TCP_TAKE, NONE },
	{ "old", -1001, 1000, XIW_TCP_TAKE, NONE },
	{ "oldest", -1000 - 65535, 1000, XIW_TCP_TAKE, NONE },
	{ "too old", -1000 - 65536, 1000, XIW_TCP_DROP, XIW_TCP_DROP_ACK_OLD },
	{ "never sent", 1, 1000, XIW_TCP_DROP, XIW_TCP_DROP_ACK_NEW },
	{ "far ahead", 0x7fffffff, 0, XIW_TCP_DROP, XIW_TCP_DROP_ACK_NEW },
	{ "far behind", -0x7fffffff, 0, XIW_TCP_DROP, XIW_TCP_DROP_ACK_OLD },
};

Test(tcp_recv_ack, ack_acceptability)
{
	RIG_EACH_BASE(b)
	for (size_t i = 0; i < sizeof(ack_cases) / sizeof(*ack_cases); i++) {
		const struct ack_case *c = &ack_cases[i];
		struct xiw_tcp_seg seg;
		uint32_t una;
		struct rig r;

		rig_init(&r, rig_bases[b], 0);
		una = r.rx.snd_una;
		xiw_tcp_rx_set_snd(&r.rx, una + c->in_flight);
		seg = rig_seg(&r, 0, 100);
		seg.ack = r.rx.snd_nxt + (uint32_t)c->ack;
		cr_expect_eq(rig_in(&r, &seg), c->want, "%s", c->name);
		if (c->reason != NONE)
			cr_expect_eq(r.rx.drops[c->reason], 1, "%s", c->name);
		cr_expect_eq(xiw_tcp_rx_ack_due(&r.rx, r.now, true), c->want == XIW_TCP_DROP, "%s",
			     c->name);
		if (c->want == XIW_TCP_TAKE && (int32_t)(seg.ack - una) > 0) {
			cr_expect_eq(r.rx.snd_una, seg.ack, "%s", c->name);
			cr_expect_eq(r.rx.feedback_due, XIW_TCP_FEEDBACK_ACK, "%s", c->name);
			cr_expect_eq(r.rx.feedback.ack, seg.ack, "%s", c->name);
		} else {
			cr_expect_eq(r.rx.snd_una, una, "%s", c->name);
			cr_expect_eq(r.rx.feedback_due, 0, "%s", c->name);
		}
	}
}

/* The receiver does not see pure ACKs, so SND.UNA lags; it must not lag by 2^31. */
Test(tcp_recv_ack, snd_una_is_brought_along)
{
	struct rig r;

	rig_init(&r, 0xfffff000, 0);
	for (int i = 0; i < 100; i++) {
		xiw_tcp_rx_set_snd(&r.rx, r.rx.snd_nxt + 100000000);
		cr_assert_eq(rig_data(&r, 0, 1), XIW_TCP_TAKE);
		xiw_tcp_rx_set_snd(&r.rx, r.rx.snd_nxt + 100000000);
	}
	struct xiw_tcp_seg seg = rig_seg(&r, 0, 1);

	seg.ack = r.rx.snd_nxt - 2 * 65535;
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_TAKE);
	seg.ack--;
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
}

/* With the largest scale both bounds still fit into 2^31. */
Test(tcp_recv_ack, ack_range_at_largest_scale)
{
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 0xfffff000, 0);
	r.conf.snd_wscale = 14;
	xiw_tcp_rx_init(&r.rx, &r.conf);
	xiw_tcp_rx_set_snd(&r.rx, r.rx.snd_una + (65535u << 14));
	seg = rig_seg(&r, 0, 100);
	seg.ack = r.rx.snd_una - (65535u << 14);
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_TAKE);
	seg.ack--;
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
	seg.ack = r.rx.snd_nxt + 1;
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
	cr_assert_eq(r.rx.drops[XIW_TCP_DROP_ACK_NEW], 1);
	seg.ack = r.rx.snd_nxt + 0x7fff0000;
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
}

Test(tcp_recv_ack, challenges_are_limited)
{
	unsigned int sent = 0;
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 1, 0);
	seg = rig_seg(&r, 0, 100);
	seg.ack++;
	for (int i = 0; i < 100; i++) {
		r.now += 4; /* 400 ms in all */
		cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
		if (xiw_tcp_rx_ack_due(&r.rx, r.now, true)) {
			rig_ack(&r);
			sent++;
		}
	}
	cr_assert_eq(sent, XIW_TCP_CHALLENGES);
	cr_assert_eq(r.rx.challenges.withheld, 100 - XIW_TCP_CHALLENGES);
	r.now += 100;
	rig_in(&r, &seg);
	cr_assert(xiw_tcp_rx_ack_due(&r.rx, r.now, true));
	/* Data outside the window is answered without a limit. */
	for (int i = 0; i < 50; i++) {
		seg = rig_seg(&r, RIG_WND, 10);
		rig_ack(&r);
		rig_in(&r, &seg);
		cr_assert(xiw_tcp_rx_ack_due(&r.rx, r.now, true));
	}
}

/* What the kernel socket must be told (RFC 9293 section 3.10.7.4, fifth check). */
Test(tcp_recv_ack, news)
{
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 0xffffff00, RIG_ECN);
	xiw_tcp_rx_set_snd(&r.rx, r.rx.snd_nxt + 5000);
	seg = rig_seg(&r, 0, 100);
	seg.ack = r.rx.snd_una;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_TAKE);
	cr_assert_eq(r.rx.feedback_due, 0);

	seg = rig_seg(&r, 0, 100);
	seg.ack = r.rx.snd_una + 100;
	seg.wnd = 400;
	seg.tsecr = 99;
	seg.nsack = 2;
	seg.sack[0].start = seg.ack + 10;
	seg.sack[0].end = seg.ack + 20;
	seg.flags |= XIW_TCP_ECE;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_TAKE);
	cr_assert_eq(r.rx.feedback_due, XIW_TCP_FEEDBACK_ACK | XIW_TCP_FEEDBACK_WND |
						XIW_TCP_FEEDBACK_SACK | XIW_TCP_FEEDBACK_ECE);
	cr_assert_eq(r.rx.feedback.wnd, 400);
	cr_assert_eq(r.rx.feedback.tsecr, 99);
	cr_assert_eq(r.rx.feedback.nsack, 2);
	cr_assert_eq(r.rx.feedback.sack[0].end, seg.sack[0].end);

	seg = rig_seg(&r, 500, 100);
	seg.ack = r.rx.snd_una;
	seg.wnd = 300;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_KEEP);
	cr_assert_eq(r.rx.feedback.wnd, 300);
	/* An older, reordered segment changes nothing: by SND.WL1 its window is stale. */
	xiw_tcp_rx_feedback_given(&r.rx);
	seg = rig_seg(&r, 400, 100);
	seg.ack = r.rx.snd_una - 50;
	seg.wnd = 200;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_KEEP);
	cr_assert_eq(r.rx.feedback_due, 0);
	cr_assert_eq(r.rx.snd_wnd, 300);
}

/* SACK blocks of an older ACK do not go with a newer one: they would look like D-SACK (RFC 2883). */
Test(tcp_recv_ack, news_of_blocks)
{
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 0xffffff00, RIG_ECN);
	xiw_tcp_rx_set_snd(&r.rx, r.rx.snd_nxt + 5000);
	seg = rig_seg(&r, 600, 10);
	seg.ack = r.rx.snd_una;
	seg.nsack = 1;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_KEEP);
	cr_assert_eq(r.rx.feedback.nsack, 1);
	seg = rig_seg(&r, 610, 10);
	seg.ack = r.rx.snd_una + 1;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_KEEP);
	cr_assert_eq(r.rx.feedback.nsack, 0);
}

/* A segment without data is dropped, but its acknowledgement counts. */
Test(tcp_recv_ack, news_without_data)
{
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 0xffffff00, RIG_ECN);
	xiw_tcp_rx_set_snd(&r.rx, r.rx.snd_nxt + 5000);
	xiw_tcp_rx_feedback_given(&r.rx);
	seg = rig_seg(&r, 620, 0);
	seg.ack = r.rx.snd_una + 1;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_DROP);
	cr_assert_eq(r.rx.feedback_due, XIW_TCP_FEEDBACK_ACK);

	/* The same window is reported once more if the kernel may have got another one elsewhere. */
	xiw_tcp_rx_feedback_given(&r.rx);
	xiw_tcp_rx_acked_elsewhere(&r.rx);
	seg = rig_seg(&r, 620, 10);
	seg.ack = r.rx.snd_una;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_KEEP);
	cr_assert_eq(r.rx.feedback_due, XIW_TCP_FEEDBACK_WND);
	xiw_tcp_rx_feedback_given(&r.rx);
	seg = rig_seg(&r, 630, 10);
	seg.ack = r.rx.snd_una;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_KEEP);
	cr_assert_eq(r.rx.feedback_due, 0);
}

/* An unacceptable segment changes nothing, and its ACK value is ignored. */
Test(tcp_recv_ack, no_news_from_outside_the_window)
{
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 1, 0);
	xiw_tcp_rx_set_snd(&r.rx, r.rx.snd_nxt + 10);
	seg = rig_seg(&r, RIG_WND, 10);
	seg.tsval++;
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
	cr_assert_eq(r.rx.feedback_due, 0);
	seg.ack++;
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
	cr_assert_eq(r.rx.drops[XIW_TCP_DROP_WINDOW], 2);
	cr_assert_eq(r.rx.ts_recent, 1 + RIG_TS);
}

/* Zero window: no data, but the ACK counts (RFC 9293 section 3.10.7.4). */
Test(tcp_recv_ack, news_at_zero_window)
{
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 1, 0);
	r.conf.right_edge = 1;
	r.conf.window = 0;
	xiw_tcp_rx_init(&r.rx, &r.conf);
	xiw_tcp_rx_set_snd(&r.rx, r.rx.snd_nxt + 10);
	seg = rig_seg(&r, 0, 1);
	seg.ack = r.rx.snd_una + 5;
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
	cr_assert_eq(r.rx.drops[XIW_TCP_DROP_WINDOW], 1);
	cr_assert_eq(r.rx.feedback_due, XIW_TCP_FEEDBACK_ACK);
	seg = rig_seg(&r, -1, 2);
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
	cr_assert_eq(r.rx.snd_una, r.rx.snd_nxt);
	/* An unacceptable ACK value does not count, with or without data. */
	for (uint32_t len = 0; len < 2; len++) {
		seg = rig_seg(&r, 0, len);
		seg.ack++;
		cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
		cr_assert_eq(r.rx.drops[XIW_TCP_DROP_ACK_NEW], len + 1);
		cr_assert_eq(r.rx.snd_una, r.rx.snd_nxt);
	}
}
