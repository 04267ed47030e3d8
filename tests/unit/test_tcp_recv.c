// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Acceptability, trimming, order, ACK values, news for the kernel. */
#include "tests/unit/test_tcp_rig.h"

#define F_DATA XIW_TCP_ACK
#define F_FIN (XIW_TCP_ACK | XIW_TCP_FIN)
#define F_URG (XIW_TCP_ACK | XIW_TCP_URG)
#define NONE XIW_TCP_DROP_MAX

struct accept_case {
	const char *name;
	uint32_t wnd;
	int32_t off;
	uint32_t len;
	uint8_t flags;
	enum xiw_tcp_action want;
	enum xiw_tcp_drop reason;
	uint32_t take_off, take_len;
	bool fin; /* FIN left in take.flags */
	bool ack; /* an ACK is owed at the end of the batch, without advancing */
};

/* RFC 9293 section 3.10.7.4, table 6, and what comes after it, at both edges of the window. */
static const struct accept_case accept_cases[] = {
	/* data, window open */
	{ "in order", 5000, 0, 100, F_DATA, XIW_TCP_TAKE, NONE, 0, 100, 0, 0 },
	{ "ends below rcv_nxt", 5000, -100, 99, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_DUP, 0, 0, 0,
	  1 },
	{ "ends at rcv_nxt", 5000, -100, 100, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_DUP, 0, 0, 0, 1 },
	{ "one new octet", 5000, -100, 101, F_DATA, XIW_TCP_TAKE, NONE, 100, 1, 0, 1 },
	{ "starts one below", 5000, -1, 100, F_DATA, XIW_TCP_TAKE, NONE, 1, 99, 0, 1 },
	{ "starts one above", 5000, 1, 100, F_DATA, XIW_TCP_KEEP, NONE, 0, 100, 0, 0 },
	{ "fills the window", 5000, 0, 5000, F_DATA, XIW_TCP_TAKE, NONE, 0, 5000, 0, 0 },
	{ "one past the edge", 5000, 0, 5001, F_DATA, XIW_TCP_TAKE, NONE, 0, 5000, 0, 0 },
	{ "covers all and more", 5000, -10, 5020, F_DATA, XIW_TCP_TAKE, NONE, 10, 5000, 0, 1 },
	{ "ends at the edge", 5000, 4900, 100, F_DATA, XIW_TCP_KEEP, NONE, 0, 100, 0, 0 },
	{ "straddles the edge", 5000, 4950, 100, F_DATA, XIW_TCP_KEEP, NONE, 0, 50, 0, 0 },
	{ "last octet", 5000, 4999, 100, F_DATA, XIW_TCP_KEEP, NONE, 0, 1, 0, 0 },
	{ "at the edge", 5000, 5000, 100, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_WINDOW, 0, 0, 0, 1 },
	{ "past the edge", 5000, 5001, 1, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_WINDOW, 0, 0, 0, 1 },
	{ "far below", 5000, -2000000000, 9, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_DUP, 0, 0, 0, 1 },
	{ "far above", 5000, 2000000000, 9, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_WINDOW, 0, 0, 0, 1 },
	{ "too long", 5000, 0, 65536, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_LENGTH, 0, 0, 0, 0 },
	{ "absurdly long", 5000, 0, 0xffffffff, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_LENGTH, 0, 0, 0,
	  0 },
	/* data, window closed: never acceptable */
	{ "closed, in order", 0, 0, 1, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_WINDOW, 0, 0, 0, 1 },
	{ "closed, straddles", 0, -5, 10, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_WINDOW, 0, 0, 0, 1 },
	{ "closed, old", 0, -5, 5, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_DUP, 0, 0, 0, 1 },
	{ "closed, above", 0, 1, 5, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_WINDOW, 0, 0, 0, 1 },
	{ "closed, FIN", 0, 0, 0, F_FIN, XIW_TCP_DROP, XIW_TCP_DROP_WINDOW, 0, 0, 0, 1 },
	/* no data */
	{ "empty", 5000, 0, 0, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_EMPTY, 0, 0, 0, 0 },
	{ "empty, last number", 5000, 4999, 0, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_EMPTY, 0, 0, 0,
	  0 },
	{ "empty, at the edge", 5000, 5000, 0, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_WINDOW, 0, 0, 0,
	  1 },
	{ "keepalive", 5000, -1, 0, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_WINDOW, 0, 0, 0, 1 },
	{ "empty, closed", 0, 0, 0, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_EMPTY, 0, 0, 0, 0 },
	{ "empty, closed, above", 0, 1, 0, F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_WINDOW, 0, 0, 0, 1 },
	/* control */
	{ "FIN in order", 5000, 0, 0, F_FIN, XIW_TCP_CONTROL, NONE, 0, 0, 1, 0 },
	{ "data and FIN", 5000, 0, 100, F_FIN, XIW_TCP_CONTROL, NONE, 0, 100, 1, 0 },
	{ "old data and FIN", 5000, -100, 100, F_FIN, XIW_TCP_CONTROL, NONE, 100, 0, 1, 1 },
	{ "old FIN", 5000, -100, 99, F_FIN, XIW_TCP_DROP, XIW_TCP_DROP_DUP, 0, 0, 0, 1 },
	{ "FIN out of order", 5000, 1, 0, F_FIN, XIW_TCP_KEEP, NONE, 0, 0, 1, 0 },
	{ "FIN on the last number", 5000, 4999, 0, F_FIN, XIW_TCP_KEEP, NONE, 0, 0, 1, 0 },
	{ "FIN at the edge", 5000, 5000, 0, F_FIN, XIW_TCP_DROP, XIW_TCP_DROP_WINDOW, 0, 0, 0, 1 },
	{ "FIN inside, data fits", 5000, 1, 4998, F_FIN, XIW_TCP_KEEP, NONE, 0, 4998, 1, 0 },
	{ "FIN cut off", 5000, 1, 4999, F_FIN, XIW_TCP_KEEP, NONE, 0, 4999, 0, 0 },
	{ "FIN cut off, in order", 5000, 0, 5000, F_FIN, XIW_TCP_TAKE, NONE, 0, 5000, 0, 0 },
	{ "URG in order", 5000, 0, 100, F_URG, XIW_TCP_CONTROL, NONE, 0, 100, 0, 0 },
	{ "URG out of order", 5000, 1, 100, F_URG, XIW_TCP_KEEP, NONE, 0, 100, 0, 0 },
	{ "URG old", 5000, -100, 100, F_URG, XIW_TCP_DROP, XIW_TCP_DROP_DUP, 0, 0, 0, 1 },
	{ "URG without data", 5000, 0, 0, F_URG, XIW_TCP_CONTROL, NONE, 0, 0, 0, 0 },
	{ "URG without data, above", 5000, 1, 0, F_URG, XIW_TCP_DROP, XIW_TCP_DROP_EMPTY, 0, 0, 0,
	  0 },
	{ "RST", 5000, 0, 0, XIW_TCP_RST, XIW_TCP_DROP, XIW_TCP_DROP_RST, 0, 0, 0, 0 },
	{ "RST with data", 5000, 0, 9, XIW_TCP_RST | F_DATA, XIW_TCP_DROP, XIW_TCP_DROP_RST, 0, 0,
	  0, 0 },
	{ "SYN", 5000, 77777, 0, XIW_TCP_SYN, XIW_TCP_DROP, XIW_TCP_DROP_SYN, 0, 0, 0, 1 },
	{ "no ACK bit", 5000, 0, 9, 0, XIW_TCP_DROP, XIW_TCP_DROP_NO_ACK, 0, 0, 0, 0 },
};

