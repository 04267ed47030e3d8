// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The direct path: frames from AF_XDP go through the engine's TCP receiver to placement. Each batch then causes
 * one commit and at most a few ACKs for each connection.
 */
#include "path/direct.h"

#include <string.h>

#include "core/agenda.h"
#include "path/commit.h"
#include "path/fallback.h"
#include "path/inject.h"
#include "path/ooo.h"
#include "path/output.h"
#include "path/packet.h"
#include "path/patience.h"
#include "path/progress.h"
#include "path/receiver.h"
#include "path/remember.h"
#include "path/straight.h"
#include "path/take.h"
#include "tcp/csum.h"

#define FRAMES_EACH 64	  /* of a connection, which may come at once when several begin to send */
#define FRAMES_READY 1024 /* for all connections: more would not stay in the cache */

/*
 * Begins the stretch, once the socket has been read up to its start. Returns false if the stretch cannot begin there
 * or the connection cannot be direct any more; the connection has then fallen back.
 */
static bool enter(struct xiw_conn *c, const struct xiw_packet *p, const struct xiw_meta *meta,
		  const struct xiw_tcp_seg *seg)
{
	const uint8_t *tcp = p->frag[0].base + meta->l4_off;
	struct xiw_flow *f = c->flow;
	uint32_t right, socket_right;
	enum xiw_reason reason = c->rx_dead			   ? XIW_REASON_ERROR
				 : xiw_mpa_stream_pending(&c->mpa) ? XIW_REASON_BOUNDARY
								   : XIW_REASON_NONE;

	/*
	 * The CPU that began the stretch reads kernel_high after its swap, but may be delayed in between.
	 * Therefore the engine checks it as well: a CPU that gave the kernel octets beyond S under ARMED raised
	 * kernel_high before the swap.
	 */
	if (!reason && __atomic_load_n(&f->kernel_high, __ATOMIC_ACQUIRE) != c->stretch.committed)
		reason = XIW_REASON_RACE;
	if (reason) {
		xiw_fall_back(c, reason, NULL);
		return false;
	}
	/*
	 * The socket's window is opened as far as the engine's, so that the socket takes all that the engine
	 * has offered when the stream falls back. It may have taken back what it once offered.
	 */
	right = xiw_seq_max(c->stretch.committed + c->reg.window, xiw_flow_get(&f->direct_edge));
	socket_right = right - c->stretch.committed + xiw_flow_kernel_nxt(f);
	if (!xiw_seq_before(xiw_flow_get(&f->socket_edge), socket_right) ||
	    !xiw_sock_open_window(c->fd, right - c->stretch.committed)) {
		xiw_flow_raise(&f->socket_edge, socket_right);
		xiw_flow_raise(&f->kernel_edge, right);
	}
	xiw_receiver_begin(c, xiw_seq_max(xiw_flow_get(&f->kernel_edge), right), seg);
	c->tcp.sport = xiw_get_be16(tcp + XIW_TCP_OFF_DPORT);
	c->tcp.dport = xiw_get_be16(tcp + XIW_TCP_OFF_SPORT);
	c->stretch.state = XIW_STRETCH_RUNS;
	return true;
}

/*
 * Handles a frame whose epoch the connection does not know. If XDP has begun a stretch of this epoch, the
 * stretch is set up here. Returns whether the frame belongs to the current stretch.
 */
static bool begin(struct xiw_conn *c, const struct xiw_meta *meta)
{
	uint64_t owner = xiw_flow_owner(c->flow);

	if (c->stretch.state != XIW_STRETCH_OFF && xiw_owner_epoch(owner) != c->stretch.epoch)
		xiw_ownership_lost(c);
	if (xiw_owner_path(owner) != XIW_PATH_DIRECT || xiw_owner_epoch(owner) != meta->epoch)
		return false;
	if (c->stretch.state != XIW_STRETCH_OFF)
		return true;
	c->stretch.epoch = meta->epoch;
	c->stretch.committed = xiw_owner_value(owner);
	c->stretch.state = XIW_STRETCH_WAITS;
	c->keeps.waiting = NULL;
	c->keeps.waiting_end = &c->keeps.waiting;
	c->keeps.gap_end = c->stretch.committed;
	c->counts.went_direct++;
	xiw_progress_begin(c);
	xiw_output_stretch(c);
	return true;
}

