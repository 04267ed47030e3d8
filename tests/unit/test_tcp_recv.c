// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the receiver accepts, trims and keeps, and in which order it gives it out. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/tcp_rig.h"

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
	bool ack; /* an ACK is due at the end of the batch, without an advance */
};

/* RFC 9293 section 3.10.7.4: table 6 and the trimming after it, at both edges of the window. */
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

/* A kept segment's turn comes after a part of it, or all of it, was taken from another segment. */
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
	/* The FIN has a number: the same data without FIN is a duplicate, more data is not. */
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
	/* The caller refuses the segment (wrong CRC): nothing moves, and no ACK is due. */
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
