// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/unit/tcp_rig.h"

#include <criterion/criterion.h>
#include <string.h>

const uint32_t rig_bases[RIG_BASES] = {
	1000, 0, 0xfffffff0, 0xffffd8f0 /* right edge at 0 */, 0x7ffffff0, 0x80000000,
};

void rig_init(struct rig *r, uint32_t base, int opts)
{
	memset(r, 0, sizeof(*r));
	r->base = base;
	r->now = 1000000;
	r->conf = (struct xiw_tcp_rx_conf){
		.sport = 0x1111,
		.dport = 0x2222,
		.rcv_nxt = base,
		.right_edge = base + RIG_WND,
		.last_ack_sent = base,
		.window = RIG_WND,
		.buffer = RIG_WND,
		.snd_una = base + RIG_SND,
		.snd_nxt = base + RIG_SND,
		.peer_wnd = 500,
		.mss = RIG_MSS,
		.ts_ok = !(opts & RIG_NO_TS),
		.sack_ok = !(opts & RIG_NO_SACK),
		.ecn_ok = !!(opts & RIG_ECN),
		.ts_recent = base + RIG_TS,
		.now_ms = r->now,
		.max_keep = RIG_NODES,
	};
	xiw_tcp_rx_init(&r->rx, &r->conf);
}

struct xiw_tcp_seg rig_seg(const struct rig *r, int32_t off, uint32_t len)
{
	return (struct xiw_tcp_seg){
		.seq = r->rx.rcv_nxt + (uint32_t)off,
		.len = len,
		.ack = r->rx.snd_nxt,
		.wnd = 500,
		.flags = XIW_TCP_ACK,
		.has_ts = true,
		.tsval = r->base + RIG_TS,
		.tsecr = 7,
	};
}

enum xiw_tcp_action rig_in(struct rig *r, const struct xiw_tcp_seg *seg)
{
	memset(&r->take, 0xee, sizeof(r->take));
	return xiw_tcp_rx_segment(&r->rx, seg, r->now, &r->take);
}

enum xiw_tcp_action rig_feed(struct rig *r, const struct xiw_tcp_seg *seg)
{
	enum xiw_tcp_action act = rig_in(r, seg), turn;
	struct xiw_tcp_take take;
	struct xiw_tcp_keep *n;

	if (act == XIW_TCP_KEEP) {
		cr_assert_lt(r->used, RIG_NODES);
		n = &r->node[r->used];
		xiw_tcp_keep_set(n, &r->take);
		act = xiw_tcp_rx_keep(&r->rx, n);
		if (act == XIW_TCP_KEEP)
			r->used++;
		return act;
	}
	if (act != XIW_TCP_TAKE)
		return act;
	xiw_tcp_rx_advance(&r->rx, r->take.len);
	while ((n = xiw_tcp_rx_next(&r->rx))) {
		turn = xiw_tcp_rx_turn(&r->rx, n, &take);
		if (turn == XIW_TCP_CONTROL)
			break;
		if (turn == XIW_TCP_TAKE)
			xiw_tcp_rx_advance(&r->rx, take.len);
	}
	return act;
}

enum xiw_tcp_action rig_data(struct rig *r, int32_t off, uint32_t len)
{
	struct xiw_tcp_seg seg = rig_seg(r, off, len);

	return rig_feed(r, &seg);
}

void rig_ack(struct rig *r)
{
	int len = xiw_tcp_rx_build_ack(&r->rx, 0xabcd, r->ack, sizeof(r->ack));

	cr_assert_geq(len, XIW_TCP_MIN);
	memset(&r->sent, 0, sizeof(r->sent));
	cr_assert_eq(xiw_tcp_parse(r->ack, sizeof(r->ack), (size_t)len, &r->sent), len);
	cr_assert_eq(r->sent.len, 0);
}

void rig_expect_block(const struct rig *r, unsigned int i, uint32_t start, uint32_t end)
{
	cr_assert_lt(i, r->sent.nsack, "block %u of %u", i, r->sent.nsack);
	cr_expect_eq(r->sent.sack[i].start - r->base, start, "block %u: start %u, not %u", i,
		     r->sent.sack[i].start - r->base, start);
	cr_expect_eq(r->sent.sack[i].end - r->base, end, "block %u: end %u, not %u", i,
		     r->sent.sack[i].end - r->base, end);
}
