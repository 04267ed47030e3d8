// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The direct path's ACKs: when they leave, and as what. */
#include "path/acks.h"

#include <string.h>

#include "core/clock.h"
#include "core/cq.h"
#include "core/timer.h"
#include "tcp/csum.h"
#include "tcp/segment.h"

#define ANSWERED_SEGS 4 /* segments whose ACK may wait for an answer */

/* Returns the hop limit that the socket's own packets have, or 64 if xiw_egress has not seen one. */
static uint8_t hops(const struct xiw_conn *c)
{
	uint32_t seen = xiw_flow_get(&c->flow->out_hops);

	return seen ? (uint8_t)seen : 64;
}

/*
 * Builds the headers in front of an ACK from those of a received frame, with source and destination exchanged.
 * Traffic class, hop limit and flow label are those of the socket's own packets; xiw_egress has seen some of
 * them, because no stretch begins before. Returns the length.
 */
static uint32_t ack_headers(const struct xiw_conn *c, uint8_t *out, uint32_t tcp_len)
{
	const struct xiw_ip_header ip = {
		.version = c->reg.ip_version,
		.hops = hops(c),
		.class_label = xiw_flow_get(&c->flow->out_class),
		.src = c->reg.local_ip,
		.dst = c->reg.remote_ip,
	};

	memcpy(out, c->reg.l2, c->reg.l2_len);
	memcpy(out + XIW_ETH_OFF_DST, c->reg.l2 + XIW_ETH_OFF_SRC, XIW_ETH_ADDR_LEN);
	memcpy(out + XIW_ETH_OFF_SRC, c->reg.l2 + XIW_ETH_OFF_DST, XIW_ETH_ADDR_LEN);
	return c->reg.l2_len + xiw_ip_build(out + c->reg.l2_len, &ip, tcp_len);
}

static void send_ack(struct xiw_conn *c)
{
	uint8_t *frame = c->reg.l2_len ? xiw_xsk_tx_room(&c->stretch.rxq->xsk) : NULL, *tcp;
	uint8_t header[XIW_TCP_MAX];
	int len;

	/*
	 * The ACK stays due, and the next turn tries again. Its destination is unknown until a segment has been
	 * acceptable.
	 */
	if (!frame)
		return;
	/*
	 * The kernel's segments may have promised more meanwhile: each one says as much as it can, and rounds
	 * up.
	 */
	xiw_tcp_rx_promised(&c->tcp, xiw_flow_get(&c->flow->direct_edge));
	len = xiw_tcp_rx_build_ack(&c->tcp, xiw_sock_tsval(&c->reg.sock, c->engine->now_ns), header,
				   sizeof(header));
	if (len < 0)
		return;
	tcp = frame + ack_headers(c, frame, (uint32_t)len);
	memcpy(tcp, header, (size_t)len);
	xiw_tcp_csum_fill(frame + c->reg.l2_len, tcp, (size_t)len, NULL, 0);
	/*
	 * The edge is published before the ACK promises it, so that the kernel's next segment does not promise
	 * less.
	 */
	xiw_flow_raise(&c->flow->direct_edge, c->tcp.right_edge);
	xiw_xsk_send(&c->stretch.rxq->xsk, frame, (uint32_t)(tcp + len - frame));
	c->counts.acks_sent++;
}

bool xiw_answer_may_come(const struct xiw_conn *c)
{
	const struct xiw_tcp_rx *rx = &c->tcp;
	const struct xiw_engine *e = c->engine;

	return !rx->ack_flags && rx->pending_segs <= ANSWERED_SEGS && e->ready.pace.prompt &&
	       e->now_ms - rx->ack_since_ms < rx->delack_ms &&
	       (c->handoff.telling_at || xiw_told(e));
}

void xiw_acks_note_said(struct xiw_conn *c)
{
	xiw_tcp_rx_promised(&c->tcp, xiw_flow_get(&c->flow->direct_edge));
	xiw_tcp_rx_acked(&c->tcp, xiw_flow_get(&c->flow->acked));
}

void xiw_acknowledge(struct xiw_conn *c)
{
	while (xiw_tcp_rx_ack_due(&c->tcp, c->engine->now_ms, true)) {
		uint64_t before = c->counts.acks_sent;

		send_ack(c);
		if (c->counts.acks_sent == before)
			break;
	}
	c->timer.ack_ms = xiw_tcp_rx_deadline(&c->tcp);
	xiw_timer(c);
}

void xiw_acknowledge_late(struct xiw_conn *c)
{
	if (c->stretch.state != XIW_STRETCH_RUNS ||
	    !xiw_tcp_rx_ack_due(&c->tcp, c->engine->now_ms, true))
		return;
	if (xiw_owner_epoch(xiw_flow_owner(c->flow)) != c->stretch.epoch) {
		/* The next turn learns of it. */
		c->timer.ack_ms = 0;
		xiw_timer(c);
		return;
	}
	xiw_acks_note_said(c);
	if (xiw_tcp_rx_ack_due(&c->tcp, c->engine->now_ms, true)) {
		/*
		 * The socket may have sent since. An ACK from before that would be refused: for its timestamp
		 * (RFC 7323 section 5.3), or its sequence number (RFC 9293 section 3.10.7.4).
		 */
		xiw_clock_update(c->engine);
		xiw_tcp_rx_set_snd(&c->tcp, xiw_flow_get(&c->flow->snd_nxt));
	}
	xiw_acknowledge(c);
	c->flow->acks_sent = c->counts.acks_sent;
}
