// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The turn, which is one round of xiw_engine_run(). It takes completions of io_uring, frames and timers that are due.
 * Then it does what these have noted on the agenda, in the order in which packets must leave. Connections end only
 * here, or in a call of the application that asks for it.
 */
#include "engine/turn.h"

#include <errno.h>

#include "conn/accept.h"
#include "conn/conn.h"
#include "conn/connect.h"
#include "conn/limits.h"
#include "conn/listener.h"
#include "conn/reclaim.h"
#include "conn/register.h"
#include "conn/send.h"
#include "conn/stage.h"
#include "conn/startup.h"
#include "conn/stop.h"
#include "core/agenda.h"
#include "core/clock.h"
#include "core/cq.h"
#include "core/inbox.h"
#include "core/queue.h"
#include "core/ring.h"
#include "core/timer.h"
#include "engine/ready.h"
#include "path/acks.h"
#include "path/arm.h"
#include "path/commit.h"
#include "path/direct.h"
#include "path/fallback.h"
#include "path/gaps.h"
#include "path/hold.h"
#include "path/inject.h"
#include "path/output.h"
#include "path/progress.h"
#include "path/rebind.h"
#include "path/kernel.h"
#include "path/watch.h"

#define FALL_BACK_BATCHES 8 /* rounds in which connections that fall back may take more frames */

static void conn_done(struct xiw_conn *c, enum xiw_op op, int res, uint32_t flags)
{
	if (op != XIW_OP_RECV)
		c->ops--;
	switch (op) {
	case XIW_OP_CONNECT:
		xiw_connect_done(c, res);
		break;
	case XIW_OP_STARTUP_RECV:
		xiw_startup_received(c, res);
		break;
	case XIW_OP_STARTUP_SEND:
		xiw_startup_sent(c, res);
		break;
	case XIW_OP_RECV:
		xiw_recv_done(c, res, flags);
		break;
	case XIW_OP_SEND:
		xiw_send_done(c, res);
		break;
	case XIW_OP_SEND_PAUSE:
		xiw_send_paused(c);
		break;
	default:
		break;
	}
	xiw_conn_op_done(c);
}

static void dispatch(const struct io_uring_cqe *cqe)
{
	enum xiw_op op = (enum xiw_op)(cqe->user_data & XIW_OP_MASK);
	void *object = (void *)(uintptr_t)(cqe->user_data & ~XIW_OP_MASK);
	struct xiw_rxq *q = object;

	switch (op) {
	case XIW_OP_NONE:
		break;
	case XIW_OP_DOORBELL:
		xiw_doorbell_failed(object, cqe->res);
		break;
	case XIW_OP_ACCEPT:
		xiw_accept_done(object, cqe->res, cqe->flags);
		break;
	case XIW_OP_CONNECT:
	case XIW_OP_STARTUP_RECV:
	case XIW_OP_STARTUP_SEND:
	case XIW_OP_RECV:
	case XIW_OP_SEND:
	case XIW_OP_SEND_PAUSE:
		conn_done(object, op, cqe->res, cqe->flags);
		break;
	case XIW_OP_WATCH:
		xiw_watch_event(object);
		break;
	case XIW_OP_WAKE:
		xiw_inbox_rung(object, cqe->flags);
		break;
	case XIW_OP_TIMER:
		xiw_ready_timer_done(object);
		break;
	case XIW_OP_POLL_XSK:
		q->polled = false;
		break;
	case XIW_OP_KICK_XSK:
		q->kicking = false;
		/* The kernel sends a limited number of packets per call, so some may be left. */
		if (cqe->res == -EAGAIN || cqe->res == -EBUSY || cqe->res == -ENOBUFS)
			q->xsk.kick = true;
		break;
	}
}

unsigned int xiw_turn_reap(struct xiw_engine *e)
{
	struct io_uring_cqe *cqe;
	unsigned int head, n = 0;

	e->watch.read = false;
	io_uring_for_each_cqe(&e->io.ring, head, cqe)
	{
		dispatch(cqe);
		n++;
	}
	io_uring_cq_advance(&e->io.ring, n);
	if (n)
		xiw_ready_lit(e);
	return n;
}

/*
 * The kernel's TCP may send at once when it is given data or learns of an acknowledgement (xiw_turn_tell()). The
 * engine's ACKs have left by then. Otherwise they would arrive behind newer segments, and a peer may ignore what they
 * say.
 */
static void finish_sending(struct xiw_conn *c)
{
	if (c->end.failing)
		xiw_conn_failed(c);
	if (c->handoff.want_arm) {
		c->handoff.want_arm = false;
		xiw_try_arm(c, XIW_RUN);
	}
	if (c->tcp.feedback_due)
		xiw_tell_socket(c);
	if (c->send.count > c->send.staged)
		xiw_send_pump(c);
	if (c->end.eof || c->end.closing)
		xiw_conn_maybe_end(c);
	xiw_counts_publish(c);
}

/*
 * Does everything that waited for the end of a batch: first what all connections have received, then what they send. A
 * connection may also end here, since no caller is in the middle of a delivery for it.
 */