static void run_accept(const struct accept_case *c, uint32_t base)
{
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, base, 0);
	r.conf.right_edge = base + c->wnd;
	r.conf.window = c->wnd;
	xiw_tcp_rx_init(&r.rx, &r.conf);
	seg = rig_seg(&r, c->off, c->len);
	seg.flags = c->flags;
	cr_expect_eq(rig_in(&r, &seg), c->want, "%s, base %#x", c->name, base);
	for (unsigned int i = 0; i < XIW_TCP_DROP_MAX; i++)
		cr_expect_eq(r.rx.drops[i], i == c->reason, "%s, base %#x: %s", c->name, base,
			     xiw_tcp_drop_name(i));
	cr_expect_eq(xiw_tcp_rx_ack_due(&r.rx, r.now, true), c->ack, "%s, base %#x: ACK", c->name,
		     base);
	cr_expect_eq(r.rx.rcv_nxt, base, "%s", c->name);
	if (c->want == XIW_TCP_DROP)
		return;
	cr_expect_eq(r.take.off, c->take_off, "%s: off %u", c->name, r.take.off);
	cr_expect_eq(r.take.len, c->take_len, "%s: len %u", c->name, r.take.len);
	cr_expect_eq(r.take.seq, seg.seq + r.take.off, "%s", c->name);
	cr_expect_eq(r.take.flags, (c->flags & ~XIW_TCP_FIN) | (c->fin ? XIW_TCP_FIN : 0),
		     "%s: flags", c->name);
}

