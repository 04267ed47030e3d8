// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The life of a connection: it is made, equipped for a stream, ended and freed. */
#include "conn/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/opts.h"
#include "conn/crowd.h"
#include "conn/frames.h"
#include "conn/limits.h"
#include "conn/opts.h"
#include "conn/register.h"
#include "conn/send.h"
#include "conn/sockopts.h"
#include "conn/stage.h"
#include "conn/stop.h"
#include "conn/unstarted.h"
#include "core/agenda.h"
#include "core/budget.h"
#include "core/cq.h"
#include "core/orphan.h"
#include "core/ring.h"
#include "core/srq.h"
#include "core/timer.h"
#include "path/fallback.h"
#include "path/hold.h"
#include "path/kernel.h"
#include "path/progress.h"

/* The revision of an Initiator that leaves it open is chosen when its Request is made (send_request()). */
static void take_terms(struct xiw_conn *c)
{
	struct xiw_conn_opts *o = &c->opts;
	const uint8_t rtr = o->rtr & ~XIW_RTR_NONE;

	c->startup.terms = (struct xiw_mpa_terms){ .ird = o->ird, .ord = o->ord, .rtr = rtr };
	if (!c->initiator) {
		o->revision = o->revision ? o->revision : 2;
		if (!o->rtr) /* section 9.2: at least one */
			c->startup.terms.rtr = XIW_RTR_SEND | XIW_RTR_WRITE;
		return;
	}
	c->startup.terms.peer_to_peer = rtr;
	o->enhanced |= o->ird || o->ord || rtr;
}

static int take_opts(struct xiw_conn *c, const struct xiw_conn_opts *opts)
{
	int err = xiw_conn_opts_take(&c->opts, opts, c->initiator);

	if (!err)
		err = xiw_startup_prepare(c);
	if (err)
		return err;
	/* The administrator decides about CRCs (RFC 5044 section 4.4), and may leave it to the application. */
	if (c->engine->crc_policy != XIW_CRC_OPTIONAL)
		c->opts.no_crc = c->engine->crc_policy == XIW_CRC_OFF;
	take_terms(c);
	if (c->initiator && c->opts.private_data_len)
		memcpy(c->startup.frames->private_out, c->opts.private_data,
		       c->opts.private_data_len);
	c->opts.private_data = NULL;
	return 0;
}

static void not_dirty(struct xiw_conn *c, struct xiw_conn **at)
{
	while (*at && *at != c)
		at = &(*at)->next_dirty;
	if (*at)
		*at = c->next_dirty;
}

static void leave_engine(struct xiw_conn *c)
{
	if (c->prev)
		c->prev->next = c->next;
	else if (c->engine->conns == c)
		c->engine->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	if (c->engine->watch.next_route == c)
		c->engine->watch.next_route = c->next;
	if (c->engine->watch.hops.next == c)
		c->engine->watch.hops.next = c->next;
	c->engine->nconns--;
	if (c->dirty) {
		not_dirty(c, &c->engine->agenda.dirty);
		not_dirty(c, &c->engine->agenda.finishing);
	}
	xiw_timer_stop(c);
	xiw_ends_forget(c);
	xiw_tell_socket_no_more(c);
	xiw_outlets_leave(c);
	xiw_srq_leave(c);
	xiw_mpa_stream_free(&c->mpa);
	if (!c->send.busy)
		xiw_stage_free(c);
	xiw_budget_give(&c->engine->budget, c->memory);
	c->next = c->prev = NULL;
	c->engine = NULL;
}

/* The descriptor is closed, or the application's: the peer may have another one. */
static void leave_crowd(struct xiw_conn *c)
{
	xiw_crowd_exit(c->unstarted.crowd);
	c->unstarted.crowd = NULL;
}

static void release(struct xiw_conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	leave_crowd(c);
	if (c->ulp)
		c->ulp->free(c);
	xiw_ddp_rx_free(c->ddp);
	xiw_ddp_tx_free(&c->send.ddp);
	free(c->send.queue);
	free(c->recv.held);
	xiw_startup_release(c);
	free(c);
}

