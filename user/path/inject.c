// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the engine gives to the kernel's socket: segments that the direct path does not take, what the peer said of
 * our own data, and probes.
 */
#include "path/inject.h"

#include <arpa/inet.h>
#include <string.h>

#include "core/agenda.h"
#include "path/packet.h"
#include "tcp/segment.h"

static uint32_t segment_end(const struct xiw_packet *p, const struct xiw_meta *meta)
{
	const uint8_t *tcp = p->frag[0].base + meta->l4_off;

	return xiw_segment_seq(p, meta) + meta->payload_len +
	       !!(tcp[XIW_TCP_OFF_FLAGS] & XIW_TCP_FIN);
}

/*
 * kernel_high covers what is about to be injected, even if the socket will not get it: too high only waits. But not
 * what the socket would not keep: anybody can send it, and no stretch would begin for up to 2^31 octets.
 */
void xiw_inject_raise_high(struct xiw_conn *c, const struct xiw_packet *p,
			   const struct xiw_meta *meta)
{
	if (xiw_flow_within_window(c->flow, xiw_segment_seq(p, meta)))
		xiw_flow_raise(&c->flow->kernel_high, segment_end(p, meta));
}

/*
 * CE or CWR of a segment that the fast-path receiver never saw: the socket will see it, but what xiw_egress says
 * counts.
 */
void xiw_inject_note_ecn(struct xiw_conn *c, const struct xiw_packet *p,
			 const struct xiw_meta *meta)
{
	const uint8_t *ip = p->frag[0].base + meta->l3_off, *tcp = p->frag[0].base + meta->l4_off;

	if (!c->reg.sock.ecn ||
	    !xiw_flow_acceptable(c->flow, xiw_segment_seq(p, meta), segment_end(p, meta)))
		return;
	if ((c->reg.ip_version == 4 ? xiw_ip4_ecn(ip) : xiw_ip6_ecn(ip)) == XIW_ECN_CE)
		xiw_flow_note_ece(c->flow, true);
	else if (tcp[XIW_TCP_OFF_FLAGS] & XIW_TCP_CWR)
		xiw_flow_note_ece(c->flow, false);
}

/* Gives `len` octets of a received segment to the socket; what the socket has of them already, it trims. */
void xiw_inject_segment(struct xiw_conn *c, const struct xiw_packet *p, const struct xiw_meta *meta,
			uint32_t len, uint32_t skew)
{
	struct xiw_vec v[XIW_XSK_FRAGS_MAX];
	struct xiw_inject what = {
		.ip = p->frag[0].base + meta->l3_off,
		.l4_off = (uint32_t)meta->l4_off - meta->l3_off,
		.seq = xiw_segment_seq(p, meta) - skew,
		.tsval = c->reg.sock.timestamps ? &c->handoff.injected_tsval : NULL,
		.ifindex = c->netif->ifindex,
		.payload = v,
		.pieces = xiw_payload(p, meta, 0, len, v),
		.cut = len < meta->payload_len,
	};

	xiw_inject(&c->engine->injector, &what);
	c->counts.injected++;
	xiw_dirty(c);
}

void xiw_inject_whole(struct xiw_conn *c, const struct xiw_packet *p, const struct xiw_meta *meta,
		      uint32_t skew)
{
	xiw_inject_raise_high(c, p, meta);
	xiw_inject_segment(c, p, meta, meta->payload_len, skew);
}

/* A frame that came between the decision to fall back and the swap. */
void xiw_inject_late(struct xiw_conn *c, const struct xiw_segment *s)
{
	xiw_inject_note_ecn(c, s->packet, s->meta);
	xiw_inject_whole(c, s->packet, s->meta,
			 c->stretch.committed - xiw_flow_kernel_nxt(c->flow));
}

/*
 * A segment from before the stretch that is draining: the socket's, under the skew it began with, but no
 * octet from the start of the stretch on, even if the peer has cut its segments differently this time.
 */
void xiw_inject_old(struct xiw_conn *c, const struct xiw_segment *s)
{
	uint32_t len = c->stretch.committed - xiw_segment_seq(s->packet, s->meta);

	if (len > s->meta->payload_len)
		len = s->meta->payload_len;
	xiw_inject_segment(c, s->packet, s->meta, len,
			   c->stretch.committed - xiw_flow_kernel_nxt(c->flow));
}

static void build_news(const struct xiw_conn *c, uint8_t *tcp)
{
	const struct xiw_tcp_feedback *news = &c->tcp.feedback;
	const bool ece = c->tcp.feedback_due & XIW_TCP_FEEDBACK_ECE;
	struct xiw_tcp_seg seg = {
		.ack = news->ack,
		.wnd = news->wnd,
		.flags = XIW_TCP_ACK | (ece ? XIW_TCP_ECE : 0),
		.has_ts = news->has_ts,
		.tsval = news->tsval,
		.tsecr = news->tsecr,
		.nsack = news->nsack,
	};

	memcpy(seg.sack, news->sack, sizeof(seg.sack));
	xiw_tcp_build(tcp, c->tcp.dport, c->tcp.sport, &seg);
}

/* Writes the IP header of a packet made in the peer's name, for xiw_inject() to add lengths. Returns its length. */
static uint32_t peer_header(const struct xiw_conn *c, uint8_t *ip)
{
	const struct xiw_ip_header h = {
		.version = c->reg.ip_version,
		.hops = 64,
		.src = c->reg.remote_ip,
		.dst = c->reg.local_ip,
	};

	return xiw_ip_build(ip, &h, 0);
}

/*
 * One header-only segment with what the peer said of our own data on segments that the socket never saw.
 * Its seq is K + 1, just beyond the socket's rcv_nxt, as xiw_control() in XDP has it, and for the same reason.
 */
void xiw_inject_feedback(struct xiw_conn *c)
{
	uint8_t ip[XIW_IP6_LEN + XIW_TCP_MAX];
	struct xiw_inject what = {
		.ip = ip,
		.l4_off = peer_header(c, ip),
		.seq = xiw_flow_kernel_nxt(c->flow) + 1,
		.tsval = c->reg.sock.timestamps ? &c->handoff.injected_tsval : NULL,
		.ifindex = c->netif->ifindex,
	};

	build_news(c, ip + what.l4_off);
	xiw_inject(&c->engine->injector, &what);
	c->counts.injected++;
	xiw_tcp_rx_feedback_given(&c->tcp);
}

/*
 * A segment that changes nothing, to see whether it arrives: without ACK it is dropped before anything of it counts
 * (RFC 9293 section 3.10.7.4). One that acknowledges what the socket knows already may be answered, and while that is
 * limited (RFC 5961 section 7) the peer's own questions would not be.
 */
void xiw_inject_probe(struct xiw_conn *c)
{
	uint8_t ip[XIW_IP6_LEN + XIW_TCP_MAX];
	const struct xiw_flow_key *key = &c->flow->key;
	struct xiw_inject what = {
		.ip = ip,
		.l4_off = peer_header(c, ip),
		.seq = c->recv.nxt - xiw_owner_value(xiw_flow_owner(c->flow)) + 1,
		.ifindex = c->netif->ifindex,
	};

	xiw_tcp_build(ip + what.l4_off, ntohs(key->remote_port), ntohs(key->local_port),
		      &(struct xiw_tcp_seg){});
	xiw_inject(&c->engine->injector, &what);
	c->counts.injected++;
}
