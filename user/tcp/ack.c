// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When to acknowledge, what window to offer, and what the ACK says. */
#include <errno.h>

#include "tcp/keep.h"
#include "tcp/recv.h"
#include "tcp/segment.h"

void xiw_tcp_rx_set_window(struct xiw_tcp_rx *rx, uint32_t octets)
{
	uint32_t most = 0xffffu << rx->rcv_wscale;

	if (octets > most)
		octets = most;
	if (octets > rx->buffer)
		rx->buffer = octets;
	/* Rounded down to what the window field can say, as rounding up would promise more than there is. */
	rx->window = octets >> rx->rcv_wscale << rx->rcv_wscale;
}

/* By how much the right edge could move to the right. */
static uint32_t edge_room(const struct xiw_tcp_rx *rx)
{
	uint32_t edge = rx->rcv_nxt + rx->window;

	return xiw_seq_after(edge, rx->right_edge) ? edge - rx->right_edge : 0;
}

static bool window_update_due(const struct xiw_tcp_rx *rx)
{
	uint32_t room = edge_room(rx);

	return room && (room >= 2u * rx->mss || room >= rx->buffer / 2);
}

/* RFC 5681 section 4.2: two segments of whatever size, or 2*RMSS octets. */
static bool pending_full(const struct xiw_tcp_rx *rx)
{
	return rx->pending_segs >= 2 || (rx->pending && rx->pending >= 2u * rx->mss);
}

bool xiw_tcp_rx_ack_due(const struct xiw_tcp_rx *rx, uint64_t now_ms, bool end_of_batch)
{
	if (rx->ack_flags & XIW_TCP_ACK_NOW)
		return true;
	if (!end_of_batch)
		return false;
	if (rx->ack_flags || pending_full(rx) || window_update_due(rx))
		return true;
	return rx->pending && (rx->prompt || now_ms - rx->ack_since_ms >= rx->delack_ms);
}

uint64_t xiw_tcp_rx_deadline(const struct xiw_tcp_rx *rx)
{
	if (rx->ack_flags || pending_full(rx) || window_update_due(rx))
		return 0;
	if (!rx->pending)
		return XIW_TCP_NEVER;
	return rx->prompt ? 0 : rx->ack_since_ms + rx->delack_ms;
}

void xiw_tcp_rx_acked(struct xiw_tcp_rx *rx, uint32_t ack)
{
	if (!xiw_seq_after(ack, rx->last_ack_sent) || xiw_seq_after(ack, rx->rcv_nxt))
		return;
	rx->last_ack_sent = ack;
	rx->pending = rx->rcv_nxt - ack;
	if (!rx->pending)
		rx->pending_segs = 0;
}

/*
 * Where the right edge will stand with the next ACK. Small steps are saved up (silly window
 * avoidance, RFC 9293 section 3.8.6.2.2). If the edge cannot move, the field is rounded up, so
 * that it does not seem to move left (RFC 7323 section 2.4 and appendix F); this may promise up
 * to one unit of the scale more than before.
 */
static uint32_t next_edge(const struct xiw_tcp_rx *rx)
{
	uint32_t room = edge_room(rx), wnd;

	if (room && (room >= rx->mss || room >= rx->buffer / 2))
		return rx->right_edge + room;
	wnd = (uint32_t)xiw_tcp_rx_window_field(rx) << rx->rcv_wscale;
	return rx->rcv_nxt + wnd;
}

/* RFC 2883 section 4: the duplicate first, then RFC 2018's blocks. */
static uint8_t collect_sack(struct xiw_tcp_rx *rx, struct xiw_tcp_sack *block)
{
	/* RFC 2018 section 3: beside a Timestamps option there is room for three. */
	unsigned int max = rx->flags & XIW_TCP_RX_TS ? 3 : 4, n = 0;

	if (!(rx->flags & XIW_TCP_RX_SACK))
		return 0;
	if (rx->dsack.start != rx->dsack.end)
		block[n++] = rx->dsack;
	if (rx->keep_head)
		n += xiw_keep_blocks(rx, block + n, max - n);
	return (uint8_t)n;
}

int xiw_tcp_rx_build_ack(struct xiw_tcp_rx *rx, uint32_t tsval, uint8_t *out, size_t cap)
{
	struct xiw_tcp_seg ack = {
		.seq = rx->snd_nxt,
		.ack = rx->rcv_nxt,
		.flags = XIW_TCP_ACK | (rx->flags & XIW_TCP_RX_ECE ? XIW_TCP_ECE : 0),
		.has_ts = rx->flags & XIW_TCP_RX_TS,
		.tsval = tsval,
		.tsecr = rx->ts_recent,
	};

	ack.nsack = collect_sack(rx, ack.sack);
	if (xiw_tcp_build_len(&ack) > cap)
		return -ENOSPC;
	rx->right_edge = next_edge(rx);
	ack.wnd = xiw_tcp_rx_window_field(rx);

	/* A burst of an odd number of segments ends with one that comes alone. */
	rx->prompt -= rx->pending_segs == 1 && rx->prompt;
	rx->last_ack_sent = rx->rcv_nxt;
	rx->pending = 0;
	rx->pending_segs = 0;
	rx->ack_flags = 0;
	rx->dsack.start = rx->dsack.end;
	return (int)xiw_tcp_build(out, rx->sport, rx->dport, &ack);
}
