// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sending: messages are cut into FPDUs that fill TCP segments, many for each write, so that every segment
 * begins with an FPDU (RFC 5044 section 5.1 and appendix A). The following makes the kernel's TCP keep these
 * segments:
 *
 * - A write is a run of segments that are exactly EMSS long, except for the last. With MSG_EOR nothing is
 *   appended to the last one, and the next write begins a segment, whatever became of this one. A changed EMSS
 *   or a partly sent write spoils the alignment only up to there.
 * - With TCP_NODELAY a short segment does not wait for an acknowledgement.
 * - TCP_CORK is set while runs of several segments are sent, and until TCP has sent them. Without it TCP fills
 *   the peer's window to the last octet with a part of a segment. TCP_NODELAY, set again, then sends a short
 *   last segment nevertheless. Where the window has room for all that there is to send, the cork is left out:
 *   then the last segment leaves together with the others. What is left is the tail loss probe (RFC 8985
 *   section 7): when an acknowledgement is late, it takes new octets up to the end of the window, corked or not.
 *   That run is cut.
 * - TCP also sends such a part in the middle of a write, whatever the cork says: when nothing waits in front of the
 *   buffer that it has filled, when much has been written, and when its send buffer is full. But it does so only
 *   where it begins another of its own buffers, and a run is no longer than one of those. Runs are joined to one
 *   write, which costs a sender a seventh to a quarter less at an MTU of 9000, only where the window has room for
 *   all of it; and only if no other connection of the engine is known to send. The kernel may run others between
 *   runs, but not within a write, and where many connections write so, the queues on their way overflow.
 *
 * While the socket reports octets out of order, the SACK option takes room in each segment (RFC 2018 section
 * 3), and its number of blocks changes from one segment to the next. Segments are then filled as if every block
 * were present. Each is a write of its own, which works for any number of blocks.
 *
 * A long run of small messages leaves every segment some octets short, so each segment is a write of its own,
 * and one sendmmsg() takes many. Whatever fits into the socket is written at once; io_uring waits for room.
 */
#include "conn/send.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>

#include "conn/fill.h"
#include "conn/stage.h"
#include "core/agenda.h"
#include "core/cq.h"
#include "core/ring.h"
#include "path/output.h"

#define STAGES_IN_TURN 4
#define WRITE_FLAGS (MSG_EOR | MSG_NOSIGNAL | MSG_DONTWAIT)

/* ---- into the socket ----------------------------------------------------------------------------- */

static void set_tcp(struct xiw_conn *c, int option, int value)
{
	setsockopt(c->fd, IPPROTO_TCP, option, &value, sizeof(value));
}

/* Says whether TCP still has octets that it has never sent. */
static bool unsent(struct xiw_conn *c)
{
	int n = 0;

	return !ioctl(c->fd, SIOCOUTQNSD, &n) && n > 0;
}

/*
 * Sets or clears the cork. It stays while TCP has unsent octets: a run that waits for the window would be cut
 * where the cork is removed, however short the next write is.
 */
static void cork(struct xiw_conn *c, bool on)
{
	if (c->send.corked == on || (c->send.corked && unsent(c)))
		return;
	set_tcp(c, TCP_CORK, on);
	c->send.corked = on;
}

/* Returns the index of the first write that TCP has not taken completely. */
static uint32_t first_run(struct xiw_conn *c)
{
	const struct xiw_stage *s = c->send.stage;
	uint32_t i = 0;

	while (s->end[i] <= c->send.stage_off)
		i++;
	return i;
}

/* Writes the runs from number `first` on. Returns how many octets the socket has taken, or -1. */
static ssize_t write_runs(const struct xiw_conn *c, uint32_t first)
{
	struct xiw_stage *s = c->send.stage;
	struct mmsghdr m[XIW_RUNS];
	struct iovec v[XIW_RUNS];
	unsigned int n = 0;
	uint32_t at = c->send.stage_off;
	ssize_t octets = 0;
	int done;

	for (uint32_t i = first; i < s->nends; at = s->end[i++], n++) {
		v[n] = (struct iovec){ s->octets + at, s->end[i] - at };
		m[n] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &v[n], .msg_iovlen = 1 } };
	}
	/* sendmmsg() stops after a write that TCP took in part, so the order is kept. */
	done = sendmmsg(c->fd, m, n, WRITE_FLAGS);
	for (int i = 0; i < done; i++)
		octets += m[i].msg_len;
	return done < 0 ? -1 : octets;
}

/* Writes what the socket takes without waiting. Returns 0, or -errno if the connection is broken. */
static int give_now(struct xiw_conn *c)
{
	const struct xiw_stage *s = c->send.stage;
	const uint32_t at = c->send.stage_off, first = first_run(c);
	ssize_t n;

	xiw_output_begins(c);
	n = first + 1 == s->nends ? send(c->fd, s->octets + at, s->end[first] - at, WRITE_FLAGS)
				  : write_runs(c, first);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	c->send.stage_off += (uint32_t)n;
	c->send.stage_ms = c->engine->now_ms;
	return 0;
}