/*
 * Tells the TCP receiver what our sending half, the kernel's socket, has sent and acknowledged, and which window it has
 * promised. This is read after the frames were fetched, so that no frame is ahead of it.
 */
static void sending_half(struct xiw_conn *c)
{
	uint64_t control = __atomic_load_n(&c->flow->control_segs, __ATOMIC_RELAXED);

	xiw_tcp_rx_promised(&c->tcp, xiw_flow_get(&c->flow->direct_edge));
	xiw_tcp_rx_acked(&c->tcp, xiw_flow_get(&c->flow->acked));
	xiw_tcp_rx_set_snd(&c->tcp, xiw_flow_get(&c->flow->snd_nxt));
	if (control == c->handoff.control_seen)
		return;
	c->handoff.control_seen = control;
	/* What the last batch said, and the socket was not told yet, is older (xiw_feedback_flush()). */
	xiw_tcp_rx_feedback_given(&c->tcp);
	xiw_tcp_rx_acked_elsewhere(&c->tcp);
}

/* Says whether the frame belongs to the current stretch. If so, the connection is ready to process it. */
static bool current(struct xiw_conn *c, struct xiw_rxq *q, const struct xiw_meta *meta)
{
	/* One check for each batch is enough, because the commit fails if the owner word has changed. */
	if (c->stretch.state != XIW_STRETCH_OFF && c->stretch.batch == c->engine->batch &&
	    c->stretch.epoch == meta->epoch)
		return true;
	if (!begin(c, meta))
		return false;
	c->stretch.batch = c->engine->batch;
	c->stretch.rxq = q;
	if (c->stretch.state == XIW_STRETCH_RUNS)
		sending_half(c);
	xiw_dirty(c);
	return true;
}

/* Takes kept segments that are in order now. */
static void take_kept(struct xiw_conn *c)
{
	struct xiw_tcp_take t;
	struct xiw_kept *k;

	while (c->stretch.state != XIW_STRETCH_OFF && !c->rx_dead && !xiw_patient(c) &&
	       (k = (struct xiw_kept *)xiw_tcp_rx_next(&c->tcp))) {
		struct xiw_segment s = { &k->packet, &k->meta };

		switch (xiw_tcp_rx_turn(&c->tcp, &k->node, &t)) {
		case XIW_TCP_TAKE:
			xiw_kept_uncount(k);
			if (xiw_take(c, &s, &t, k))
				k->packet.frags = 0; /* they are another node's */
			break;
		case XIW_TCP_CONTROL:
			xiw_fall_back(c, t.flags & XIW_TCP_FIN ? XIW_REASON_FIN : XIW_REASON_URGENT,
				      &s);
			break;
		default:
			break;
		}
		xiw_kept_free(c->engine, k);
	}
}

/* Says whether the stream waits for octets of the segment. */
static bool awaited(const struct xiw_conn *c, uint32_t seq, uint32_t end)
{
	uint32_t at = xiw_stream_at(c);

	return !xiw_seq_after(seq, at) && xiw_seq_after(end, at);
}

/*
 * Says whether the peer will send the segment again unless it is acknowledged. Either the stream waits for its
 * octets, or their acknowledgement was lost. In the latter case nobody waits for them, but the peer sends
 * nothing else.
 */
static bool comes_again(const struct xiw_conn *c, uint32_t seq)
{
	/* A peer repeats nothing from further back than the largest window, because it was acknowledged. */
	return xiw_stream_at(c) - seq <= 0xffffu << c->reg.sock.rcv_wscale;
}

/*
 * Counts a segment that the TCP receiver has dropped, if it shows that the stream does not move. One that brings
 * nothing new says something only if nothing else is wrong with it: anybody who knows the addresses can send others.
 * Only the socket knows whether what it acknowledges was sent.
 */
