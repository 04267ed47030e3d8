// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/opts.h"
#include "core/internal.h"

#define XIW_ENGINE_FLAGS (XIW_ENGINE_TRUST_CHECKSUM | XIW_ENGINE_APP_RING)

#define LEAVE_BATCHES 8

void xiw_wake_at(struct xiw_engine *e, uint64_t ms)
{
	if (ms < e->next_scan_ms)
		e->next_scan_ms = ms;
}

void xiw_dirty(struct xiw_conn *c)
{
	if (c->dirty)
		return;
	c->dirty = true;
	c->next_dirty = c->engine->dirty;
	c->engine->dirty = c;
}

/* ---- the turn ------------------------------------------------------------------------------------ */

static void dispatch(const struct io_uring_cqe *cqe)
{
	void *object = (void *)(uintptr_t)(cqe->user_data & ~XIW_OP_MASK);
	struct xiw_rxq *q = object;

	switch ((enum xiw_op)(cqe->user_data & XIW_OP_MASK)) {
	case XIW_OP_NONE:
		break;
	case XIW_OP_DOORBELL:
		xiw_doorbell_failed(object, cqe->res);
		break;
	case XIW_OP_ACCEPT:
		xiw_accept_done(object, cqe->res, cqe->flags);
		break;
	case XIW_OP_CONNECT:
		xiw_connect_done(object, cqe->res);
		break;
	case XIW_OP_RECV:
		xiw_recv_done(object, cqe->res, cqe->flags);
		xiw_conn_op_done(object);
		break;
	case XIW_OP_SEND:
		xiw_send_done(object, cqe->res);
		break;
	case XIW_OP_STARTUP:
		xiw_startup_done(object, cqe->res);
		break;
	case XIW_OP_WATCH:
		xiw_watch_event(object);
		break;
	case XIW_OP_POLL_XSK:
		q->polled = false;
		break;
	case XIW_OP_KICK_XSK:
		q->kicking = false;
		/* The kernel sends a bounded number of packets per call. */
		if (cqe->res == -EAGAIN || cqe->res == -EBUSY || cqe->res == -ENOBUFS)
			q->xsk.kick = true;
		break;
	}
}

static unsigned int reap(struct xiw_engine *e)
{
	struct io_uring_cqe *cqe;
	unsigned int head, n = 0;

	e->news_read = false;
	io_uring_for_each_cqe(&e->ring, head, cqe)
	{
		dispatch(cqe);
		n++;
	}
	io_uring_cq_advance(&e->ring, n);
	return n;
}

/*
 * The kernel's TCP sends at once what it is given or may send, also when it learns of an acknowledgement: by then the
 * engine's ACKs have left, or they would arrive behind newer segments, where a peer drops them with all that they say.
 */
static void settle_sending(struct xiw_conn *c)
{
	if (c->failing)
		xiw_conn_failed(c);
	if (c->want_arm) {
		c->want_arm = false;
		xiw_try_arm(c, XIW_RUN);
	}
	xiw_direct_news(c);
	if (c->send_count > c->send_sent)
		xiw_send_pump(c);
	if (c->eof || c->closing)
		xiw_conn_maybe_end(c);
	xiw_account(c);
}

/*
 * Everything that waited for the end of a batch: what is received first, of all connections, then what is sent; an
 * end that is due as well, as no delivery is under way here that somebody up the stack would go on with.
 */
static void settle(struct xiw_engine *e)
{
	while (e->dirty) {
		struct xiw_conn *c;

		for (c = e->dirty; c; c = c->next_dirty) {
			xiw_direct_drained(c);
			xiw_direct_settle(c);
		}
		xiw_acks_out(e);
		e->settling = e->dirty;
		e->dirty = NULL;
		while ((c = e->settling)) {
			e->settling = c->next_dirty;
			c->dirty = false;
			settle_sending(c);
		}
	}
}

