// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which window is offered, and when a window update is sent. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/tcp_rig.h"

static bool due(struct rig *r)
{
	return xiw_tcp_rx_ack_due(&r->rx, r->now, true);
}

static uint32_t sent_edge(const struct rig *r)
{
	return r->sent.ack + ((uint32_t)r->sent.wnd << r->rx.rcv_wscale) - r->base;
}

Test(tcp_window, window_is_offered)
{
	RIG_EACH_BASE(b)
	{
		struct rig r;

		rig_init(&r, rig_bases[b], 0);
		rig_data(&r, 0, 1000);
		rig_data(&r, 0, 1000);
		rig_ack(&r);
		cr_assert_eq(sent_edge(&r), RIG_WND + 2000);
		/* With less to offer, the edge stays. */
		xiw_tcp_rx_set_window(&r.rx, 3000);
		rig_data(&r, 0, 1000);
		rig_data(&r, 0, 1000);
		cr_assert(due(&r));
		rig_ack(&r);
		cr_assert_eq(sent_edge(&r), RIG_WND + 2000);
		cr_assert_eq(r.sent.wnd, 8000);
		/* Nothing more is offered until all of it is used. */
		xiw_tcp_rx_set_window(&r.rx, 0);
		rig_data(&r, 0, 8000);
		rig_ack(&r);
		cr_assert_eq(r.sent.wnd, 0);
		cr_assert_eq(rig_data(&r, 0, 1), XIW_TCP_DROP);
		rig_ack(&r);
		/* A small increase is not offered (silly window); a large one is sent as an update. */
		xiw_tcp_rx_set_window(&r.rx, RIG_MSS - 1);
		cr_assert_not(due(&r));
		rig_ack(&r);
		cr_assert_eq(r.sent.wnd, 0);
		xiw_tcp_rx_set_window(&r.rx, 2 * RIG_MSS - 1);
		cr_assert_not(due(&r));
		xiw_tcp_rx_set_window(&r.rx, 2 * RIG_MSS);
		cr_assert(due(&r));
		cr_assert_eq(xiw_tcp_rx_deadline(&r.rx), 0);
		rig_ack(&r);
		cr_assert_eq(r.sent.wnd, 2 * RIG_MSS);
		cr_assert_not(due(&r));
	}
}

/* An edge that others advertised is kept, as far as a window field reaches. */
Test(tcp_window, promise_of_others)
{
	RIG_EACH_BASE(b)
	{
		struct rig r;

		rig_init(&r, rig_bases[b], 0);
		rig_data(&r, 0, 1000);
		rig_data(&r, 0, 1000);
		xiw_tcp_rx_promised(&r.rx, r.base + RIG_WND); /* long past */
		xiw_tcp_rx_promised(&r.rx, r.base + 2000 + 0xfff0);
		rig_ack(&r);
		cr_assert_eq(r.sent.wnd, 0xfff0);
		xiw_tcp_rx_promised(&r.rx, r.base + 2000 + 0x20001);
		rig_data(&r, 0, 0);
		rig_ack(&r);
		cr_assert_eq(r.sent.wnd, 0xffff);
	}
}

/* A buffer smaller than two segments: half of it is worth an update. */
Test(tcp_window, window_update_of_half_the_buffer)
{
	struct rig r;

	rig_init(&r, 1, 0);
	r.conf.right_edge = 1;
	r.conf.window = 0;
	r.conf.buffer = 1200;
	xiw_tcp_rx_init(&r.rx, &r.conf);
	xiw_tcp_rx_set_window(&r.rx, 599);
	cr_assert_not(due(&r));
	xiw_tcp_rx_set_window(&r.rx, 600);
	cr_assert(due(&r));
	rig_ack(&r);
	cr_assert_eq(r.sent.wnd, 600);
}

/* RFC 7323 section 2.4 and appendix F: its example, where the edge must not seem to move left. */
Test(tcp_window, window_scale_does_not_retract)
{
	struct rig r;

	rig_init(&r, 1000, 0);
	r.conf.rcv_wscale = 7;
	r.conf.right_edge = 1000 + 256;
	r.conf.window = 300;
	xiw_tcp_rx_init(&r.rx, &r.conf);
	rig_data(&r, 0, 40);
	xiw_tcp_rx_set_window(&r.rx, 260);
	rig_ack(&r);
	cr_assert_eq(r.sent.wnd, 2);
	xiw_tcp_rx_set_window(&r.rx, 255);
	rig_data(&r, 0, 5);
	rig_ack(&r);
	cr_assert_eq(r.sent.wnd, 2);
	cr_assert_eq(r.rx.right_edge, 1045 + 256);
	/* The receiver takes what it offered. */
	cr_assert_eq(rig_data(&r, 255, 1), XIW_TCP_KEEP);
	cr_assert_eq(rig_data(&r, 256, 1), XIW_TCP_DROP);
}

Test(tcp_window, window_field_is_bounded)
{
	struct rig r;

	rig_init(&r, 1, 0);
	r.conf.right_edge = 1 + 200000;
	xiw_tcp_rx_init(&r.rx, &r.conf);
	cr_assert_eq(r.rx.right_edge, 1 + 65535);
	xiw_tcp_rx_set_window(&r.rx, 0xffffffff);
	rig_data(&r, 0, 2000);
	rig_ack(&r);
	cr_assert_eq(r.sent.wnd, 65535);
	r.conf.rcv_wscale = 200;
	xiw_tcp_rx_init(&r.rx, &r.conf);
	cr_assert_eq(r.rx.rcv_wscale, 14);
	xiw_tcp_rx_set_window(&r.rx, 0xffffffff);
	rig_ack(&r);
	cr_assert_eq(r.sent.wnd, 65535);
	cr_assert_eq(r.rx.right_edge, 1 + (65535u << 14));
}
