// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From the direct path to the kernel path: the engine falls back, or XDP has taken the stream back. What the
 * engine holds is injected into the socket.
 */
#include "path/fallback.h"

#include <string.h>

#include "core/agenda.h"
#include "core/queue.h"
#include "path/acks.h"
#include "path/inject.h"
#include "path/packet.h"
#include "path/patience.h"
#include "path/receiver.h"

/*
 * Releases every frame that the engine holds of the connection: those that wait for a buffer or for the socket, and
 * those behind a gap. If `ours_to_give`, they are injected first.
 */
static void inject_kept(struct xiw_conn *c, bool ours_to_give, uint32_t skew)
{
	struct xiw_tcp_keep *node, *next;

	while (c->keeps.hand || c->keeps.waiting) {
		struct xiw_kept *k = xiw_patience_over(c);

		if (!k) {
			k = c->keeps.waiting;
			c->keeps.waiting = k->next_free;
		}
		if (ours_to_give && xiw_receiver_passes(c, &k->packet, &k->meta)) {
			xiw_inject_note_ecn(c, &k->packet, &k->meta);
			xiw_inject_whole(c, &k->packet, &k->meta, skew);
		}
		xiw_kept_free(c->engine, k);
	}
	for (node = xiw_tcp_rx_flush(&c->tcp); node; node = next) {
		struct xiw_kept *k = (struct xiw_kept *)node;

		next = node->next;
		if (ours_to_give) {
			__atomic_store_n(&c->flow->gap, xiw_segment_seq(&k->packet, &k->meta),
					 __ATOMIC_RELAXED);
			xiw_inject_whole(c, &k->packet, &k->meta, skew);
		}
		xiw_kept_free(c->engine, k);
	}
}

/* It is on the list of those that fall back only while its stretch ends, and so at most once. */
static void out_of_direct(struct xiw_conn *c)
{
	struct xiw_conn **at = &c->engine->agenda.falling_back;

	while (*at && *at != c)
		at = &(*at)->handoff.next_falling_back;
	if (*at)
		*at = c->handoff.next_falling_back;
	c->counts.went_kernel++;
	c->timer.ack_ms = XIW_NEVER;
	c->stretch.state = XIW_STRETCH_OFF;
	c->handoff.want_arm = true;
	xiw_dirty(c);
}

/*
 * The stream falls back at rcv_nxt, which stands between two FPDUs. What the engine holds beyond it goes to the
 * socket. The segment in hand goes first, because it is the next in order.
 *
 * The owner word is swapped later, by xiw_fall_back_finish(). If it were swapped now, segments that XDP passes
 * would overtake those that are injected; the peer would be told of a gap and would send all of them again.
 * Until the swap, frames still come to the engine, which injects them (xiw_inject_late()). The skew does not
 * change any more, so the socket's acknowledgements are translated correctly under either word.
 */
void xiw_fall_back(struct xiw_conn *c, enum xiw_reason reason, const struct xiw_segment *in_hand)
{
	uint32_t rcv_nxt = c->stretch.state == XIW_STRETCH_WAITS ? c->stretch.committed
								 : c->tcp.rcv_nxt,
		 skew;

	if (!xiw_stretch_live(c))
		return;
	xiw_feedback_flush(c);
	if (rcv_nxt != c->stretch.committed &&
	    !xiw_flow_commit(c->flow, c->stretch.epoch, c->stretch.committed, rcv_nxt)) {
		xiw_ownership_lost(c);
		if (in_hand)
			xiw_stale_segment(c, in_hand->packet, in_hand->meta);
		return;
	}
	c->stretch.committed = rcv_nxt;
	/* The socket does not acknowledge what it has not seen. */
	if (c->handoff.telling_at)
		xiw_acknowledge_late(c);
	/* The segment in hand may have brought CE or CWR after the last commit. */
	if (c->stretch.state != XIW_STRETCH_WAITS) {
		c->recv.nxt = rcv_nxt;
		xiw_flow_raise(&c->flow->direct_edge, c->tcp.right_edge);
		xiw_ece_publish(c);
	} else {
		xiw_receiver_skip(c);
		if (in_hand && !xiw_receiver_passes(c, in_hand->packet, in_hand->meta))
			in_hand = NULL;
		if (in_hand)
			xiw_inject_note_ecn(c, in_hand->packet, in_hand->meta);
	}
	c->stretch.state = XIW_STRETCH_ENDS;
	c->handoff.reason = reason;
	c->handoff.next_falling_back = c->engine->agenda.falling_back;
	c->engine->agenda.falling_back = c;
	skew = rcv_nxt - xiw_flow_kernel_nxt(c->flow);
	/* The socket acknowledges at once what is injected. Its ACKs must not overtake those of the engine. */
	xiw_acks_out(c->engine);
	if (in_hand)
		xiw_inject_whole(c, in_hand->packet, in_hand->meta, skew);
	inject_kept(c, true, skew);
}