Test(tcp_recv, acceptability)
{
	RIG_EACH_BASE(b)
	for (size_t i = 0; i < sizeof(accept_cases) / sizeof(*accept_cases); i++)
		run_accept(&accept_cases[i], rig_bases[b]);
}

Test(tcp_recv, drop_names)
{
	for (int i = 0; i < XIW_TCP_DROP_MAX; i++)
		cr_assert_str_neq(xiw_tcp_drop_name(i), "unknown");
	cr_assert_str_eq(xiw_tcp_drop_name(XIW_TCP_DROP_MAX), "unknown");
}

Test(tcp_recv, gap_fills)
{
	RIG_EACH_BASE(b)
	{
		struct rig r;

		rig_init(&r, rig_bases[b], 0);
		cr_assert_eq(rig_data(&r, 100, 100), XIW_TCP_KEEP);
		cr_assert_eq(rig_data(&r, 300, 100), XIW_TCP_KEEP);
		cr_assert_eq(rig_data(&r, 100, 100), XIW_TCP_DROP);
		cr_assert_eq(r.rx.drops[XIW_TCP_DROP_DUP], 1);
		cr_assert_eq(r.rx.kept, 2);
		cr_assert_eq(rig_data(&r, 0, 100), XIW_TCP_TAKE);
		cr_assert_eq(r.rx.rcv_nxt - r.base, 200);
		cr_assert_eq(r.rx.kept, 1);
		cr_assert_eq(rig_data(&r, -50, 250), XIW_TCP_TAKE);
		cr_assert_eq(r.rx.rcv_nxt - r.base, 500 - 100);
		cr_assert_eq(r.rx.kept, 0);
		cr_assert_null(r.rx.keep_head);
	}
}

/* Kept, and its turn comes in the middle of it, or when all of it was taken otherwise. */
Test(tcp_recv, turns)
{
	struct xiw_tcp_take take;
	struct xiw_tcp_keep *n;
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 0xffffff80, 0);
	cr_assert_eq(rig_data(&r, 100, 100), XIW_TCP_KEEP);
	cr_assert_eq(rig_data(&r, 50, 100), XIW_TCP_KEEP);
	cr_assert_eq(rig_data(&r, 200, 50), XIW_TCP_KEEP);
	cr_assert_null(xiw_tcp_rx_next(&r.rx));
	seg = rig_seg(&r, 0, 220);
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_TAKE);
	xiw_tcp_rx_advance(&r.rx, 220);

	n = xiw_tcp_rx_next(&r.rx);
	cr_assert_eq(n->seq, r.base + 50);
	cr_assert(n->state & XIW_TCP_KEEP_DUP);
	cr_assert_eq(xiw_tcp_rx_turn(&r.rx, n, &take), XIW_TCP_DROP);
	n = xiw_tcp_rx_next(&r.rx);
	cr_assert_eq(n->seq, r.base + 100);
	cr_assert(n->state & XIW_TCP_KEEP_DUP);
	n = xiw_tcp_rx_next(&r.rx);
	cr_assert_eq(n->seq, r.base + 200);
	cr_assert_eq(xiw_tcp_rx_turn(&r.rx, n, &take), XIW_TCP_TAKE);
	cr_assert_eq(take.off, 20);
	cr_assert_eq(take.len, 30);
	cr_assert_null(xiw_tcp_rx_next(&r.rx));
}

Test(tcp_recv, control_waits_for_its_turn)
{
	struct xiw_tcp_take take;
	struct xiw_tcp_keep *n;
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 0xfffffff0, 0);
	seg = rig_seg(&r, 100, 10);
	seg.flags |= XIW_TCP_FIN;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_KEEP);
	/* The FIN's number counts: the same data without FIN is a duplicate, more is not. */
	cr_assert_eq(rig_data(&r, 100, 10), XIW_TCP_DROP);
	seg = rig_seg(&r, 50, 50);
	seg.flags |= XIW_TCP_URG;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_KEEP);

	seg = rig_seg(&r, 0, 50);
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_TAKE);
	xiw_tcp_rx_advance(&r.rx, 50);
	n = xiw_tcp_rx_next(&r.rx);
	cr_assert_eq(xiw_tcp_rx_turn(&r.rx, n, &take), XIW_TCP_CONTROL);
	cr_assert_eq(take.len, 50);
	xiw_tcp_rx_advance(&r.rx, 50);
	n = xiw_tcp_rx_next(&r.rx);
	cr_assert_eq(xiw_tcp_rx_turn(&r.rx, n, &take), XIW_TCP_CONTROL);
	cr_assert_eq(take.len, 10);
	cr_assert(take.flags & XIW_TCP_FIN);
}