static void refused(struct xiw_conn *c, const struct xiw_segment *s, const struct xiw_tcp_seg *seg)
{
	uint32_t end = seg->seq + s->meta->payload_len + !!(seg->flags & XIW_TCP_FIN);

	if (awaited(c, seg->seq, end))
		xiw_progress_refused(c, XIW_REASON_REFUSED, s);
	else if (!s->meta->payload_len || !comes_again(c, seg->seq))
		return;
	else if (c->tcp.last_drop == XIW_TCP_DROP_DUP)
		xiw_progress_unheard(c, s, seg->seq,
				     end); /* at a fall-back the socket acknowledges it again */
	else if (c->tcp.last_drop == XIW_TCP_DROP_ACK_NEW)
		xiw_progress_ahead(c, s, seg->ack);
}

/* Processes a segment of a stretch that runs. Returns true if the packet's frames are kept. */
static bool segment(struct xiw_conn *c, const struct xiw_segment *s, const struct xiw_tcp_seg *seg)
{
	struct xiw_tcp_take t;
	struct xiw_kept *k;
	bool kept = false;

	switch (xiw_tcp_rx_segment(&c->tcp, seg, c->engine->now_ms, &t)) {
	case XIW_TCP_TAKE:
		xiw_remember_tsecr(c, seg);
		kept = xiw_take(c, s, &t, NULL);
		if (c->tcp.keep_head)
			take_kept(c);
		break;
	case XIW_TCP_KEEP:
		k = xiw_keep(c, s);
		if (k && !xiw_early_place(c, k)) {
			/* The segment gets no SACK block either, so that the peer sends it again. */
			k->packet.frags = 0;
			xiw_kept_free(c->engine, k);
			c->counts.crc_errors++;
			break;
		}
		if (k)
			xiw_tcp_keep_set(&k->node, &t);
		kept = xiw_tcp_rx_keep(&c->tcp, k ? &k->node : NULL) == XIW_TCP_KEEP;
		if (!kept)
			xiw_segment_dropped(c);
		if (k && !kept) {
			k->packet.frags = 0; /* the caller releases the frames */
			xiw_kept_free(c->engine, k);
		}
		break;
	case XIW_TCP_CONTROL:
		xiw_fall_back(c, t.flags & XIW_TCP_FIN ? XIW_REASON_FIN : XIW_REASON_URGENT, s);
		break;
	case XIW_TCP_DROP:
		xiw_segment_dropped(c);
		refused(c, s, seg);
		break;
	}
	/* A duplicate ACK says what a later one cannot, so it does not wait for the end of the batch. */
	if (c->stretch.state != XIW_STRETCH_OFF &&
	    xiw_tcp_rx_ack_due(&c->tcp, c->engine->now_ms, false))
		xiw_commit(c);
	return kept;
}

/* Does the stream, or the stretch, go on with the segment? Nobody else can know that place. */
static bool goes_on_here(const struct xiw_conn *c, const struct xiw_segment *s)
{
	bool waits = c->stretch.state == XIW_STRETCH_WAITS;

	return xiw_segment_seq(s->packet, s->meta) ==
	       (waits ? c->stretch.committed : xiw_stream_at(c));
}

/*
 * Who has sent a segment that is damaged? Of its place in the window a third host guesses one in some hundred. But the
 * clocks of both ends begin anywhere (RFC 7323 section 5.4), and only the peer knows the other one's. Each has ticks of
 * a millisecond most often, so these bounds are some hours after what came last, and days before now.
 */
#define TSVAL_AFTER (1u << 26)
#define TSECR_BEFORE (1u << 28)

static bool may_be_the_peers(const struct xiw_conn *c, const struct xiw_tcp_seg *seg)
{
	const uint32_t now = xiw_sock_tsval(&c->reg.sock, c->engine->now_ns);

	return !(c->tcp.flags & XIW_TCP_RX_TS) ||
	       (seg->has_ts && seg->tsval - c->tcp.ts_oldest < TSVAL_AFTER &&
		now - seg->tsecr < TSECR_BEFORE);
}

/*
 * Drops a segment with bad headers or a bad checksum. If it comes again and again, the stream falls back: the
 * socket may accept its headers, and its checksum if hardware has verified that. A checksum that the sender has left
 * unfinished is no accident, and so the stream falls back at once. Only the kernel knows whether such a segment has
 * come by a wire, where it must be refused, so the segment is not injected: the peer sends it again, to the kernel.
 */
