// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sending: messages are cut into FPDUs that fill TCP segments, many per write, so that every segment begins
 * with an FPDU (RFC 5044 section 5.1 and appendix A). What makes the kernel's TCP keep to it:
 *
 * - A write is a run of segments that are exactly EMSS long, but for the last. With MSG_EOR nothing is
 *   appended to that one, and the next write begins a segment, whatever became of this one: a changed EMSS
 *   or a partly sent write costs alignment only up to there.
 * - TCP_NODELAY: a short segment does not wait for an acknowledgement.
 * - TCP_CORK while runs of several segments are sent, and until TCP has sent them: without it TCP fills the
 *   peer's window to the last octet with a part of a segment. TCP_NODELAY, set again, then sends a short
 *   last segment nevertheless. TCP does the same with what it has when the send buffer is full in the
 *   middle of a write; it looks at that only where it begins another of its own buffers, and no write is
 *   longer than one of those. What is left is the tail loss probe (RFC 8985 section 7): when an
 *   acknowledgement is late it takes new octets up to the window's end, corked or not. That run is cut.
 *
 * While the socket reports octets out of order, the SACK option takes its place in each segment (RFC 2018 section 3),
 * and how many blocks it has changes from one to the next. Segments are filled then as if it had all that fit, and each
 * is a write of its own, which holds whatever the number is.
 *
 * A long run of small messages leaves every segment some octets short, so each is a write of its own; one
 * sendmmsg() takes many. All that a socket with room needs is done at once; io_uring waits for room.
 */
#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "core/internal.h"

#define RUNS 64	       /* writes in one stage */
#define STAGES 8       /* kept while nobody needs them */
#define RUN_MAX 64000u /* octets: TCP's buffers are larger, but for a small window */
#define SACK_ROOM 36 /* octets of the option with four blocks, and with three, beside timestamps */
#define SACK_ROOM_TS 28
#define SACK_MS 250 /* so long a gap is believed to be there still, if nothing tells */

/* c->stage: FPDUs on their way into the socket. A connection has one only while it has something to send. */
struct stage {
	uint8_t octets[XIW_TX_STAGE];
	struct stage *next; /* in engine->stages */
	uint32_t end[RUNS]; /* of each write */
	uint32_t nends;
	bool full; /* the socket did not take all at once */
	bool turn; /* the operation under way is a turn's pause, not a send */
};

_Static_assert(offsetof(struct stage, octets) == 0, "c->stage is what is freed");

static struct stage *stage_of(struct xiw_conn *c)
{
	return (struct stage *)c->stage;
}

static bool take_stage(struct xiw_conn *c)
{
	struct xiw_engine *e = c->engine;
	struct stage *s = e->stages;

	if (c->stage)
		return true;
	if (s) {
		e->stages = s->next;
		e->nstages--;
	} else if (xiw_budget_take(&e->budget, sizeof(*s))) {
		s = malloc(sizeof(*s));
		if (!s)
			xiw_budget_give(&e->budget, sizeof(*s));
	}
	if (!s)
		return false;
	s->nends = 0;
	s->full = s->turn = false;
	c->stage = s->octets;
	c->stage_ms = e->now_ms;
	return true;
}

void xiw_stage_free(struct xiw_conn *c)
{
	xiw_budget_free(&c->engine->budget, c->stage, sizeof(struct stage));
	c->stage = NULL;
}

/* The one that was used last is used next, and the caches have it; so a few are enough. */
static void put_stage(struct xiw_conn *c)
{
	struct xiw_engine *e = c->engine;
	struct stage *s = stage_of(c);

	if (!s || c->sending || c->stage_len || c->send_count)
		return;
	if (e->nstages == STAGES) {
		xiw_stage_free(c);
		return;
	}
	c->stage = NULL;
	s->next = e->stages;
	e->stages = s;
	e->nstages++;
}

void xiw_stages_free(struct xiw_engine *e)
{
	struct stage *s;

	while ((s = e->stages)) {
		e->stages = s->next;
		xiw_budget_free(&e->budget, s, sizeof(*s));
	}
}