/* One batch from a queue. False: it was empty. */
bool xiw_poll_queue(struct xiw_engine *e, struct xiw_rxq *q)
{
	/* No beat: if this lasts, the watchdog moves the stream to where a window can close. */
	if (xiw_cq_room(e) <= XIW_CQ_RESERVE)
		return true;
	__atomic_store_n(&q->shared->beat_ns, xiw_bpf_clock(e), __ATOMIC_RELAXED);
	if (!xiw_direct_poll(e, q)) {
		__atomic_store_n(&q->shared->drained_ns, xiw_bpf_clock(e), __ATOMIC_RELEASE);
		return false;
	}
	settle(e);
	return true;
}

static bool poll_queues(struct xiw_engine *e)
{
	bool busy = false;

	for (struct xiw_port *p = e->ports; p; p = p->next)
		for (uint32_t i = 0; i < p->nqueues; i++)
			busy |= xiw_poll_queue(e, &p->queues[i]);
	return busy;
}

/*
 * Connections that fall back swap the owner word when their frames have been taken: after what came in the
 * meantime, but not for ever.
 */
static void leave(struct xiw_engine *e)
{
	for (int i = 0; e->leaving && i < LEAVE_BATCHES; i++)
		if (!poll_queues(e))
			break;
	while (e->leaving)
		xiw_leave(e->leaving);
}

/* Room for completions, or buffers, may be back. */
static void resume(struct xiw_engine *e)
{
	uint32_t room;

	for (struct xiw_conn *c = e->holders, *next; c; c = next) {
		next = c->next_holder;
		xiw_stream_resume(c);
	}
	/* As many as there are buffers, first come, first served; all at once would find none again. */
	for (room = XIW_BUFS - e->bufs_out; e->starved && room; room--)
		xiw_recv_arm(e->starved);
	xiw_stage_retry(e);
}

static void prepare_to_wait(struct xiw_engine *e)
{
	for (struct xiw_port *p = e->ports; p; p = p->next)
		for (uint32_t i = 0; i < p->nqueues; i++)
			xiw_port_poll(e, &p->queues[i]);
}

/* What a turn leaves: the ring's news for the kernel, and the queue's account for other processes. */
static void kick(struct xiw_engine *e)
{
	for (struct xiw_port *p = e->ports; p; p = p->next) {
		for (uint32_t i = 0; i < p->nqueues; i++) {
			struct xiw_rxq *q = &p->queues[i];

			xiw_port_kick(e, q);
			/* XDP reads the line for each frame. */
			if (q->shared->too_long != q->xsk.too_long)
				q->shared->too_long = q->xsk.too_long;
			if (q->shared->tx_full != q->xsk.tx_full)
				q->shared->tx_full = q->xsk.tx_full;
		}
	}
}

static bool turn(struct xiw_engine *e)
{
	bool busy;

	xiw_look_at_clock(e);
	xiw_cq_drain(e);
	busy = poll_queues(e);
	busy |= reap(e) > 0;
	xiw_timers_run(e);
	resume(e);
	settle(e);
	leave(e);
	settle(e);
	if (e->short_of_memory)
		xiw_reclaim(e);
	xiw_ends(e);
	kick(e);
	if (e->retired)
		xiw_watch_sweep(e);
	return busy;
}

static uint32_t completions(const struct xiw_engine *e)
{
	return e->cq_tail - __atomic_load_n(&e->cq_head, __ATOMIC_ACQUIRE);
}

static int enter_and_wait(struct xiw_engine *e, int timeout_ms)
{
	uint64_t until = timeout_ms < 0 ? XIW_NEVER : e->now_ms + (uint64_t)timeout_ms;
	struct __kernel_timespec ts;
	int err;

	if (e->next_scan_ms < until)
		until = e->next_scan_ms;
	/* Octets wait for room in the queue, which another thread may make without a word; or requests, for memory. */
	if (e->bufs_out || e->starved || e->overflow_n || e->line_n || e->stageless)
		until = e->now_ms + 1 < until ? e->now_ms + 1 : until;
	if (until != XIW_NEVER) {
		uint64_t ms = until > e->now_ms ? until - e->now_ms : 0;

		ts.tv_sec = (long long)(ms / 1000);
		ts.tv_nsec = (long long)(ms % 1000 * 1000000);
	}
	err = xiw_ring_submit_and_wait(e, until == XIW_NEVER ? NULL : &ts);
	return err == -ETIME || err == -EAGAIN || err == -EBUSY ? 0 : err < 0 ? err : 0;
}