static void finish_batch(struct xiw_engine *e)
{
	while (e->agenda.dirty) {
		struct xiw_conn *c;

		for (c = e->agenda.dirty; c; c = c->next_dirty) {
			xiw_stretch_resume(c);
			xiw_commit(c);
		}
		xiw_acks_out(e);
		e->agenda.finishing = e->agenda.dirty;
		e->agenda.dirty = NULL;
		while ((c = e->agenda.finishing)) {
			e->agenda.finishing = c->next_dirty;
			c->dirty = false;
			finish_sending(c);
		}
	}
}

/* Notes how long the frames of a batch have waited for the engine, which last looked for some at `beat_ns`. */
static void note_wait(struct xiw_engine *e, const struct xiw_queue *q, uint64_t beat_ns)
{
	const int64_t now = (int64_t)xiw_bpf_clock(e), since_beat = now - (int64_t)beat_ns,
		      since_frame = now - (int64_t)q->wait_ns;

	if (since_beat >= XIW_PACE_STILL_NS && since_frame >= XIW_PACE_STILL_NS)
		e->ready.pace.late_ns = e->now_ns;
}

/* Takes one batch from a queue. False: the queue was empty. */
static bool poll_queue(struct xiw_engine *e, struct xiw_rxq *q)
{
	const uint64_t beat_ns = q->shared->beat_ns;

	/*
	 * There is no room for completions. The beat is left out: if this lasts, the watchdog gives the stream to the
	 * kernel, whose window can close.
	 */
	if (xiw_cq_room(e) <= XIW_CQ_RESERVE)
		return true;
	__atomic_store_n(&q->shared->beat_ns, xiw_bpf_clock(e), __ATOMIC_RELAXED);
	if (!xiw_direct_poll(e, q)) {
		__atomic_store_n(&q->shared->emptied_ns, xiw_bpf_clock(e), __ATOMIC_RELEASE);
		return false;
	}
	note_wait(e, q->shared, beat_ns);
	if (__atomic_load_n(&q->shared->cut, __ATOMIC_RELAXED))
		xiw_rebind_look(e, q->netif);
	finish_batch(e);
	return true;
}

/*
 * Takes a batch from each queue, beginning with number *next of them. Returns true if io_uring has completions
 * meanwhile, which come before the frames of the queues from *next on.
 */
static bool poll_queues(struct xiw_engine *e, uint32_t *next, bool *busy)
{
	uint32_t number = 0, polled = 0;

	for (struct xiw_netif *p = e->netifs; p; p = p->next) {
		for (uint32_t i = 0; i < p->nqueues; i++, number++) {
			if (number < *next)
				continue;
			if (polled && io_uring_cq_ready(&e->io.ring)) {
				*next = number;
				return true;
			}
			*busy |= poll_queue(e, &p->queues[i]);
			polled++;
		}
	}
	return false;
}

/*
 * io_uring's completions come before frames, so that a message that was sent completes before what the peer answers to
 * it: its last octets are sent by a system call of this thread, which leaves the completion in the ring. Every queue
 * has its turn, however much comes by the others. Interfaces may be retired by a completion, so none is looked at then.
 */
static bool take(struct xiw_engine *e)
{
	uint32_t next = 0;
	bool busy = false;

	do
		busy |= xiw_turn_reap(e) > 0;
	while (poll_queues(e, &next, &busy));
	return busy;
}

/*
 * A connection that falls back first takes the frames that came in the meantime, then swaps the owner word. The number
 * of batches is limited, as frames may keep coming.
 */
static void finish_fall_backs(struct xiw_engine *e)
{
	for (int i = 0; e->agenda.falling_back && i < FALL_BACK_BATCHES; i++)
		if (!take(e))
			break;
	while (e->agenda.falling_back)
		xiw_fall_back_finish(e->agenda.falling_back);
}

/* Goes on with connections that waited for room in the completion queue, for a buffer or for a stage. */
static void resume(struct xiw_engine *e)
{
	uint32_t room;

	for (struct xiw_conn *c = e->agenda.holders, *next; c; c = next) {
		next = c->recv.next_holder;
		xiw_stream_resume(c);
	}
	/* The first in line get the buffers that there are. The others would find none. */
	for (room = xiw_bufs_offer(e); e->agenda.starved && room; room--)
		xiw_recv_post(e->agenda.starved);
	xiw_stage_retry(e);
}

/* Makes the kernel send the TX rings, and publishes the queues' counters for other processes. */
static void kick(struct xiw_engine *e)
{
	for (struct xiw_netif *p = e->netifs; p; p = p->next) {
		for (uint32_t i = 0; i < p->nqueues; i++) {
			struct xiw_rxq *q = &p->queues[i];

			xiw_queue_kick(e, q);
			/* XDP reads this cache line for each frame, so it is written only on a change. */
			if (q->shared->too_long != q->xsk.too_long)
				q->shared->too_long = q->xsk.too_long;
			if (q->shared->tx_full != q->xsk.tx_full)
				q->shared->tx_full = q->xsk.tx_full;
		}
	}
}

