// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The end of a batch on the direct path: the engine commits, then acknowledges. When the ACKs have left, it
 * tells the kernel's socket what the peer acknowledged.
 */
#include "path/commit.h"

#include <string.h>

#include "core/agenda.h"
#include "core/clock.h"
#include "core/cq.h"
#include "core/timer.h"
#include "path/fallback.h"
#include "path/progress.h"
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

/*
 * Other processes read these counters in the slot. They cover both paths, and only the engine writes them. Code
 * that counts something marks the connection dirty, and then the turn calls this function.
 */
void xiw_counts_publish(const struct xiw_conn *c)
{
	struct xiw_flow *f = c->flow;

	if (!f)
		return;
	f->placed_direct = c->counts.stream_direct;
	f->placed_kernel = c->counts.stream_kernel;
	f->fpdus = c->counts.fpdus;
	f->crc_errors = c->counts.crc_errors;
	f->injected = c->counts.injected;
	f->acks_sent = c->counts.acks_sent;
	f->armed = c->counts.armed;
	f->segs_dropped = c->counts.segs_dropped;
}

/* Tells xiw_egress the timestamp to echo and whether to set ECE. */
static void publish(struct xiw_conn *c)
{
	struct xiw_flow *f = c->flow;

	__atomic_store_n(&f->ts_recent, c->tcp.ts_recent, __ATOMIC_RELAXED);
	if (c->tcp.flags & XIW_TCP_RX_ECN_SEEN)
		xiw_flow_note_ece(f, c->tcp.flags & XIW_TCP_RX_ECE);
}

/*
 * The socket does not see the octets of the direct path, so it would take a peer that sends nothing else for
 * idle and send keepalive probes. XDP passes the answers, but a single lost answer would count for more than on
 * the kernel path. Therefore the engine injects the peer's latest acknowledgement now and then.
 */
static void tell_alive(struct xiw_conn *c)
{
	struct xiw_tcp_rx *rx = &c->tcp;

	c->timer.alive_ms = c->engine->now_ms + c->opts.keepalive_ms / 2;
	rx->feedback.ack = rx->snd_una;
	rx->feedback.wnd = rx->snd_wnd;
	rx->feedback.has_ts = rx->flags & XIW_TCP_RX_TS;
	rx->feedback.tsval = rx->ts_recent;
	rx->feedback_due |= XIW_TCP_FEEDBACK_ACK;
}

/*
 * An application that was told something, and was quick before, may answer, and then the answer carries the ACK: it
 * waits until the engine has nothing else to do. Only few segments wait so, as a peer that sends many needs its ACKs,
 * and none for longer than a delayed ACK (RFC 5681 section 4.2).
 */
static bool answer_may_come(const struct xiw_conn *c)
{
	const struct xiw_tcp_rx *rx = &c->tcp;
	const struct xiw_engine *e = c->engine;

	return !rx->ack_flags && rx->pending_segs <= ANSWERED_SEGS && e->ready.pace.prompt &&
	       e->now_ms - rx->ack_since_ms < rx->delack_ms &&
	       (c->handoff.telling_at || xiw_told(e));
}

/* An ACK need not say again what data of the socket has carried since: an acknowledgement, and a window. */
static void note_said(struct xiw_conn *c)
{
	xiw_tcp_rx_promised(&c->tcp, xiw_flow_get(&c->flow->direct_edge));
	xiw_tcp_rx_acked(&c->tcp, xiw_flow_get(&c->flow->acked));
}

static void acknowledge(struct xiw_conn *c)
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
	if (c->stretch.state != XIW_STRETCH_RUNS || !c->tcp.pending)
		return;
	if (xiw_owner_epoch(xiw_flow_owner(c->flow)) != c->stretch.epoch) {
		/* The next turn learns of it. */
		c->timer.ack_ms = 0;
		xiw_timer(c);
		return;
	}
	note_said(c);
	if (xiw_tcp_rx_ack_due(&c->tcp, c->engine->now_ms, true)) {
		/*
		 * The socket may have sent since. An ACK from before that would be refused: for its timestamp
		 * (RFC 7323 section 5.3), or its sequence number (RFC 9293 section 3.10.7.4).
		 */
		xiw_clock_update(c->engine);
		xiw_tcp_rx_set_snd(&c->tcp, xiw_flow_get(&c->flow->snd_nxt));
	}
	acknowledge(c);
}

/*
 * The commit comes first: the peer may forget what is acknowledged, so the owner word must say by then that the
 * octets are ours.
 */
void xiw_commit(struct xiw_conn *c)
{
	uint32_t rcv_nxt = c->tcp.rcv_nxt;
	const bool moved = rcv_nxt != c->stretch.committed;

	if (c->stretch.state == XIW_STRETCH_OFF)
		return;
	/* The engine has looked at frames of this batch, but the owner word will not show it. */
	if (c->stretch.batch == c->engine->batch &&
	    (!moved || c->stretch.state != XIW_STRETCH_RUNS))
		xiw_note_seen(c);
	if (c->stretch.state != XIW_STRETCH_RUNS)
		return;
	if (moved) {
		if (!xiw_flow_commit(c->flow, c->stretch.epoch, c->stretch.committed, rcv_nxt)) {
			xiw_note_seen(c);
			xiw_ownership_lost(c);
			return;
		}
		c->stretch.committed = rcv_nxt;
		if (!c->netif->has_carried)
			c->netif->has_carried = true;
	} else if (xiw_owner_epoch(xiw_flow_owner(c->flow)) != c->stretch.epoch) {
		/* There is nothing to commit, but a delayed ACK and its window would be outdated. */
		xiw_ownership_lost(c);
		return;
	} else {
		note_said(c);
	}
	publish(c);
	if (moved && c->timer.alive_ms <= c->engine->now_ms)
		tell_alive(c);
	if (!xiw_tcp_rx_ack_due(&c->tcp, c->engine->now_ms, true) || !answer_may_come(c)) {
		acknowledge(c);
		return;
	}
	xiw_tell_socket(c);
	c->timer.ack_ms = c->tcp.ack_since_ms + c->tcp.delack_ms;
	xiw_timer(c);
}
