// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The end of a batch on the direct path: the engine commits, then acknowledges. When the ACKs have left, it
 * tells the kernel's socket what the peer acknowledged.
 */
#include "path/commit.h"

#include "core/agenda.h"
#include "core/timer.h"
#include "path/acks.h"
#include "path/fallback.h"
#include "path/progress.h"
#include "path/receiver.h"
#include "path/remember.h"

#define CARRIES_MS 1000

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
	f->early_refused = (uint32_t)c->counts.early_refused;
	f->injected = c->counts.injected;
	f->acks_sent = c->counts.acks_sent;
	f->armed = c->counts.armed;
	f->segs_dropped = c->counts.segs_dropped;
}

/* Tells xiw_egress the timestamp to echo and whether to set ECE. */
static void publish(const struct xiw_conn *c)
{
	__atomic_store_n(&c->flow->ts_recent, c->tcp.ts_recent, __ATOMIC_RELAXED);
	xiw_ece_publish(c);
}

/*
 * The socket does not see the octets of the direct path, so it would take a peer that sends nothing else for
 * idle and send keepalive probes. XDP passes the answers, but a single lost answer would count for more than on
 * the kernel path. Therefore the engine injects the peer's latest acknowledgement now and then.
 *
 * Conntrack does not see them either. It may take no part in what goes over lo, so an answer of the peer, which XDP
 * passes, keeps the connection known to it.
 */
static void tell_alive(struct xiw_conn *c)
{
	struct xiw_tcp_rx *rx = &c->tcp;

	c->timer.alive_ms = xiw_alive_due(c);
	rx->feedback.ack = rx->snd_una;
	rx->feedback.wnd = rx->snd_wnd;
	rx->feedback.has_ts = rx->flags & XIW_TCP_RX_TS;
	rx->feedback.tsval = rx->ts_recent;
	rx->feedback_due |= XIW_TCP_FEEDBACK_ACK;
	if (c->engine->watch.forgets_ms)
		xiw_acks_elicit(c);
}

/*
 * Octets come that the peer has not sent before, after a time in which it would have repeated those that it does not
 * know to be acknowledged.
 */
static void carries(struct xiw_conn *c)
{
	c->progress.memory.since_ms = (uint32_t)c->engine->now_ms;
	xiw_remember_carries(c);
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
		if ((uint32_t)c->engine->now_ms - c->progress.memory.since_ms >= CARRIES_MS)
			carries(c);
	} else if (xiw_owner_epoch(xiw_flow_owner(c->flow)) != c->stretch.epoch) {
		/* There is nothing to commit, but a delayed ACK and its window would be outdated. */
		xiw_ownership_lost(c);
		return;
	} else {
		xiw_acks_note_said(c);
	}
	publish(c);
	if (moved && c->timer.alive_ms <= c->engine->now_ms)
		tell_alive(c);
	if (!xiw_tcp_rx_ack_due(&c->tcp, c->engine->now_ms, true) || !xiw_answer_may_come(c)) {
		xiw_acknowledge(c);
		return;
	}
	xiw_tell_socket(c);
	c->timer.ack_ms = c->tcp.ack_since_ms + c->tcp.delack_ms;
	xiw_timer(c);
}