/* Counts the operation that is under way. */
static void await(struct xiw_conn *c)
{
	c->send.busy = true;
	c->engine->agenda.sending++;
	c->ops++;
}

/* It has ended. */
static void awaited(struct xiw_conn *c)
{
	c->send.busy = c->send.paused = false;
	c->engine->agenda.sending--;
}

/* Lets io_uring send the rest of the first write, and wait for room. */
static void submit(struct xiw_conn *c)
{
	struct io_uring_sqe *sqe = xiw_sqe(c->engine, c, XIW_OP_SEND);

	xiw_output_begins(c);
	io_uring_prep_send(sqe, c->fd, c->send.stage->octets + c->send.stage_off,
			   c->send.stage->end[first_run(c)] - c->send.stage_off,
			   MSG_EOR | MSG_NOSIGNAL | MSG_WAITALL);
	await(c);
}

/* Waits one turn, so that the application sees this turn's completions before more is packed. */
static void next_turn(struct xiw_conn *c)
{
	io_uring_prep_nop(xiw_sqe(c->engine, c, XIW_OP_SEND_PAUSE));
	c->send.paused = true;
	await(c);
}

/* Tells the application, or the ULP, that a message was sent or flushed. */
static void report(struct xiw_conn *c, const struct xiw_queued *q, enum xiw_event event)
{
	struct xiw_completion done = {
		.user_data = q->user_data,
		.conn = c,
		.event = event,
		.status = event == XIW_EV_SENT ? 0 : -ECANCELED,
		.length = q->len,
		.to = q->cut.hdr.to,
		.stag = q->cut.hdr.stag,
		.qn = q->cut.hdr.qn,
		.msn = q->cut.hdr.msn,
		.op = q->cut.hdr.tagged ? XIW_OPERATION_WRITE : XIW_OPERATION_SEND,
		.cause = event == XIW_EV_SENT ? XIW_CAUSE_NONE : XIW_CAUSE_FLUSHED,
	};

	if (c->ulp) {
		if (!xiw_conn_silent(c))
			c->ulp->sent(c, q->user_data, event == XIW_EV_SENT);
		return;
	}
	memcpy(done.rsvdulp, q->cut.hdr.rsvdulp, sizeof(done.rsvdulp));
	xiw_complete(c->engine, &done);
}

static void report_sent(struct xiw_conn *c, uint32_t n, enum xiw_event event)
{
	while (n--) {
		struct xiw_queued q = *xiw_queued_at(c, 0);

		c->send.head++;
		c->send.count--;
		report(c, &q, event);
	}
}

/* Has TCP send what the cork holds back. */
static void push(struct xiw_conn *c)
{
	if (c->send.corked)
		set_tcp(c, TCP_NODELAY, 1);
}

/* TCP has taken the whole stage. */
static void finish(struct xiw_conn *c)
{
	c->send.stage_len = 0;
	if (c->send.short_end || c->send.staged == c->send.count)
		push(c);
	report_sent(c, c->send.staged, XIW_EV_SENT);
	c->send.staged = 0;
	if (!c->send.count && c->end.closing)
		xiw_dirty(c);
}

/* Says whether this turn has requests for io_uring already, or connections that may have some. */
static bool others(const struct xiw_conn *c)
{
	return c->engine->agenda.finishing || io_uring_sq_ready(&c->engine->io.ring);
}

/*
 * Gives the stage to TCP. A single short write is submitted with the turn's other operations, if there are any. All
 * else is written at once. Returns whether TCP has taken all of it.
 */
static bool give(struct xiw_conn *c)
{
	struct xiw_stage *s = c->send.stage;
	int err;

	cork(c, c->send.runs && !c->send.fits);
	if (s->nends == 1 && !c->send.runs && c->send.staged == c->send.count && others(c)) {
		submit(c);
		return false;
	}
	err = give_now(c);
	if (err) {
		xiw_conn_broken(c, -err);
		return false;
	}
	if (c->send.stage_off < c->send.stage_len) {
		s->full = true;
		submit(c);
		return false;
	}
	return true;
}

/* Says whether other connections may send in this turn. */
static bool others_send(const struct xiw_conn *c)
{
	return others(c) || c->engine->agenda.sending;
}

/*
 * Fills stages and gives them to TCP, while it takes all of them. Another turn goes on if the application has
 * completions to see, or after some stages. Where other connections send as well, each gives one stage in a turn.
 */