/* No stage is to be had: sending waits for one, first come, first served. */
static void await_stage(struct xiw_conn *c)
{
	struct xiw_engine *e = c->engine;

	e->short_of_memory = true;
	if (c->stageless_at)
		return;
	c->next_stageless = NULL;
	c->stageless_at = e->stageless_end;
	*e->stageless_end = c;
	e->stageless_end = &c->next_stageless;
}

void xiw_stage_forget(struct xiw_conn *c)
{
	if (!c->stageless_at)
		return;
	*c->stageless_at = c->next_stageless;
	if (c->next_stageless)
		c->next_stageless->stageless_at = c->stageless_at;
	else
		c->engine->stageless_end = c->stageless_at;
	c->stageless_at = NULL;
}

/* Every turn: the first one takes what there is, and with it the turn goes on. */
void xiw_stage_retry(struct xiw_engine *e)
{
	struct xiw_conn *c;

	while ((c = e->stageless)) {
		if (c->state == XIW_OPEN && !take_stage(c)) {
			e->short_of_memory = true;
			return;
		}
		xiw_stage_forget(c);
		xiw_dirty(c);
	}
}

/* The EMSS as of now: options and path MTU may change it (section 4.5). */
static uint16_t emss(struct xiw_conn *c)
{
	socklen_t len = sizeof(int);
	int mss = 0;

	if (!getsockopt(c->fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &len) && mss > 0)
		c->emss = (uint16_t)mss;
	return c->emss ? c->emss : 536;
}

static void look_at_tcp(struct xiw_conn *c, struct tcp_info *info)
{
	socklen_t len = sizeof(*info);

	*info = (struct tcp_info){ 0 };
	getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, info, &len);
	if (info->tcpi_snd_wnd > c->peer_window)
		c->peer_window = info->tcpi_snd_wnd;
	c->sack_room = !(info->tcpi_options & TCPI_OPT_SACK)	  ? 0
		       : info->tcpi_options & TCPI_OPT_TIMESTAMPS ? SACK_ROOM_TS
								  : SACK_ROOM;
	if (info->tcpi_rcv_ooopack != c->ooo_seen) {
		c->ooo_seen = info->tcpi_rcv_ooopack;
		c->ooo_ms = c->engine->now_ms;
	}
}

/*
 * What SACK blocks may take of a segment now: nothing, if nothing out of order is with the socket. Its memory is that of
 * octets to be read, of which there are none mostly, and of those. If there are both, the count of the latter tells.
 */
static uint16_t sack_room(struct xiw_conn *c)
{
	uint32_t mem[SK_MEMINFO_VARS] = { 0 };
	struct tcp_info info;
	socklen_t len = sizeof(mem);
	int unread = 0;

	if (c->peer_window && !c->sack_room)
		return 0; /* not negotiated */
	if (getsockopt(c->fd, SOL_SOCKET, SO_MEMINFO, mem, &len) || !mem[SK_MEMINFO_RMEM_ALLOC])
		return 0;
	look_at_tcp(c, &info);
	if (!c->ooo_seen)
		return 0;
	if (ioctl(c->fd, SIOCINQ, &unread) || (unread && c->engine->now_ms - c->ooo_ms > SACK_MS))
		return 0;
	return c->sack_room;
}

static struct xiw_queued *queued(struct xiw_conn *c, uint32_t i)
{
	return &c->sendq[(c->send_head + i) % c->send_depth];
}

/* What is left of a message, as one ULPDU. */
static uint64_t ulpdu_left(const struct xiw_queued *q)
{
	return (uint64_t)q->cut.hdr.len + q->cut.len - q->cut.off;
}

/* ---- filling segments ---------------------------------------------------------------------------- */

static uint32_t run_start(const struct stage *s)
{
	return s->nends ? s->end[s->nends - 1] : 0;
}

/* TCP puts no more than half of the largest window it has seen in a buffer. */
static uint32_t longest_run(struct xiw_conn *c)
{
	struct tcp_info info;

	/* A window grows while a stream is under way; there is no need to look when it is large enough. */
	if (!c->peer_window || (c->tx_runs && c->peer_window < 2 * RUN_MAX))
		look_at_tcp(c, &info);
	return c->peer_window < 2 * RUN_MAX ? c->peer_window / 2 : RUN_MAX;
}