/* ---- what is due ------------------------------------------------------------------------------------ */

static void deadline(struct xiw_conn *c)
{
	const enum xiw_limit limit = c->timer.limit;

	xiw_conn_deadline(c, XIW_LIMIT_NONE, 0);
	if (c->state == XIW_DEAD || c->end.asked)
		return;
	if (limit == XIW_LIMIT_STARTUP)
		xiw_startup_timeout(c);
	else
		xiw_conn_limit(c, limit);
}

static void ulp_due(struct xiw_conn *c)
{
	c->timer.ulp_ms = XIW_NEVER;
	if (c->state == XIW_OPEN)
		c->ulp->due(c);
}

static void due(struct xiw_conn *c)
{
	if (c->timer.deadline_ms <= c->engine->now_ms)
		deadline(c);
	if (c->progress.due_ms <= c->engine->now_ms)
		xiw_progress_due(c);
	if (c->progress.output.look_ms <= c->engine->now_ms)
		xiw_output_look(c);
	if (c->timer.hold_ms <= c->engine->now_ms)
		xiw_conn_limit_hold(c);
	if (c->timer.ulp_ms <= c->engine->now_ms)
		ulp_due(c);
	if (c->timer.ack_ms <= c->engine->now_ms) {
		xiw_commit(c);
		xiw_dirty(c); /* for what follows an ACK */
	}
	xiw_timer(c);
}

static void run_timers(struct xiw_engine *e)
{
	struct xiw_conn *c;

	if (e->now_ms < e->wheel.next_ms)
		return;
	while ((c = xiw_timer_due(e)))
		due(c);
	xiw_slots_collect(e);
	e->wheel.next_ms = e->wheel.collect_ms;
	xiw_timer_wake(e);
	xiw_accept_again(e);
	xiw_watch_scan(e);
	xiw_gaps_look(e);
}

/* ---- ends --------------------------------------------------------------------------------------------- */

/*
 * Takes the frames that came before the socket ended; they are in the rings by now. False: there was no room for their
 * completions.
 */
static bool frames_taken(struct xiw_conn *c)
{
	struct xiw_engine *e = c->engine;
	struct xiw_netif *p = c->netif;

	if (!c->flow || xiw_owner_path(xiw_flow_owner(c->flow)) != XIW_PATH_DIRECT)
		return true;
	for (uint32_t i = 0; i < p->nqueues; i++) {
		struct xiw_rxq *q = &p->queues[i];

		/* A queue holds no more frames than this now. Frames of other connections may keep coming. */
		for (uint32_t n = 0; n <= e->opts.frames; n += q->batch) {
			if (xiw_cq_room(e) <= XIW_CQ_RESERVE)
				return false;
			if (!poll_queue(e, q))
				break;
		}
	}
	return true;
}

static bool delivered(struct xiw_conn *c)
{
	/* A hold ends with the connection. */
	return c->end.at_once || c->rx_dead || c->hold.waits ||
	       (c->end.eof && !xiw_octets_wait(c) && frames_taken(c));
}

/* Returns true if io_uring's completions, which come before frames, have left something for another turn to do. */
static bool carry_out_ends(struct xiw_engine *e)
{
	const bool busy = e->agenda.ending && xiw_turn_reap(e);
	struct xiw_conn *c, *waiting = NULL;

	while ((c = e->agenda.ending)) {
		e->agenda.ending = c->end.next_ending;
		if (c->state != XIW_DEAD && !delivered(c)) {
			c->end.next_ending = waiting;
			waiting = c;
			continue;
		}
		xiw_conn_end(c, c->end.asked_error);
	}
	e->agenda.ending = waiting;
	return busy;
}

/* ---- the turn ---------------------------------------------------------------------------------------- */

void xiw_turn_tell(struct xiw_engine *e)
{
	struct xiw_conn *c;

	for (c = e->agenda.telling; c; c = c->handoff.next_telling)
		xiw_acknowledge_late(c);
	xiw_acks_out(e);
	kick(e); /* what the kernel has not sent by now, io_uring asks for; there may be no other turn for long */
	while ((c = e->agenda.telling)) {
		xiw_tell_socket_no_more(c);
		xiw_feedback_flush(c);
	}
}

bool xiw_turn(struct xiw_engine *e)
{
	bool busy;

	xiw_clock_update(e);
	xiw_cqs_refill(e);
	busy = xiw_inbox_run(
		e); /* outside the gate, as the application's functions may use the group */
	xiw_regions_enter(e);
	busy |= take(e);
	run_timers(e);
	resume(e);
	finish_batch(e);
	finish_fall_backs(e);
	finish_batch(e);
	if (e->short_of_memory)
		xiw_reclaim(e);
	busy |= carry_out_ends(e);
	kick(e);
	if (e->watch.rebinds)
		xiw_rebind_go_on(e);
	if (e->retired)
		xiw_watch_sweep(e);
	xiw_regions_leave(e);
	return busy;
}