Test(tcp_recv, partial_consumption)
{
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 5, 0);
	seg = rig_seg(&r, 0, 100);
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_TAKE);
	xiw_tcp_rx_advance(&r.rx, 60);
	cr_assert_eq(r.rx.rcv_nxt, 65);
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_TAKE);
	cr_assert_eq(r.take.off, 60);
	cr_assert_eq(r.take.len, 40);
	/* Refused (its CRC was wrong): nothing moves and nothing is owed by that. */
	rig_ack(&r);
	seg = rig_seg(&r, 0, 100);
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_TAKE);
	xiw_tcp_rx_advance(&r.rx, 0);
	cr_assert_eq(r.rx.rcv_nxt, 65);
	cr_assert_eq(xiw_tcp_rx_deadline(&r.rx), XIW_TCP_NEVER);
}

Test(tcp_recv, keeping_is_bounded)
{
	struct rig r;

	rig_init(&r, 1, 0);
	r.rx.max_keep = 3;
	for (int i = 1; i <= 3; i++)
		cr_assert_eq(rig_data(&r, i * 200, 100), XIW_TCP_KEEP);
	cr_assert_eq(rig_data(&r, 1000, 100), XIW_TCP_DROP);
	cr_assert_eq(r.rx.drops[XIW_TCP_DROP_FULL], 1);
	cr_assert(xiw_tcp_rx_ack_due(&r.rx, r.now, true));
	cr_assert_eq(rig_data(&r, 0, 200), XIW_TCP_TAKE);
	cr_assert_eq(r.rx.kept, 2);
	cr_assert_eq(rig_data(&r, 1000, 100), XIW_TCP_KEEP);
}

Test(tcp_recv, flush)
{
	struct xiw_tcp_keep *n;
	struct rig r;

	rig_init(&r, 0xfffffe00, 0);
	cr_assert_null(xiw_tcp_rx_flush(&r.rx));
	rig_data(&r, 500, 50);
	rig_data(&r, 100, 50);
	rig_data(&r, 700, 50);
	n = xiw_tcp_rx_flush(&r.rx);
	cr_assert_eq(n->seq - r.base, 100);
	cr_assert_eq(n->next->seq - r.base, 500);
	cr_assert_eq(n->next->next->seq - r.base, 700);
	cr_assert_null(n->next->next->next);
	cr_assert_eq(r.rx.kept, 0);
	rig_ack(&r);
	cr_assert_eq(r.sent.nsack, 0);
	cr_assert_eq(rig_data(&r, 0, 1000), XIW_TCP_TAKE);
	cr_assert_eq(r.rx.rcv_nxt - r.base, 1000);
}

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

Test(tcp_recv, ack_acceptability)
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
			cr_expect_eq(r.rx.inject_needed, XIW_TCP_NEWS_ACK, "%s", c->name);
			cr_expect_eq(r.rx.news.ack, seg.ack, "%s", c->name);
		} else {
			cr_expect_eq(r.rx.snd_una, una, "%s", c->name);
			cr_expect_eq(r.rx.inject_needed, 0, "%s", c->name);
		}
	}
}

/* Pure ACKs pass this machine by, so SND.UNA lags; it must not be left 2^31 behind. */
Test(tcp_recv, snd_una_is_brought_along)
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
Test(tcp_recv, ack_range_at_largest_scale)
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

Test(tcp_recv, challenges_are_limited)
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
	cr_assert_eq(r.rx.challenges_withheld, 100 - XIW_TCP_CHALLENGES);
	r.now += 100;
	rig_in(&r, &seg);
	cr_assert(xiw_tcp_rx_ack_due(&r.rx, r.now, true));
	/* Data out of the window is answered without limit. */
	for (int i = 0; i < 50; i++) {
		seg = rig_seg(&r, RIG_WND, 10);
		rig_ack(&r);
		rig_in(&r, &seg);
		cr_assert(xiw_tcp_rx_ack_due(&r.rx, r.now, true));
	}
}