static void end_run(struct xiw_conn *c)
{
	struct stage *s = stage_of(c);
	uint32_t len = c->stage_len - run_start(s);

	if (!len)
		return;
	s->end[s->nends++] = c->stage_len;
	c->tx_runs |= len > c->emss;
}

/*
 * All that is queued does not fill a segment, and segments go out in front of it: it waits one turn, for the
 * completions of those make the application queue more. What has nothing in front of it never waits.
 */
static bool can_wait(struct xiw_conn *c, uint32_t mss)
{
	uint64_t octets = 0;

	if (c->opts.no_pack || queued(c, c->send_sent)->cut.off)
		return false;
	for (uint32_t i = c->send_sent; i < c->send_count && octets < mss; i++)
		octets += ulpdu_left(queued(c, i)) + XIW_MPA_OVERHEAD;
	return octets < mss;
}

/* Room for the next FPDU behind those that are in the segment already; 0: it begins another one. */
static uint32_t room_behind(struct xiw_conn *c, const struct xiw_queued *q, uint32_t left)
{
	uint32_t fit = xiw_mpa_ulpdu_fit(left, c->mpa_tx.markers, c->mpa_tx.phase);

	if (c->opts.no_pack)
		return 0;
	/* Section 4.5: no MULPDU below 128, but what is small enough may still be packed. */
	return fit >= XIW_MPA_MULPDU_MIN || ulpdu_left(q) <= fit ? fit : 0;
}

/* One FPDU of a message into the stage, its ULPDU at most mulpdu octets. */
static void put_fpdu(struct xiw_conn *c, struct xiw_queued *q, uint32_t mulpdu)
{
	uint8_t header[XIW_DDP_HDR_MAX];
	struct xiw_ddp_seg seg;
	uint32_t hlen;

	/* Never refused: mulpdu has room for the header and an octet, or for all that is left. */
	if (xiw_ddp_tx_next(&q->cut, mulpdu, &seg) <= 0)
		abort();
	hlen = xiw_ddp_hdr_encode(&seg.hdr, header);
	c->stage_len += xiw_mpa_build(&c->mpa_tx, c->stage + c->stage_len, header, hlen,
				      q->buf + seg.off, seg.len);
	c->octets_sent += seg.len;
	if (q->cut.done)
		c->send_sent++;
}

/* Has the memory of a message from a region stayed the peer's to read? */
static bool may_read(struct xiw_conn *c, struct xiw_queued *q)
{
	const uint64_t now = c->engine->regions.generation;

	if (!q->generation || q->generation == now)
		return true;
	q->generation = now;
	return c->ulp->readable(c, q->user_data, q->cut.off);
}

/* Fills the stage up to a place where a segment ends. */
static void fill(struct xiw_conn *c)
{
	const uint16_t whole = emss(c), room = sack_room(c);
	const uint16_t sacks = whole > 4 * room ? room : 0; /* hardly a segment else */
	const uint32_t mss = whole - sacks;
	/* An EMSS that does not hold the smallest MULPDU holds less than this. */
	const uint32_t longest = mss > 2 * XIW_MPA_MULPDU_MIN ? mss : 2 * XIW_MPA_MULPDU_MIN;
	struct stage *s = stage_of(c);
	const uint32_t run_max = sacks ? 0 : longest_run(c);
	uint32_t begin = 0; /* of the segment */

	c->stage_len = c->stage_off = 0;
	s->nends = 0;
	c->tx_runs = s->full = false;
	while (c->send_sent < c->send_count && s->nends < RUNS) {
		struct xiw_queued *q = queued(c, c->send_sent);
		uint32_t mulpdu;

		if (!may_read(c, q))
			break;
		if (c->stage_len == begin) {
			if (begin + longest > XIW_TX_STAGE || (begin && can_wait(c, mss)))
				break;
			mulpdu = xiw_mpa_mulpdu(mss, c->mpa_tx.markers, c->mpa_tx.phase);
		} else {
			mulpdu = room_behind(c, q, mss - (c->stage_len - begin));
			if (!mulpdu) {
				end_run(c);
				begin = c->stage_len;
				continue;
			}
		}
		put_fpdu(c, q, mulpdu);
		if (c->stage_len - begin >= mss)
			begin = c->stage_len;
		if (c->stage_len == begin && begin - run_start(s) + mss > run_max)
			end_run(c);
	}
	if (s->nends < RUNS)
		end_run(c);
}