static void destroy(struct xiw_conn *c)
{
	xiw_cq_forget_conn(c);
	leave_engine(c);
	release(c);
}

uint32_t xiw_conn_first_msn = 1;

int xiw_conn_equip(struct xiw_conn *c)
{
	const struct xiw_ddp_rx_opts ddp = {
		.table = &c->engine->regions,
		.stream = c->id,
		.pd = c->opts.pd,
		.nqueues = c->opts.queues,
		.depth = c->opts.recv_depth,
		.first_msn = xiw_conn_first_msn,
	};
	size_t tx = c->opts.queues * sizeof(uint32_t);
	int err;

	if (c->ddp)
		return 0;
	if (!xiw_conn_charge(c, xiw_ddp_rx_size(&ddp) + tx))
		return -ENOMEM;
	err = xiw_ddp_tx_init(&c->send.ddp, c->opts.queues, xiw_conn_first_msn);
	c->send.depth = c->opts.send_depth;
	if (!err && !xiw_send_reserve(c, 1))
		err = -ENOMEM;
	return err ? err : xiw_ddp_rx_create(&c->ddp, &ddp);
}

int xiw_conn_add_queue(struct xiw_conn *c)
{
	const size_t size = sizeof(*c->ddp->queues) + sizeof(uint32_t);
	int err;

	if (!xiw_conn_charge(c, size))
		return -ENOMEM;
	err = xiw_ddp_tx_add_queue(&c->send.ddp, xiw_conn_first_msn);
	if (!err && xiw_ddp_rx_add_queue(c->ddp, xiw_conn_first_msn)) {
		c->send.ddp.nqueues--;
		err = -ENOMEM;
	}
	if (err)
		xiw_conn_uncharge(c, size);
	c->opts.queues = c->ddp->nqueues;
	return err;
}

int xiw_conn_new(struct xiw_engine *e, bool initiator, const struct xiw_conn_opts *opts,
		 struct xiw_conn **conn)
{
	const size_t size = (sizeof(struct xiw_conn) + 63) & ~63ul;
	struct xiw_conn *c;
	int err;

	if (!xiw_budget_take(&e->budget, size))
		return -ENOMEM;
	c = aligned_alloc(64, size);
	if (!c) {
		xiw_budget_give(&e->budget, size);
		return -ENOMEM;
	}
	memset(c, 0, sizeof(*c));
	c->engine = e;
	c->memory = size;
	c->initiator = c->end.known = initiator;
	c->fd = -1;
	c->reg.window = e->opts.window;
	c->timer.deadline_ms = c->timer.ack_ms = c->timer.alive_ms = c->timer.hold_ms =
		c->timer.ulp_ms = c->progress.due_ms = c->progress.output.look_ms = XIW_NEVER;
	do {
		c->id = ++e->next_id;
	} while (c->id == XIW_DDP_ANY_STREAM);
	err = take_opts(c, opts);
	c->next = e->conns;
	if (c->next)
		c->next->prev = c;
	e->conns = c;
	e->nconns++;
	if (err) {
		destroy(c);
		return err;
	}
	xiw_conn_deadline(c, XIW_LIMIT_STARTUP, c->opts.startup_timeout_ms);
	*conn = c;
	return 0;
}

int xiw_conn_new_equipped(struct xiw_engine *e, bool initiator, const struct xiw_conn_opts *opts,
			  struct xiw_conn **conn)
{
	int err = xiw_conn_new(e, initiator, opts, conn);

	if (!err) {
		err = xiw_conn_equip(*conn);
		if (err)
			destroy(*conn);
	}
	return err;
}

void xiw_conn_set_user_data(struct xiw_conn *c, uint64_t user_data)
{
	c->opts.user_data = user_data;
}

uint64_t xiw_conn_user_data(const struct xiw_conn *c)
{
	return c->opts.user_data;
}

const void *xiw_conn_private_data(const struct xiw_conn *c, size_t *len)
{
	if (len)
		*len = c->startup.peer.pd_len;
	return c->startup.peer.pd;
}

/* ---- the end ------------------------------------------------------------------------------------- */