static void give_stages(struct xiw_conn *c)
{
	bool more = true;

	for (int n = 1; more; n++) {
		xiw_stage_fill(c, !others_send(c));
		if (!c->send.stage_len) {
			push(c);
			return;
		}
		more = !c->send.staged && n < STAGES_IN_TURN && !others_send(c);
		if (!give(c))
			return;
		finish(c);
	}
	if (c->send.count)
		next_turn(c);
}

void xiw_send_pump(struct xiw_conn *c)
{
	if (c->send.busy || !c->send.allowed || c->state != XIW_OPEN || c->end.shut ||
	    c->end.failing || c->end.asked)
		return;
	if (!xiw_stage_take(c)) {
		xiw_stage_await(c);
		return;
	}
	give_stages(c);
	xiw_stage_put(c);
}

/* Gives the stage to TCP as far as that takes it at once. Returns whether TCP has taken all of it. */
static bool give_stage_now(struct xiw_conn *c)
{
	int err;

	cork(c, c->send.runs && !c->send.fits);
	err = give_now(c);
	if (err) {
		xiw_conn_broken(c, -err);
		return false;
	}
	if (c->send.stage_off == c->send.stage_len)
		return true;
	c->send.stage->full = true;
	if (!c->send.busy)
		submit(c); /* a pause that is under way goes on with it */
	return false;
}

void xiw_send_now(struct xiw_conn *c)
{
	if ((c->send.busy && !c->send.paused) || !c->send.allowed || c->state != XIW_OPEN ||
	    c->end.shut || c->end.failing || c->end.asked)
		return;
	while (c->send.count) {
		if (!xiw_stage_take(c)) {
			xiw_stage_await(c);
			return;
		}
		if (!c->send.stage_len)
			xiw_stage_fill(c, false);
		if (!c->send.stage_len)
			break;
		if (!give_stage_now(c))
			return;
		finish(c);
	}
	push(c);
	xiw_stage_put(c);
}

bool xiw_send_rests(const struct xiw_conn *c)
{
	return c->state == XIW_OPEN && !c->end.shut && !c->end.asked &&
	       (c->send.count || c->send.stage_len);
}

static void sent(struct xiw_conn *c, int res)
{
	bool ended;

	if (res < 0 && res != -EINTR && res != -EAGAIN) {
		xiw_conn_broken(c, -res);
		return;
	}
	if (res > 0) {
		c->send.stage_off += (uint32_t)res;
		c->send.stage_ms = c->engine->now_ms;
	}
	if (c->send.stage_off < c->send.stage_len && !give(c))
		return;
	ended = c->send.staged;
	finish(c);
	if (!c->send.count)
		xiw_stage_put(c);
	else if (c->send.stage->full && ended)
		next_turn(c);
	else
		xiw_send_pump(c);
}

/* An orderly close waits for sends to end, and for messages that were cancelled meanwhile. */
static void gone_on(struct xiw_conn *c)
{
	if (!c->send.busy && c->end.closing)
		xiw_dirty(c);
}

void xiw_send_done(struct xiw_conn *c, int res)
{
	awaited(c);
	if (c->state == XIW_DEAD) {
		xiw_stage_free(c);
		return;
	}
	sent(c, res);
	gone_on(c);
}

void xiw_send_paused(struct xiw_conn *c)
{
	awaited(c);
	if (c->state == XIW_DEAD) {
		xiw_stage_free(c);
		return;
	}
	if (c->send.stage_off < c->send.stage_len)
		sent(c, 0); /* xiw_send_now() has left it */
	else
		xiw_send_pump(c);
	gone_on(c);
}

void xiw_send_flush(struct xiw_conn *c)
{
	report_sent(c, c->send.count, XIW_EV_FLUSHED);
	c->send.staged = 0;
}

void xiw_send_cancel(struct xiw_conn *c)
{
	uint32_t from = c->send.staged, to = c->send.count;

	c->send.count = from;
	for (uint32_t i = from; i < to; i++)
		report(c, xiw_queued_at(c, i), XIW_EV_FLUSHED);
}

void xiw_send_settle(struct xiw_conn *c)
{
	const uint32_t n = c->send.staged;

	c->send.staged = 0;
	report_sent(c, n, XIW_EV_SENT);
}

bool xiw_send_withdraw(struct xiw_conn *c, bool (*which)(uint64_t user_data))
{
	for (uint32_t i = c->send.staged; i < c->send.count;) {
		const struct xiw_queued q = *xiw_queued_at(c, i);

		if (!which(q.user_data)) {
			i++;
			continue;
		}
		if (q.cut.off)
			return true;
		for (uint32_t j = i + 1; j < c->send.count; j++)
			*xiw_queued_at(c, j - 1) = *xiw_queued_at(c, j);
		c->send.count--;
		report(c, &q, XIW_EV_FLUSHED);
	}
	return false;
}