/* ---- into the socket ----------------------------------------------------------------------------- */

static void set_tcp(struct xiw_conn *c, int option, int value)
{
	setsockopt(c->fd, IPPROTO_TCP, option, &value, sizeof(value));
}

/* Does TCP still have octets that it has never sent? */
static bool unsent(struct xiw_conn *c)
{
	int n = 0;

	return !ioctl(c->fd, SIOCOUTQNSD, &n) && n > 0;
}

/* A run that waits for the window is cut where the cork comes off, be the next write ever so short. */
static void cork(struct xiw_conn *c, bool on)
{
	if (c->tx_corked == on || (c->tx_corked && unsent(c)))
		return;
	set_tcp(c, TCP_CORK, on);
	c->tx_corked = on;
}

/* The first write that TCP has not taken completely. */
static uint32_t first_run(struct xiw_conn *c)
{
	const struct stage *s = stage_of(c);
	uint32_t i = 0;

	while (s->end[i] <= c->stage_off)
		i++;
	return i;
}

/* What the socket takes without waiting. Negative errno: the connection is broken. */
static int give_now(struct xiw_conn *c)
{
	struct stage *s = stage_of(c);
	struct mmsghdr m[RUNS] = { 0 };
	struct iovec v[RUNS];
	unsigned int n = 0;
	uint32_t at = c->stage_off;
	int done;

	for (uint32_t i = first_run(c); i < s->nends; at = s->end[i++], n++) {
		v[n] = (struct iovec){ s->octets + at, s->end[i] - at };
		m[n].msg_hdr.msg_iov = &v[n];
		m[n].msg_hdr.msg_iovlen = 1;
	}
	/* It stops behind a write that TCP took in part, so their order is kept. */
	done = sendmmsg(c->fd, m, n, MSG_EOR | MSG_NOSIGNAL | MSG_DONTWAIT);
	if (done < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	for (int i = 0; i < done; i++)
		c->stage_off += m[i].msg_len;
	c->stage_ms = c->engine->now_ms;
	return 0;
}

static void await(struct xiw_conn *c)
{
	c->sending = true;
	c->ops++;
}

static void submit(struct xiw_conn *c)
{
	struct io_uring_sqe *sqe = xiw_sqe(c->engine, c, XIW_OP_SEND);

	io_uring_prep_send(sqe, c->fd, c->stage + c->stage_off,
			   stage_of(c)->end[first_run(c)] - c->stage_off,
			   MSG_EOR | MSG_NOSIGNAL | MSG_WAITALL);
	await(c);
}

/* The application sees this turn's completions before more is packed. */
static void next_turn(struct xiw_conn *c)
{
	io_uring_prep_nop(xiw_sqe(c->engine, c, XIW_OP_SEND));
	stage_of(c)->turn = true;
	await(c);
}

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
	};

	memcpy(done.rsvdulp, q->cut.hdr.rsvdulp, sizeof(done.rsvdulp));
	xiw_complete(c->engine, &done);
}

static void report_sent(struct xiw_conn *c, uint32_t n, enum xiw_event event)
{
	while (n--) {
		struct xiw_queued q = *queued(c, 0);

		c->send_head = (c->send_head + 1) % c->send_depth;
		c->send_count--;
		report(c, &q, event);
	}
}

/* TCP has all of the stage. */
static void finish(struct xiw_conn *c)
{
	c->stage_len = 0;
	if (c->tx_corked)
		set_tcp(c, TCP_NODELAY, 1);
	report_sent(c, c->send_sent, XIW_EV_SENT);
	c->send_sent = 0;
	if (!c->send_count && c->closing)
		xiw_dirty(c);
}