/* Gives back everything that is queued: posted buffers, messages and held octets. */
static void flush(struct xiw_conn *c)
{
	xiw_conn_return_buffers(c);
	xiw_send_flush(c);
	while (c->recv.held_n) {
		xiw_buf_return(c->engine, c->recv.held[c->recv.held_head].bid);
		c->recv.held_head = (uint16_t)((c->recv.held_head + 1) % XIW_BUFS);
		c->recv.held_n--;
	}
	xiw_stage_forget(c);
	xiw_stream_forget(c);
	if (c->ulp)
		c->ulp->ended(c);
}

/* Closes the socket, except that of a rejected connection, which the application may take. */
static void close_socket(struct xiw_conn *c)
{
	xiw_ring_forget(c->engine, c->fd);
	if (c->fd < 0 || (c->startup.rejected && c->end.error == ECONNREFUSED && !c->end.freed))
		return;
	close(c->fd);
	c->fd = -1;
	leave_crowd(c);
}

static void cancel(struct xiw_conn *c, enum xiw_op op)
{
	io_uring_prep_cancel64(xiw_sqe(c->engine, NULL, XIW_OP_NONE), (uintptr_t)c | op, 0);
}

/*
 * The TCP connection is closed, or reset if the end is not orderly. A rejected connection is left open, for the
 * application to use or to close (RFC 5044 section 7.1.2 rules 2 and 3).
 */
void xiw_conn_end(struct xiw_conn *c, int error)
{
	const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	const struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	bool refused = c->initiator && c->state < XIW_OPEN;

	if (c->state == XIW_DEAD)
		return;
	if (c->startup.local_error)
		error = c->startup.local_error;
	else if (c->rx_dead && !c->end.stopped)
		error = EPROTO; /* the first cause counts, whatever followed from it */
	else if (c->end.at_once)
		error = c->end.asked_error;
	c->end.error = error;
	xiw_conn_deadline(c, XIW_LIMIT_NONE, 0);
	xiw_unstarted_remove(c);
	xiw_conn_unregister(c);
	c->state = XIW_DEAD;
	flush(c);
	xiw_mpa_stream_free(&c->mpa);
	if (!c->send.busy)
		xiw_stage_free(c);
	/*
	 * There is no reset if the peer was told why and must be able to read it, or if both sides have closed,
	 * unless our FIN was none to the peer.
	 */
	if (error && !c->startup.rejected && !c->startup.refusing &&
	    (error == EUNATCH || !(c->end.shut && c->end.eof)) && c->fd >= 0) {
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		/*
		 * The reset must come at once: a send that waits for room ends, and no FIN claims that all was
		 * sent.
		 */
		if (c->send.busy)
			connect(c->fd, &nowhere, sizeof(nowhere));
	}
	if (c->ops) {
		cancel(c, XIW_OP_CONNECT);
		cancel(c, XIW_OP_STARTUP_RECV);
		cancel(c, XIW_OP_STARTUP_SEND);
		cancel(c, XIW_OP_RECV);
		cancel(c, XIW_OP_SEND);
	} else {
		close_socket(c);
	}
	if (refused)
		xiw_conn_event(c, XIW_EV_REFUSED, -error);
	xiw_conn_event(c, XIW_EV_CLOSED, -error);
}

void xiw_conn_op_done(struct xiw_conn *c)
{
	if (c->state != XIW_DEAD || c->ops)
		return;
	close_socket(c);
	if (c->end.freed)
		destroy(c);
}

int xiw_conn_take_fd(struct xiw_conn *c)
{
	int fd = c->fd;

	if (c->state != XIW_DEAD || !c->startup.rejected || c->end.error != ECONNREFUSED || fd < 0)
		return -ENOTCONN;
	if (c->engine)
		xiw_ring_forget(c->engine, fd);
	if (c->netif)
		setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, NULL, 0);
	xiw_sock_restore(fd, &c->sock_was);
	c->fd = -1;
	leave_crowd(c);
	return fd;
}

/*
 * Every step of an orderly close, ours or the peer's, makes the connection dirty, so the turn calls this after
 * it.
 */