void xiw_engine_info(const struct xiw_engine *e, struct xiw_engine_info *info, size_t size)
{
	struct xiw_engine_info i = {
		.memory = e->budget.used,
		.memory_most = e->budget.most,
		.memory_limit = e->budget.limit,
		.memory_refused = e->budget.refused,
		.unstarted_reset = e->unstarted.resets,
		.connections = e->nconns,
		.unstarted = e->unstarted.n,
	};

	for (const struct xiw_conn *c = e->slotless; c; c = c->next_slotless)
		i.slotless++;
	xiw_opts_give(info, size, &i, sizeof(i));
}

/* What the application is to hear once of: a turn's doorbells that could not be rung. */
static int result(struct xiw_engine *e)
{
	int err = e->doorbell_error;

	e->doorbell_error = 0;
	return err ? err : (int)completions(e);
}

int xiw_engine_run(struct xiw_engine *e, int timeout_ms)
{
	int err = xiw_ring_run(e);
	bool busy;

	if (err)
		return err;
	busy = turn(e);
	if (e->lost_event)
		return -ENOMEM;
	if (busy || completions(e) || !timeout_ms) {
		/* One system call for everything queued in this turn, and for the kernel's deferred work. */
		if (io_uring_sq_ready(&e->ring) || e->line_n || !busy ||
		    *e->ring.sq.kflags & IORING_SQ_TASKRUN)
			err = xiw_ring_submit_and_get(e);
		return err < 0 && err != -EBUSY && err != -EAGAIN ? err : result(e);
	}
	prepare_to_wait(e);
	err = enter_and_wait(e, timeout_ms);
	if (err)
		return err;
	turn(e);
	return result(e);
}

/* ---- creation ------------------------------------------------------------------------------------ */

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

/* Of the first release. */
#define ENGINE_OPTS_FIRST 48

XIW_OPTS_WHOLE(struct xiw_engine_opts, reserved2);

/* Descriptor 0 is a descriptor, and what zeroed options have: it takes a flag to mean it. */
static int take_app_ring(struct xiw_engine *e)
{
	if (e->opts.flags & XIW_ENGINE_APP_RING)
		return xiw_ring_is_one(e->opts.app_ring_fd) ? 0 : -EBADF;
	if (e->opts.app_ring_fd && e->opts.app_ring_fd != -1)
		return -EINVAL;
	e->opts.app_ring_fd = -1;
	return 0;
}

static int take_opts(struct xiw_engine *e, const struct xiw_engine_opts *opts)
{
	int err = xiw_opts_take(&e->opts, sizeof(e->opts), ENGINE_OPTS_FIRST, opts);

	if (err)
		return err;
	if (e->opts.path > XIW_USE_DIRECT || e->opts.flags & ~(unsigned int)XIW_ENGINE_FLAGS ||
	    e->opts.reserved || e->opts.reserved2 ||
	    (e->opts.memory && e->opts.memory < XIW_MEMORY_MIN))
		return -EINVAL;
	if (!e->opts.memory)
		e->opts.memory = XIW_MEMORY_DEFAULT;
	if (!e->opts.max_unstarted)
		e->opts.max_unstarted = xiw_unstarted_default();
	e->budget.limit = e->opts.memory;
	if (!e->opts.cq_entries)
		e->opts.cq_entries = 8192;
	if (!e->opts.frames)
		e->opts.frames = 8192;
	if (!e->opts.window)
		e->opts.window = 1 << 20;
	if (!power_of_two(e->opts.cq_entries) || e->opts.cq_entries < 4096 ||
	    !power_of_two(e->opts.frames) || e->opts.frames < 256 || e->opts.window < 4096 ||
	    e->opts.window > 1u << 29)
		return -EINVAL;
	if (!e->opts.pin_dir)
		e->opts.pin_dir = XIW_PIN_DIR;
	if (strlen(e->opts.pin_dir) >= sizeof(e->pin_dir))
		return -ENAMETOOLONG;
	strcpy(e->pin_dir, e->opts.pin_dir);
	e->opts.pin_dir = e->pin_dir;
	return take_app_ring(e);
}