void xiw_patience_end(struct xiw_conn *c)
{
	if (xiw_patient(c) && !c->keeps.go_on)
		xiw_fall_back(c, XIW_REASON_NO_BUFFER, NULL);
}

/*
 * If the swap fails, XDP's watchdog has taken the stream back first, at the same octet and so with the same
 * skew.
 */
void xiw_fall_back_finish(struct xiw_conn *c)
{
	if (c->stretch.state != XIW_STRETCH_ENDS)
		return;
	xiw_flow_fall_back(c->flow, c->stretch.epoch, c->stretch.committed, c->handoff.reason);
	out_of_direct(c);
	if (c->progress.output.inform)
		xiw_acks_elicit(c);
	c->progress.output.inform = false;
}

/*
 * XDP has taken the stream back between two commits (watchdog, or no AF_XDP socket on the queue). Its skew
 * counts from the last commit, so the socket will give the octets behind that commit again. They have been
 * placed and delivered, so they are skipped when they come, and the next stretch must not begin among them.
 */
void xiw_ownership_lost(struct xiw_conn *c)
{
	uint64_t owner = xiw_flow_owner(c->flow);

	if (c->stretch.state == XIW_STRETCH_RUNS) {
		c->recv.nxt = c->stretch.committed;
		c->recv.skip = c->tcp.rcv_nxt - c->stretch.committed;
		xiw_flow_raise(&c->flow->kernel_high, c->tcp.rcv_nxt);
		xiw_flow_raise(&c->flow->direct_edge, c->tcp.right_edge);
		xiw_ece_publish(c);
	}
	xiw_receiver_skip(c);
	xiw_inject_behind_kernel(c);
	xiw_acks_out(c->engine);
	inject_kept(c, xiw_owner_path(owner) == XIW_PATH_KERNEL, xiw_owner_value(owner));
	out_of_direct(c);
}

/* Has the frame come since the connection was registered? Otherwise it is of the one that had the slot before. */
static bool of_this_connection(const struct xiw_conn *c, const struct xiw_meta *meta)
{
	return ((meta->epoch - c->handoff.since) & XIW_EPOCH_MASK) <= XIW_EPOCH_MASK / 2;
}

/*
 * The socket gets the frame if the kernel owns the stream; else TCP sends the segment again. Under ARMED, XDP
 * may go direct at the same time, at a kernel_high that does not cover this segment. The rule that keeps two
 * CPUs in XDP apart prevents that: raise kernel_high first, then read the owner word again.
 */
void xiw_stale_segment(struct xiw_conn *c, const struct xiw_packet *p, const struct xiw_meta *meta)
{
	uint64_t owner = xiw_flow_owner(c->flow);

	if ((xiw_owner_path(owner) != XIW_PATH_KERNEL &&
	     xiw_owner_path(owner) != XIW_PATH_ARMED) ||
	    !of_this_connection(c, meta))
		goto drop;
	if (!xiw_receiver_passes(c, p, meta))
		return;
	xiw_inject_behind_kernel(c);
	xiw_inject_raise_high(c, p, meta);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (xiw_flow_owner(c->flow) != owner)
		goto drop;
	xiw_inject_note_ecn(c, p, meta);
	xiw_inject_segment(c, p, meta, meta->payload_len, xiw_owner_value(owner));
	return;
drop:
	xiw_segment_dropped(c);
}