/* Gives the stage to TCP: a short single write with the turn's other operations, much at once. */
static void give(struct xiw_conn *c)
{
	struct stage *s = stage_of(c);
	int err;

	cork(c, c->tx_runs);
	if (s->nends == 1 && !c->tx_runs && c->send_sent == c->send_count) {
		submit(c);
		return;
	}
	err = give_now(c);
	if (err) {
		xiw_conn_broken(c, -err);
	} else if (c->stage_off < c->stage_len) {
		s->full = true;
		submit(c);
	} else {
		finish(c);
		if (c->send_count)
			next_turn(c);
	}
}

void xiw_send_pump(struct xiw_conn *c)
{
	if (c->sending || !c->may_send || c->state != XIW_OPEN || c->shut || c->failing ||
	    c->ending)
		return;
	if (!take_stage(c)) {
		await_stage(c);
		return;
	}
	fill(c);
	if (c->stage_len)
		give(c);
	put_stage(c);
}

static void sent(struct xiw_conn *c, int res)
{
	if (res < 0 && res != -EINTR && res != -EAGAIN) {
		xiw_conn_broken(c, -res);
		return;
	}
	if (res > 0) {
		c->stage_off += (uint32_t)res;
		c->stage_ms = c->engine->now_ms;
	}
	if (c->stage_off < c->stage_len) {
		give(c);
		return;
	}
	finish(c);
	if (!c->send_count)
		put_stage(c);
	else if (stage_of(c)->full)
		next_turn(c);
	else
		xiw_send_pump(c);
}

void xiw_send_done(struct xiw_conn *c, int res)
{
	struct stage *s = stage_of(c);
	bool turn = s && s->turn;

	c->sending = false;
	c->ops--;
	if (turn)
		s->turn = false;
	if (c->state == XIW_DEAD) {
		xiw_stage_free(c);
		xiw_conn_op_done(c);
		return;
	}
	if (turn)
		xiw_send_pump(c);
	else if (c->startup_sending)
		xiw_startup_sent(c, res);
	else
		sent(c, res);
	/* A close waits for it, and for messages that were cancelled meanwhile. */
	if (!c->sending && c->closing)
		xiw_dirty(c);
}

/* Teardown: what was not sent comes back. */
void xiw_send_flush(struct xiw_conn *c)
{
	report_sent(c, c->send_count, XIW_EV_FLUSHED);
	c->send_sent = 0;
}

/* All that no FPDU was made of comes back, also the rest of a message. */
void xiw_send_cancel(struct xiw_conn *c)
{
	uint32_t from = c->send_sent, to = c->send_count;

	c->send_count = from;
	for (uint32_t i = from; i < to; i++)
		report(c, queued(c, i), XIW_EV_FLUSHED);
}

int xiw_conn_send(struct xiw_conn *c, const struct xiw_message *m)
{
	return c->ulp ? -EINVAL : xiw_send(c, m);
}

int xiw_send(struct xiw_conn *c, const struct xiw_message *m)
{
	struct xiw_queued *q;
	int err;

	if (c->closing || c->state == XIW_DEAD || c->failing || c->ending)
		return -EPIPE;
	if (c->state != XIW_OPEN)
		return -ENOTCONN;
	if (m->len && !m->buf)
		return -EINVAL;
	if (c->send_count == c->send_depth)
		return -EAGAIN;
	q = queued(c, c->send_count);
	err = m->tagged ? xiw_ddp_tx_tagged(&q->cut, m->stag, m->to, m->len, m->rsvdulp[0])
			: xiw_ddp_tx_untagged(&c->ddp_tx, &q->cut, m->qn, m->len, m->rsvdulp);
	if (err)
		return err;
	q->buf = m->buf;
	q->user_data = m->user_data;
	q->len = (uint32_t)m->len;
	q->generation = 0;
	c->send_count++;
	xiw_dirty(
		c); /* goes out with the turn, so that messages queued together are packed together */
	return 0;
}

/* A ULP's message from a region, which may go before all of it was sent. */
int xiw_send_from_region(struct xiw_conn *c, const struct xiw_message *m)
{
	int err = xiw_send(c, m);

	if (!err)
		queued(c, c->send_count - 1)->generation = c->engine->regions.generation;
	return err;
}
