// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Injects into the kernel's socket: segments that the direct path does not take, what the peer said of our own
 * data, and probes.
 */
#include "path/inject.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "core/agenda.h"
#include "path/output.h"
#include "path/packet.h"
#include "path/receiver.h"
#include "tcp/segment.h"

/* Returns the wire number behind the segment, its FIN included. */
static uint32_t segment_end(const struct xiw_packet *p, const struct xiw_meta *meta)
{
	const uint8_t *tcp = p->frag[0].base + meta->l4_off;

	return xiw_segment_seq(p, meta) + meta->payload_len +
	       !!(tcp[XIW_TCP_OFF_FLAGS] & XIW_TCP_FIN);
}

/*
 * kernel_high covers the segment even if the socket will not get it: a value that is too high only delays the
 * next stretch. Segments that the socket would not keep do not count. Anybody can send one, and then no stretch
 * would begin for up to 2^31 octets.
 */
void xiw_inject_raise_high(struct xiw_conn *c, const struct xiw_packet *p,
			   const struct xiw_meta *meta)
{
	if (xiw_flow_within_window(c->flow, xiw_segment_seq(p, meta)))
		xiw_flow_raise(&c->flow->kernel_high, segment_end(p, meta));
}

/* The socket will see the marks as well, but xiw_egress decides about ECE, and it reads the flow. */
void xiw_inject_note_ecn(struct xiw_conn *c, const struct xiw_packet *p,
			 const struct xiw_meta *meta)
{
	const uint8_t *ip = p->frag[0].base + meta->l3_off, *tcp = p->frag[0].base + meta->l4_off;

	if (!c->reg.sock.ecn ||
	    !xiw_flow_acceptable(c->flow, xiw_segment_seq(p, meta), segment_end(p, meta)))
		return;
	if ((c->reg.ip_version == 4 ? xiw_ip4_ecn(ip) : xiw_ip6_ecn(ip)) == XIW_ECN_CE)
		xiw_flow_note_ece(c->flow, meta->epoch, true);
	else if (tcp[XIW_TCP_OFF_FLAGS] & XIW_TCP_CWR)
		xiw_flow_note_ece(c->flow, meta->epoch, false);
}

void xiw_inject_behind_kernel(struct xiw_conn *c)
{
	uint64_t echoed = __atomic_load_n(&c->flow->echoed, __ATOMIC_RELAXED);
	uint32_t *newest = &c->handoff.injected_tsval;

	if (echoed && (!*newest || xiw_seq_after((uint32_t)echoed, *newest)))
		*newest = (uint32_t)echoed;
}

/* The socket trims the octets that it has already. */
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

	if (xiw_flow_of_another(c->flow)) {
		xiw_segment_dropped(c);
		return;
	}
	/*
	 * The MTU of lo is too small. The probe passes, but each segment of that length is lost. As where XDP bars a
	 * connection, it is told, and remembered, by xiw_progress_say().
	 */
	if (xiw_inject(&c->engine->injector, &what) == -EMSGSIZE)
		__atomic_store_n(&c->flow->barred, XIW_REASON_INJECT, __ATOMIC_RELAXED);
	c->counts.injected++;
	xiw_dirty(c);
}

void xiw_inject_whole(struct xiw_conn *c, const struct xiw_packet *p, const struct xiw_meta *meta,
		      uint32_t skew)
{
	xiw_inject_raise_high(c, p, meta);
	xiw_inject_segment(c, p, meta, meta->payload_len, skew);
}

void xiw_inject_late(struct xiw_conn *c, const struct xiw_segment *s)
{
	if (!xiw_receiver_passes(c, s->packet, s->meta))
		return;
	xiw_inject_note_ecn(c, s->packet, s->meta);
	xiw_inject_whole(c, s->packet, s->meta,
			 c->stretch.committed - xiw_flow_kernel_nxt(c->flow));
}

/*
 * The segment is from before the start of a stretch whose frames wait. It belongs to the socket, under the skew
 * of the stretch. It is cut at the start of the stretch, because the peer may have cut its segments differently
 * this time.
 */
void xiw_inject_old(struct xiw_conn *c, const struct xiw_segment *s)
{
	uint32_t len = c->stretch.committed - xiw_segment_seq(s->packet, s->meta);

	if (!xiw_receiver_passes_old(c, s->packet, s->meta))
		return;
	if (len > s->meta->payload_len)
		len = s->meta->payload_len;
	xiw_inject_segment(c, s->packet, s->meta, len,
			   c->stretch.committed - xiw_flow_kernel_nxt(c->flow));
}