static void damaged(struct xiw_conn *c, const struct xiw_segment *s, const struct xiw_tcp_seg *seg,
		    enum xiw_reason reason)
{
	uint32_t seq = xiw_segment_seq(s->packet, s->meta);
	bool here = goes_on_here(c, s);

	xiw_segment_dropped(c);
	if (reason == XIW_REASON_CHECKSUM && here && xiw_packet_unfinished(s))
		xiw_progress_lasting(c, reason);
	else if (here || (comes_again(c, seq) && may_be_the_peers(c, seg)))
		xiw_progress_refused(c, reason, NULL);
}

/*
 * Handles a segment that comes before the socket was read up to the start of the stretch. A segment from there
 * on waits. A segment from before it belongs to the socket: XDP has passed such octets, but the kernel may have
 * dropped them, so the peer sends them again. Returns true if the packet's frames are kept.
 */
static bool wait_for_socket(struct xiw_conn *c, const struct xiw_segment *s,
			    const struct xiw_tcp_seg *seg)
{
	if (xiw_seq_before(seg->seq, c->stretch.committed)) {
		xiw_inject_old(c, s);
		c->progress.waits_ms = 0; /* the socket may make progress now */
		if (seg->has_ts && awaited(c, seg->seq, seg->seq + s->meta->payload_len)) {
			c->progress.filled = true;
			c->progress.filled_tsval = seg->tsval;
		}
		if (comes_again(c, seg->seq))
			xiw_progress_refused(c, XIW_REASON_INJECT, NULL);
		return false;
	}
	if (seg->seq == c->stretch.committed && xiw_progress_waits(c, s))
		return false;
	xiw_progress_waiting(c);
	/* The peer was offered no more than this window. */
	if (xiw_flow_within_window(c->flow, seg->seq) && xiw_patience_keep(c, s))
		return true;
	xiw_segment_dropped(c);
	return false;
}

/* Handles a segment that comes behind one that waits for a buffer. Returns true if the packet's frames are kept. */
static bool wait_for_buffer(struct xiw_conn *c, const struct xiw_segment *s,
			    const struct xiw_tcp_seg *seg)
{
	/* The peer was offered no more than this window. */
	if (!xiw_flow_within_window(c->flow, seg->seq)) {
		xiw_segment_dropped(c);
		return false;
	}
	if (xiw_patience_keep(c, s))
		return true;
	xiw_fall_back(c, XIW_REASON_NO_BUFFER, NULL);
	if (c->stretch.state == XIW_STRETCH_ENDS)
		xiw_inject_late(c, s);
	else
		xiw_stale_segment(c, s->packet, s->meta);
	return false;
}

/* Processes a packet from AF_XDP. Returns true if the packet's frames are kept. */
static bool packet(struct xiw_rxq *q, const struct xiw_packet *p, struct xiw_straight *line)
{
	const struct xiw_meta *meta = xiw_packet_meta(p, q->netif->table.nflows);
	struct xiw_conn *c = meta ? q->netif->by_flow[meta->flow] : NULL;
	struct xiw_segment s = { p, meta };
	struct xiw_tcp_seg seg = {};
	enum xiw_reason reason;
	bool kept;

	xiw_straight_end(line);
	if (!c)
		return false;
	/* After an error nothing more is placed or delivered. TCP sends the segment again, to the socket. */
	if (!xiw_packet_link_good(p, meta) ||
	    (c->rx_dead && c->stretch.state != XIW_STRETCH_ENDS)) {
		xiw_segment_dropped(c);
		xiw_note_seen(c);
		return false;
	}
	reason = xiw_packet_read(c, p, meta, &seg);
	if (!current(c, q, meta)) {
		xiw_note_seen(c);
		if (reason)
			xiw_segment_dropped(c);
		else
			xiw_stale_segment(c, p, meta);
		return false;
	}
	if (reason) {
		damaged(c, &s, &seg, reason);
		return false;
	}
	if (c->stretch.state == XIW_STRETCH_ENDS) {
		xiw_inject_late(c, &s);
		return false;
	}
	if (xiw_patient(c))
		return wait_for_buffer(c, &s, &seg);
	if (c->stretch.state == XIW_STRETCH_WAITS) {
		if (c->keeps.waiting || c->recv.nxt != c->stretch.committed)
			return wait_for_socket(c, &s, &seg);
		if (!enter(c, p, meta, &seg)) {
			if (c->stretch.state == XIW_STRETCH_ENDS)
				xiw_inject_late(c, &s);
			else
				xiw_stale_segment(c, p, meta);
			return false;
		}
	}
	kept = segment(c, &s, &seg);
	xiw_straight_after(line, c, &s, &seg);
	return kept;
}