int xiw_engine_create(const struct xiw_engine_opts *opts, struct xiw_engine **engine)
{
	struct xiw_engine *e = aligned_alloc(64, (sizeof(*e) + 63) & ~63ul);
	char why[256];
	int err;

	if (!e)
		return -ENOMEM;
	memset(e, 0, sizeof(*e));
	e->injector = xiw_injector_none;
	e->watch_fd = -1;
	e->next_scan_ms = e->collect_ms = e->watch_ms = XIW_NEVER;
	e->starved_end = &e->starved;
	e->slotless_end = &e->slotless;
	e->stageless_end = &e->stageless;
	xiw_look_at_clock(e);
	err = take_opts(e, opts);
	if (!err)
		err = xiw_ring_create(e);
	if (err)
		goto fail;
	err = -ENOMEM;
	e->cq = calloc(e->opts.cq_entries, sizeof(*e->cq));
	e->cq_mask = e->opts.cq_entries - 1;
	e->kept_total = e->opts.frames / 2;
	e->kept = xiw_budget_alloc(&e->budget, e->kept_total * sizeof(*e->kept));
	if (!e->cq || !e->kept)
		goto fail;
	for (uint32_t i = 0; i < e->kept_total; i++) {
		e->kept[i].next_free = e->kept_free;
		e->kept_free = &e->kept[i];
	}
	xiw_ddp_table_init(&e->regions, xiw_random, NULL);
	e->crc_policy = xiw_policy_crc(why, sizeof(why));
	if (getrandom(&e->unstarted.secret, sizeof(e->unstarted.secret), 0) < 0)
		e->unstarted.secret = e->now_ns;
	xiw_fork_watch(e);
	*engine = e;
	return 0;
fail:
	xiw_engine_destroy(e);
	return err;
}

/*
 * The kernel has nothing of ours, as nobody ran the engine, or the thread that did has ended: what it was done
 * with until then is taken, and the rest was never begun.
 */
static void forget_requests(struct xiw_engine *e)
{
	reap(e);
	for (struct xiw_listener *l = e->listeners; l; l = l->next)
		l->armed = false;
	e->accepts = 0;
	for (struct xiw_conn *c = e->conns, *next; c; c = next) {
		next = c->next;
		c->ops = 0;
		c->sending = false;
		xiw_conn_op_done(c);
	}
}

static bool requests(const struct xiw_engine *e)
{
	for (const struct xiw_conn *c = e->conns; c; c = c->next)
		if (c->ops)
			return true;
	return e->accepts;
}

/* The kernel ends what is under way before it lets go of the ring. */
static void wait_for_requests(struct xiw_engine *e)
{
	for (int i = 0; requests(e) && i < 1000; i++)
		xiw_engine_run(e, 1);
}

static void close_all(struct xiw_engine *e)
{
	e->destroying = true;
	xiw_listeners_end(e);
	xiw_conns_end(e);
	/* Nobody takes completions any more, and with some in the queue nothing would wait. */
	e->cq_head = e->cq_tail;
	e->overflow_n = 0;
}

/* What the application has and has not freed yet. */
static void detach_all(struct xiw_engine *e)
{
	xiw_listeners_detach(e);
	xiw_conns_detach(e);
	xiw_regions_detach(e);
}

int xiw_engine_destroy(struct xiw_engine *e)
{
	enum xiw_ring_owner owner = e ? xiw_ring_owner(e) : XIW_RING_NOBODYS;

	if (!e)
		return 0;
	if (owner == XIW_RING_ANOTHERS)
		return -EEXIST;
	if (owner == XIW_RING_NOBODYS && e->ring_ready)
		forget_requests(e);
	xiw_fork_forget(e);
	close_all(e);
	if (owner == XIW_RING_MINE)
		wait_for_requests(e);
	detach_all(e);
	xiw_ports_free(e);
	xiw_ring_free(e);
	if (e->watch_fd >= 0)
		close(e->watch_fd);
	xiw_injector_close(&e->injector);
	xiw_ddp_table_free(&e->regions);
	xiw_stages_free(e);
	xiw_overflow_free(e);
	xiw_budget_free(&e->budget, e->kept, e->kept_total * sizeof(*e->kept));
	free(e->cq);
	free(e);
	return 0;
}
