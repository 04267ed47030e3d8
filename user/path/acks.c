// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The direct path's ACKs: when they leave, and as what. */
#include "path/acks.h"

#include <string.h>

#include "base/opts.h"
#include "core/clock.h"
#include "core/cq.h"
#include "core/queue.h"
#include "core/timer.h"
#include "path/remember.h"
#include "tcp/csum.h"
#include "tcp/segment.h"

#define ANSWERED_SEGS 4 /* segments whose ACK may wait for an answer */

/* Returns the hop limit that the socket's own packets have, or 64 if xiw_egress has not seen one. */
static uint8_t hops(const struct xiw_conn *c)
{
	uint8_t seen = __atomic_load_n(&c->flow->out_hops, __ATOMIC_RELAXED);

	return seen ? seen : 64;
}

/*
 * Builds the link header of the socket's own packets, as xiw_egress has last seen it. No frame that comes in changes
 * it. Returns its length. 0: no frame has left yet, or another address is just being written.
 */
static uint32_t link_header(const struct xiw_conn *c, uint8_t *out)
{
	const struct xiw_flow *f = c->flow;
	const uint16_t tag = __atomic_load_n(&f->out_tag, __ATOMIC_RELAXED);
	uint8_t *type = out + sizeof(f->out_mac);

	memcpy(out, f->out_mac, sizeof(f->out_mac));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (memcmp(out, f->out_mac, sizeof(f->out_mac)) != 0 ||
	    xiw_all_zero(out, XIW_ETH_ADDR_LEN))
		return 0;
	if (tag) {
		xiw_put_be16(type, XIW_ETH_TYPE_VLAN);
		xiw_put_be16(type + 2, tag);
		type += XIW_VLAN_LEN;
	}
	xiw_put_be16(type, c->reg.ip_version == 4 ? XIW_ETH_TYPE_IP4 : XIW_ETH_TYPE_IP6);
	return (uint32_t)(type + 2 - out);
}

/*
 * Builds the IP header of an ACK as the socket's own packets have it. xiw_egress has seen some of them, because no
 * stretch begins before. Returns its length.
 */
static uint32_t ip_header(const struct xiw_conn *c, uint8_t *out, uint32_t tcp_len)
{
	const struct xiw_ip_header ip = {
		.version = c->reg.ip_version,
		.hops = hops(c),
		.class_label = xiw_flow_get(&c->flow->out_class),
		.src = c->reg.local_ip,
		.dst = c->reg.remote_ip,
	};

	return xiw_ip_build(out, &ip, tcp_len);
}

/*
 * Sends what `rx` acknowledges, with this payload, which has one piece or none. False: there is no room for it, or no
 * frame has left yet.
 */
static bool transmit(struct xiw_conn *c, struct xiw_tcp_rx *rx, uint32_t tsval,
		     const struct xiw_vec *payload)
{
	uint8_t *frame = xiw_xsk_tx_room(c->stretch.rxq->out), *ip, *tcp, header[XIW_TCP_MAX];
	uint32_t link_len = frame ? link_header(c, frame) : 0, more = payload ? payload->len : 0;
	int len;

	if (!link_len)
		return false;
	/*
	 * The kernel's segments may have promised more meanwhile: each one says as much as it can, and rounds
	 * up.
	 */
	xiw_tcp_rx_promised(rx, xiw_flow_get(&c->flow->direct_edge));
	len = xiw_tcp_rx_build_ack(rx, tsval, header, sizeof(header));
	if (len < 0)
		return false;
	ip = frame + link_len;
	tcp = ip + ip_header(c, ip, (uint32_t)len + more);
	memcpy(tcp, header, (size_t)len);
	if (payload)
		memcpy(tcp + len, payload->base, more);
	xiw_tcp_csum_fill(ip, tcp, (size_t)len, payload, !!payload);
	/*
	 * The edge is published before the ACK promises it, so that the kernel's next segment does not promise
	 * less.
	 */
	xiw_flow_raise(&c->flow->direct_edge, rx->right_edge);
	xiw_xsk_send(c->stretch.rxq->out, frame, (uint32_t)(tcp + len - frame) + more);
	return true;
}

/* If it cannot be sent, the ACK stays due, and the next turn tries again. */
static void send_ack(struct xiw_conn *c)
{
	const uint32_t tsval = xiw_sock_tsval(&c->reg.sock, c->engine->now_ns);

	if (!transmit(c, &c->tcp, tsval, NULL))
		return;
	c->counts.acks_sent++;
	if (!c->progress.memory.heard)
		xiw_remember_acks(c, tsval);
}

/*
 * The peer answers a segment that ends before what it has acknowledged, and looks at nothing else in it (RFC 9293
 * section 3.10.7.4). So this acknowledges nothing, and changes nothing here. It has an octet, as a keepalive may (RFC
 * 9293 section 3.8.4), because Linux answers those without one twice in a second at most.
 */
void xiw_acks_elicit(struct xiw_conn *c)
{
	struct xiw_tcp_rx keepalive = c->tcp;
	uint8_t octet = 0;
	const struct xiw_vec payload = { &octet, sizeof(octet) };

	keepalive.snd_nxt = c->tcp.snd_una - 1 - (uint32_t)payload.len;
	transmit(c, &keepalive, xiw_sock_tsval(&c->reg.sock, c->engine->now_ns), &payload);
	xiw_acks_out(c->engine);
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
	xiw_tcp_rx_delayed(&c->tcp, c->engine->now_ms);
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