/* Takes the segments that wait, until one of them finds no buffer. False: the stretch cannot begin. */
static bool take_waiting(struct xiw_conn *c)
{
	struct xiw_kept *k;

	/* A fall-back within the loop empties the list, and so does the one that follows an error. */
	while (!c->rx_dead && !xiw_patient(c) && (k = c->keeps.waiting)) {
		struct xiw_segment s = { &k->packet, &k->meta };
		struct xiw_tcp_seg seg = {};

		xiw_packet_read(c, s.packet, s.meta, &seg);
		if (c->stretch.state == XIW_STRETCH_WAITS && !enter(c, s.packet, s.meta, &seg))
			return false;
		c->keeps.waiting = k->next_free;
		c->stretch.rxq = k->rxq;
		xiw_kept_uncount(k);
		/* If the segment is kept again, behind a gap, its frames have moved to another node. */
		if (segment(c, &s, &seg))
			k->packet.frags = 0;
		xiw_kept_free(c->engine, k);
	}
	return true;
}

/* A buffer was posted for the segment that waits first. */
static void go_on(struct xiw_conn *c)
{
	struct xiw_tcp_take rest = c->keeps.rest;
	struct xiw_kept *k = xiw_patience_over(c);
	struct xiw_segment s = { &k->packet, &k->meta };

	c->stretch.rxq = k->rxq;
	xiw_kept_uncount(k);
	if (xiw_take(c, &s, &rest, NULL))
		k->packet.frags = 0;
	xiw_kept_free(c->engine, k);
	if (c->tcp.keep_head)
		take_kept(c);
	take_waiting(c);
}

void xiw_stretch_resume(struct xiw_conn *c)
{
	if (c->keeps.go_on && c->stretch.state == XIW_STRETCH_RUNS && !c->rx_dead)
		go_on(c);
	if (c->stretch.state != XIW_STRETCH_WAITS)
		return;
	/* XDP may have taken the stream back, and no frame would show it. */
	if (xiw_owner_epoch(xiw_flow_owner(c->flow)) != c->stretch.epoch) {
		xiw_ownership_lost(c);
		return;
	}
	/* XDP began the stretch while the stream was held in the socket. */
	if (c->hold.on) {
		xiw_fall_back(c, XIW_REASON_NO_BUFFER, NULL);
		return;
	}
	if (c->recv.nxt != c->stretch.committed)
		return;
	if (!take_waiting(c))
		return;
	if (c->progress.filled && c->stretch.state == XIW_STRETCH_RUNS)
		xiw_tcp_rx_advanced_elsewhere(&c->tcp, c->progress.filled_tsval);
	c->progress.filled = false;
}

/* Returns how many frames the kernel is to have, if that many have not run out yet. */
static uint32_t frames_ready(const struct xiw_engine *e)
{
	return e->nconns < FRAMES_READY / FRAMES_EACH ? e->nconns * FRAMES_EACH : FRAMES_READY;
}

unsigned int xiw_direct_poll(struct xiw_engine *e, struct xiw_rxq *q)
{
	struct xiw_straight line;
	const struct xiw_packet *p = e->packets, *end, *stop;
	unsigned int n;

	line.left = line.taken = 0;
	n = xiw_xsk_receive(&q->xsk, e->packets, q->batch);
	e->batch++;
	e->ready.pace.took += n;
	if (n && !q->netif->frames_come)
		q->netif->frames_come = true;
	end = p + n;
	do {
		stop = end - p > XIW_XSK_POLL ? p + XIW_XSK_POLL : end;
		for (; p < stop; p++)
			if (xiw_straight_take(&line, p) || !packet(q, p, &line))
				xiw_xsk_release(&q->xsk, p->addr, p->frags);
		xiw_xsk_refill(&q->xsk, frames_ready(e));
	} while (p < end);
	xiw_straight_end(&line);
	return n;
}