/* Builds the TCP header with the feedback. */
static void build_feedback(const struct xiw_conn *c, uint8_t *tcp)
{
	const struct xiw_tcp_feedback *said = &c->tcp.feedback;
	const bool ece = c->tcp.feedback_due & XIW_TCP_FEEDBACK_ECE;
	struct xiw_tcp_seg seg = {
		.ack = said->ack,
		.wnd = said->wnd,
		.flags = XIW_TCP_ACK | (ece ? XIW_TCP_ECE : 0),
		.has_ts = said->has_ts,
		.tsval = said->tsval,
		.tsecr = said->tsecr,
		.nsack = said->nsack,
	};

	memcpy(seg.sack, said->sack, sizeof(seg.sack));
	xiw_tcp_build(tcp, c->tcp.dport, c->tcp.sport, &seg);
}

/*
 * Builds the IP header of a packet that the engine sends in the peer's name. xiw_inject() fills in its lengths.
 * Returns the header's length.
 */
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
 * The segment has no data. Its seq is K + 1, just beyond the socket's rcv_nxt, or the edge of the socket's window, for
 * the reasons that xiw_control() in XDP gives.
 */
static void inject_feedback(struct xiw_conn *c)
{
	uint8_t ip[XIW_IP6_LEN + XIW_TCP_MAX];
	struct xiw_inject what = {
		.ip = ip,
		.l4_off = peer_header(c, ip),
		.seq = xiw_seq_min(xiw_flow_kernel_nxt(c->flow) + 1,
				   xiw_flow_get(&c->flow->socket_edge)),
		.tsval = c->reg.sock.timestamps ? &c->handoff.injected_tsval : NULL,
		.ifindex = c->netif->ifindex,
	};

	build_feedback(c, ip + what.l4_off);
	if (xiw_inject(&c->engine->injector, &what) == -EPERM) {
		xiw_output_refused(c);
		c->progress.gone++;
	}
	c->counts.injected++;
	xiw_tcp_rx_feedback_given(&c->tcp);
}

/*
 * A segment without data that XDP has passed since the batch was fetched came later than the batch, and told the socket
 * more. What the batch says would take that back now, as all have the same sequence number there. Should the socket
 * have refused it, the next segment with data says everything again (sending_half() in path/direct.c).
 */
void xiw_feedback_flush(struct xiw_conn *c)
{
	if (c->stretch.state != XIW_STRETCH_RUNS || !c->tcp.feedback_due)
		return;
	if (__atomic_load_n(&c->flow->control_segs, __ATOMIC_RELAXED) != c->handoff.control_seen ||
	    xiw_flow_of_another(c->flow))
		xiw_tcp_rx_feedback_given(&c->tcp);
	else
		inject_feedback(c);
}

/*
 * Injects a segment without data that says what the socket knows: its acknowledgement is SND.UNA, its window the
 * peer's. It has no timestamp: the socket's TS.Recent may be newer than any TSval known here, and Linux answers an
 * older one, but takes a segment without timestamps.
 */
static void inject_known(struct xiw_conn *c, uint32_t seq)
{
	uint8_t ip[XIW_IP6_LEN + XIW_TCP_MAX];
	const struct xiw_flow_key *key = &c->flow->key;
	struct xiw_tcp_seg seg = { .flags = XIW_TCP_ACK };
	struct xiw_inject what = {
		.ip = ip,
		.l4_off = peer_header(c, ip),
		.seq = seq,
		.ifindex = c->netif->ifindex,
	};

	if (xiw_sock_peer(c->fd, &c->reg.sock, &seg.ack, &seg.wnd))
		return;
	xiw_tcp_build(ip + what.l4_off, ntohs(key->remote_port), ntohs(key->local_port), &seg);
	xiw_inject(&c->engine->injector, &what);
	c->counts.injected++;
}

/*
 * The seq is the octet that the socket acknowledged last. Stateful firewalls accept such a segment, and TCP neither
 * answers it nor learns anything from it. An answer would count against the limit of RFC 5961 section 7, so that a
 * segment of the peer that needs an answer might get none.
 */
void xiw_inject_probe(struct xiw_conn *c)
{
	inject_known(c, xiw_flow_get(&c->flow->acked) - xiw_owner_value(xiw_flow_owner(c->flow)));
}

/*
 * As with TCP's keep-alive (RFC 9293 section 3.8.4) the seq is not acceptable, and the socket acknowledges. If the last
 * octet is not acknowledged yet, TCP does that before long.
 */
void xiw_inject_question(struct xiw_conn *c)
{
	inject_known(c, xiw_flow_kernel_nxt(c->flow) - 1);
}