/* What the kernel socket must be told (RFC 9293 section 3.10.7.4, fifth check). */
Test(tcp_recv, news)
{
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 0xffffff00, RIG_ECN);
	xiw_tcp_rx_set_snd(&r.rx, r.rx.snd_nxt + 5000);
	seg = rig_seg(&r, 0, 100);
	seg.ack = r.rx.snd_una;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_TAKE);
	cr_assert_eq(r.rx.inject_needed, 0);

	seg = rig_seg(&r, 0, 100);
	seg.ack = r.rx.snd_una + 100;
	seg.wnd = 400;
	seg.tsecr = 99;
	seg.nsack = 2;
	seg.sack[0].start = seg.ack + 10;
	seg.sack[0].end = seg.ack + 20;
	seg.flags |= XIW_TCP_ECE;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_TAKE);
	cr_assert_eq(r.rx.inject_needed,
		     XIW_TCP_NEWS_ACK | XIW_TCP_NEWS_WND | XIW_TCP_NEWS_SACK | XIW_TCP_NEWS_ECE);
	cr_assert_eq(r.rx.news.wnd, 400);
	cr_assert_eq(r.rx.news.tsecr, 99);
	cr_assert_eq(r.rx.news.nsack, 2);
	cr_assert_eq(r.rx.news.sack[0].end, seg.sack[0].end);

	seg = rig_seg(&r, 500, 100);
	seg.ack = r.rx.snd_una;
	seg.wnd = 300;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_KEEP);
	cr_assert_eq(r.rx.news.wnd, 300);
	/* An older segment (reordered) says nothing: its window is stale by SND.WL1. */
	xiw_tcp_rx_injected(&r.rx);
	seg = rig_seg(&r, 400, 100);
	seg.ack = r.rx.snd_una - 50;
	seg.wnd = 200;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_KEEP);
	cr_assert_eq(r.rx.inject_needed, 0);
	cr_assert_eq(r.rx.snd_wnd, 300);

	/* Blocks of an older ACK do not go with a newer one: they would look like D-SACK. */
	seg = rig_seg(&r, 600, 10);
	seg.ack = r.rx.snd_una;
	seg.nsack = 1;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_KEEP);
	cr_assert_eq(r.rx.news.nsack, 1);
	seg = rig_seg(&r, 610, 10);
	seg.ack = r.rx.snd_una + 1;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_KEEP);
	cr_assert_eq(r.rx.news.nsack, 0);

	/* A segment without data is dropped, its news are not. */
	xiw_tcp_rx_injected(&r.rx);
	seg = rig_seg(&r, 620, 0);
	seg.ack = r.rx.snd_una + 1;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_DROP);
	cr_assert_eq(r.rx.inject_needed, XIW_TCP_NEWS_ACK);

	/* The same window is news once, when others may have been told elsewhere. */
	xiw_tcp_rx_injected(&r.rx);
	xiw_tcp_rx_acked_elsewhere(&r.rx);
	seg = rig_seg(&r, 620, 10);
	seg.ack = r.rx.snd_una;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_KEEP);
	cr_assert_eq(r.rx.inject_needed, XIW_TCP_NEWS_WND);
	xiw_tcp_rx_injected(&r.rx);
	seg = rig_seg(&r, 630, 10);
	seg.ack = r.rx.snd_una;
	cr_assert_eq(rig_feed(&r, &seg), XIW_TCP_KEEP);
	cr_assert_eq(r.rx.inject_needed, 0);
}

/* An unacceptable segment says nothing, and its ACK value is not even looked at. */
Test(tcp_recv, no_news_from_outside_the_window)
{
	struct xiw_tcp_seg seg;
	struct rig r;

	rig_init(&r, 1, 0);
	xiw_tcp_rx_set_snd(&r.rx, r.rx.snd_nxt + 10);
	seg = rig_seg(&r, RIG_WND, 10);
	seg.tsval++;
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
	cr_assert_eq(r.rx.inject_needed, 0);
	seg.ack++;
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
	cr_assert_eq(r.rx.drops[XIW_TCP_DROP_WINDOW], 2);
	cr_assert_eq(r.rx.ts_recent, 1 + RIG_TS);
}

/* Zero window: no data, but the ACK counts (RFC 9293 section 3.10.7.4). */
Test(tcp_recv, news_at_zero_window)
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
	cr_assert_eq(r.rx.inject_needed, XIW_TCP_NEWS_ACK);
	seg = rig_seg(&r, -1, 2);
	cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
	cr_assert_eq(r.rx.snd_una, r.rx.snd_nxt);
	/* A false one does not, with or without data. */
	for (uint32_t len = 0; len < 2; len++) {
		seg = rig_seg(&r, 0, len);
		seg.ack++;
		cr_assert_eq(rig_in(&r, &seg), XIW_TCP_DROP);
		cr_assert_eq(r.rx.drops[XIW_TCP_DROP_ACK_NEW], len + 1);
		cr_assert_eq(r.rx.snd_una, r.rx.snd_nxt);
	}
}
