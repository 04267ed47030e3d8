// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Header prediction: a segment that is expected has the same effect with the prediction as with all checks. */
#include <criterion/criterion.h>
#include <string.h>

#include "tcp/recv.c"

enum { SEED = 0x7c91, STEPS = 400000 };

static uint32_t state = SEED;

static uint32_t rnd(uint32_t n)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % n;
}

/* Mostly `usual`, else a number near it or far away. */
static uint32_t near(uint32_t usual)
{
	if (rnd(24))
		return usual;
	return rnd(2) ? usual + rnd(5) - 2 : state;
}

static struct xiw_tcp_seg segment(const struct xiw_tcp_rx *rx)
{
	static const uint8_t flags[] = { XIW_TCP_FIN, XIW_TCP_SYN, XIW_TCP_RST, XIW_TCP_URG,
					 XIW_TCP_ECE, XIW_TCP_CWR, XIW_TCP_PSH, XIW_TCP_PSH };
	struct xiw_tcp_seg seg = {
		.seq = near(rx->rcv_nxt),
		.ack = near(rx->snd_una),
		.len = rnd(10)	? 1 + rnd(3000)
		       : rnd(3) ? rx->right_edge - rx->rcv_nxt
				: rnd(2) * 70000,
		.wnd = (uint16_t)near(rx->snd_wnd),
		.flags = XIW_TCP_ACK,
		.has_ts = rnd(40) != 0,
		.tsval = near(rx->ts_recent + rnd(3)),
		.ecn = rnd(20) ? 0 : XIW_ECN_CE,
		.nsack = rnd(40) ? 0 : 1,
	};

	if (!rnd(6))
		seg.flags ^= rnd(9) ? flags[rnd(8)] : XIW_TCP_ACK;
	return seg;
}

static void begin(struct xiw_tcp_rx *rx)
{
	const struct xiw_tcp_rx_conf conf = {
		.rcv_nxt = state,
		.last_ack_sent = state,
		.right_edge = state,
		.window = 1 << 20,
		.buffer = 1 << 20,
		.snd_una = 77,
		.snd_nxt = 77 + rnd(2) * 1000,
		.peer_wnd = 500,
		.mss = 1448,
		.rcv_wscale = 7,
		.snd_wscale = 7,
		.ts_ok = rnd(2),
		.sack_ok = true,
		.ecn_ok = rnd(2),
		.now_ms = 1000,
		.max_keep = 4,
	};

	xiw_tcp_rx_init(rx, &conf);
	rx->right_edge = rx->rcv_nxt + (1 << 20);
}

Test(tcp_predict, is_what_the_checks_do)
{
	static struct xiw_tcp_keep node;
	uint32_t predicted = 0, taken = 0;
	struct xiw_tcp_rx rx;

	for (int i = 0; i < STEPS; i++) {
		struct xiw_tcp_rx checked, straight;
		struct xiw_tcp_take a = { 0 }, b = { 0 };
		struct xiw_tcp_seg seg;
		enum xiw_tcp_action action;

		if (i % 200 == 0)
			begin(&rx);
		seg = segment(&rx);
		rx.now_ms++;
		rx.keep_head = NULL;
		memcpy(&checked, &rx, sizeof(rx));
		memcpy(&straight, &rx, sizeof(rx));
		action = segment_checked(&checked, &seg, &a);
		taken += action == XIW_TCP_TAKE;
		/* A gap is never as expected. */
		straight.keep_head = &node;
		cr_assert(!expected(&straight, &seg));
		straight.keep_head = NULL;
		if (expected(&straight, &seg)) {
			predicted++;
			cr_assert_eq(action, XIW_TCP_TAKE, "step %d", i);
			cr_assert_eq(take_expected(&straight, &seg, &b), XIW_TCP_TAKE);
			cr_assert(!memcmp(&a, &b, sizeof(a)), "step %d: another range", i);
			cr_assert(!memcmp(&checked, &straight, sizeof(rx)),
				  "step %d: another state", i);
		}
		if (action == XIW_TCP_TAKE)
			xiw_tcp_rx_advance(&checked, a.len);
		if (!rnd(8))
			checked.last_ack_sent = checked.rcv_nxt;
		checked.right_edge = checked.rcv_nxt + 1 + rnd(1 << 20);
		memcpy(&rx, &checked, sizeof(rx));
	}
	cr_assert_gt(predicted, STEPS / 4);
	cr_assert_gt(taken, predicted);
}