void xiw_conn_maybe_end(struct xiw_conn *c)
{
	if (c->state == XIW_DEAD || c->end.asked)
		return;
	if (c->end.eof && c->state < XIW_OPEN) {
		c->end.mpa_error = XIW_MPA_ERR_CLOSED; /* "FIN received" (RFC 5044 section 8) */
		xiw_conn_end(c, ECONNRESET);
		return;
	}
	/* The peer has closed before it could be told of an error of ours. */
	if (c->end.eof && c->startup.local_error && !c->startup.refusing) {
		xiw_conn_end(c, c->startup.local_error);
		return;
	}
	/*
	 * A Responder may not send before it has received an FPDU (RFC 5044 section 7.1.2 rule 4), and now none
	 * will come.
	 */
	if (c->end.eof && !c->send.allowed && !xiw_octets_wait(c) && c->state == XIW_OPEN &&
	    c->stretch.state == XIW_STRETCH_OFF)
		xiw_send_flush(c);
	if (c->end.closing && !c->end.shut && !c->send.count && !c->send.busy &&
	    c->state == XIW_OPEN) {
		c->end.shut = true;
		shutdown(c->fd, SHUT_WR);
		/*
		 * The last message needs time to arrive: closing a socket with unread octets would reset the
		 * connection.
		 */
		if (c->rx_dead && !c->end.stopped && c->timer.limit != XIW_LIMIT_LAST)
			xiw_conn_limit_last(c);
	}
	if (!c->end.eof || xiw_octets_wait(c) || c->end.failing)
		return;
	if (c->rx_dead) {
		if (c->end.shut)
			xiw_conn_end(c, c->end.stopped ? 0 : EPROTO);
	} else if (xiw_mpa_stream_pending(&c->mpa)) {
		/* The stream has ended within an FPDU. */
		c->end.mpa_error = XIW_MPA_ERR_CLOSED;
		xiw_conn_end(c, ECONNRESET);
	} else if (c->end.shut) {
		xiw_conn_end(c, xiw_progress_untranslated(c) ? EUNATCH : 0);
	} else if (!c->end.eof_told) {
		c->end.eof_told = true;
		xiw_conn_poll_socket(c);
		xiw_conn_event(c, XIW_EV_EOF, 0);
	}
}

int xiw_conn_close(struct xiw_conn *c)
{
	if (c->state == XIW_DEAD)
		return 0;
	if (c->state != XIW_OPEN || (c->startup.rtr_wait && !c->send.allowed))
		xiw_conn_end(c, ECONNABORTED);
	else
		xiw_conn_ask_close(c);
	return 0;
}

void xiw_conn_abort(struct xiw_conn *c)
{
	xiw_conn_end(c, ECONNABORTED);
}

void xiw_conn_free(struct xiw_conn *c)
{
	if (!c || c->end.freed)
		return;
	c->end.freed = true;
	if (!c->engine) {
		xiw_orphan_remove(&c->orphan);
		release(c);
		return;
	}
	xiw_conn_end(c, ECONNABORTED);
	if (!c->ops) {
		destroy(c);
		return;
	}
	xiw_cq_forget_conn(c);
	xiw_outlets_leave(c);
	xiw_srq_leave(c);
}

/* ---- without an engine --------------------------------------------------------------------------- */

/* A connection of which no event has told the application is freed here, because nobody else would free it. */
void xiw_conns_end(struct xiw_engine *e)
{
	for (struct xiw_conn *c = e->conns, *next; c; c = next) {
		next = c->next;
		if (c->end.known || xiw_cq_heard(c))
			xiw_conn_end(c, ECONNABORTED);
		else
			xiw_conn_free(c);
	}
}

void xiw_conns_detach(struct xiw_engine *e)
{
	struct xiw_conn *c;

	while ((c = e->conns)) {
		leave_engine(c);
		if (c->end.freed)
			continue; /* an operation that has not ended may still write into it, so it is not released */
		if (c->fd >= 0)
			close(c->fd);
		c->fd = -1;
		leave_crowd(c);
		xiw_orphan_add(&c->orphan);
	}
}
