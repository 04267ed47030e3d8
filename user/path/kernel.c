// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kernel path: io_uring's multishot receive gives octets of the socket in provided buffers, and the MPA
 * framing cuts them into FPDUs.
 */
#include "path/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/agenda.h"
#include "core/budget.h"
#include "core/ring.h"
#include "path/fpdu.h"
#include "path/fallback.h"
#include "path/hold.h"
#include "path/watch.h"

/* ---- lists of connections that wait ---------------------------------------------------------------- */

/* The connection waits for a provided buffer. */
static void starve(struct xiw_conn *c)
{
	struct xiw_engine *e = c->engine;

	if (c->recv.starved_at)
		return;
	c->recv.next_starved = NULL;
	c->recv.starved_at = e->agenda.starved_end;
	*e->agenda.starved_end = c;
	e->agenda.starved_end = &c->recv.next_starved;
}

/* The connection does not wait for a buffer any more. */
static void feed_again(struct xiw_conn *c)
{
	if (!c->recv.starved_at)
		return;
	*c->recv.starved_at = c->recv.next_starved;
	if (c->recv.next_starved)
		c->recv.next_starved->recv.starved_at = c->recv.starved_at;
	else
		c->engine->agenda.starved_end = c->recv.starved_at;
	c->recv.starved_at = NULL;
}

void xiw_stream_forget(struct xiw_conn *c)
{
	feed_again(c);
	xiw_retry_no_more(c);
	xiw_hold_forget(c);
}

/* ---- receiving ----------------------------------------------------------------------------------- */

void xiw_recv_post(struct xiw_conn *c)
{
	struct io_uring_sqe *sqe;

	feed_again(c);
	if (c->recv.posted || c->end.eof || c->state != XIW_OPEN || c->hold.on)
		return;
	sqe = xiw_sqe(c->engine, c, XIW_OP_RECV);
	io_uring_prep_recv_multishot(sqe, c->fd, NULL, 0, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = XIW_BUF_GROUP;
	c->recv.posted = true;
	c->recv.fed = false;
	c->ops++;
}

void *xiw_stream_resize(void *ctx, void *p, size_t from, size_t to)
{
	struct xiw_conn *c = ctx;
	struct xiw_budget *b = &c->engine->budget;

	if (!to)
		xiw_budget_free(b, p, from);
	return to ? xiw_budget_resize(b, p, from, to) : NULL;
}

#define STRAIGHT_ON 3 /* the framing pauses, as the next FPDU may be one for accept_run() */

/*
 * Says whether the ULPDU in front of the next one is so long. A message is cut into ULPDUs that are equally long but
 * for the last, so this confirms the length of one that is predicted. Otherwise nothing does, unlike in a segment, and
 * the CRC is verified before the payload is placed.
 */
static bool as_long(const struct xiw_conn *c, uint32_t ulpdu_len)
{
	return c->recv.ulpdu_len == ulpdu_len && c->recv.fpdus == c->counts.fpdus;
}

/*
 * Accepts one FPDU for xiw_mpa_stream_feed(). Returns 1 if the framing must pause because the completion queue
 * is full, XIW_MPA_LATER if it must pause in front of the FPDU, STRAIGHT_ON.
 */
static int accept_fpdu(void *ctx, const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n)
{
	struct xiw_conn *c = ctx;
	int err = xiw_fpdu_accept(c, f, v, n,
				  as_long(c, f->ulpdu_len) ? XIW_FPDU_KERNEL | XIW_FPDU_BOUNDED
							   : XIW_FPDU_KERNEL);

	if (err == -EBADMSG) {
		c->counts.crc_errors++;
		return -XIW_MPA_ERR_CRC;
	}
	if (err == -ENOBUFS) {
		xiw_hold_begin(c);
		return XIW_MPA_LATER;
	}
	if (err)
		return err;
	c->recv.ulpdu_len = f->ulpdu_len;
	c->recv.fpdus = c->counts.fpdus;
	if (xiw_cq_room(c->engine) <= XIW_CQ_RESERVE)
		return 1;
	return c->ddp->next.dst && c->ddp->next.tagged ? STRAIGHT_ON : 0;
}

/*
 * Accepts FPDUs that have the header of the one in front of @data, but for the TO: what xiw_fpdu_expected() has found
 * for that one holds for them, too. Returns how many octets were accepted.
 */
static uint32_t accept_alike(struct xiw_conn *c, const uint8_t *data, uint32_t len, uint32_t each)
{
	const uint32_t ulpdu_len = c->recv.ulpdu_len, payload = ulpdu_len - XIW_DDP_TAGGED_LEN;
	uint64_t head, same, to = c->ddp->next.to; /* heads: length, control, RsvdULP and STag */
	uint8_t *dst = c->ddp->next.dst;
	uint64_t most;
	uint32_t n = 0;

	if (!dst || !c->ddp->next.tagged)
		return 0;
	most = xiw_ddp_rx_expected_more(c->ddp, payload);
	if (most > len / each)
		most = len / each;
	for (memcpy(&same, data - each, sizeof(same)); n < most; n++) {
		const uint8_t *at = data + n * each, *header = at + XIW_MPA_LEN_SIZE;

		memcpy(&head, at, sizeof(head));
		if (head != same || xiw_get_be64(header + XIW_DDP_OFF_TO) != to ||
		    !xiw_ddp_rx_same_view(c->ddp) ||
		    (c->ulp && !xiw_fpdu_ulp_agrees(c, header, payload, dst)) ||
		    !xiw_mpa_place_verify_flat(at, each, ulpdu_len, XIW_DDP_TAGGED_LEN, dst, NULL))
			break;
		to += payload;
		dst += payload;
	}
	if (n)
		xiw_fpdu_expected_accepted(c, n, each, payload, XIW_FPDU_KERNEL);
	return n * each;
}

/*
 * Accepts FPDUs that continue a Tagged message and have as many octets as the last one; with their padding, ULPDUs of
 * several lengths do. Returns how many octets were accepted.
 */
static uint32_t accept_run(struct xiw_conn *c, const uint8_t *data, uint32_t len)
{
	const uint32_t each = xiw_mpa_data_len(c->recv.ulpdu_len);
	uint32_t used = 0;

	if (xiw_mpa_stream_pending(&c->mpa) || !as_long(c, c->recv.ulpdu_len))
		return 0;
	while (len - used >= each &&
	       xiw_fpdu_accept_expected(c, data + used, each, XIW_FPDU_KERNEL)) {
		c->recv.ulpdu_len = xiw_get_be16(data + used);
		used += each;
		used += accept_alike(c, data + used, len - used, each);
	}
	c->recv.fpdus = c->counts.fpdus;
	return used;
}

/* Gives octets to the MPA framing, and adds how many it took to *used. Returns as xiw_mpa_stream_feed() does. */
static int frame(struct xiw_conn *c, const uint8_t *data, uint32_t len, uint32_t *used)
{
	uint32_t took = 0;
	int err = 0;

	do {
		took += accept_run(c, data + took, len - took);
		if (took == len)
			break;
		err = xiw_mpa_stream_feed(&c->mpa, data + took, len - took, accept_fpdu, c);
		took += c->mpa.used;
	} while (err == STRAIGHT_ON);
	*used += took;
	c->recv.nxt += took;
	c->counts.stream_kernel += took;
	return err;
}

/*
 * Feeds octets to the MPA framing. Returns how many were used: fewer than `len` if the completion queue is
 * full or the stream is held.
 */
static uint32_t feed(struct xiw_conn *c, const uint8_t *data, uint32_t len)
{
	bool pending = xiw_mpa_stream_pending(&c->mpa);
	uint64_t fpdus = c->counts.fpdus;
	uint32_t used = 0;
	int err;

	if (c->rx_dead || c->end.at_once || c->startup.refusing)
		return len;
	if (c->hold.waits)
		return 0;
	if (c->recv.skip) {
		used = c->recv.skip < len ? c->recv.skip : len;
		c->recv.skip -= used;
		c->recv.nxt += used;
	}
	if (used == len || xiw_cq_room(c->engine) <= XIW_CQ_RESERVE)
		return used;
	err = frame(c, data + used, len - used, &used);
	/* An idle connection does not need this memory. */
	if (!xiw_mpa_stream_pending(&c->mpa))
		xiw_mpa_stream_free(&c->mpa);
	if (c->counts.fpdus != fpdus || !pending)
		c->recv.fpdu_ms = c->engine->now_ms;
	xiw_dirty(c);
	if (err == -ENOMEM) /* the rest waits for memory that xiw_reclaim() frees in this turn */
		c->recv.hungry = c->engine->short_of_memory = true;
	else if (err < 0 && err != -EPROTO && !c->rx_dead)
		xiw_conn_stream_error(c,
				      err >= -XIW_MPA_ERR_MARKER ? (enum xiw_mpa_error) - err : 0,
				      err < -XIW_MPA_ERR_MARKER ? XIW_DDP_LOCAL_CATASTROPHIC : 0);
	return c->rx_dead || c->end.at_once || c->startup.refusing ? len : used;
}

static const uint8_t *buffer(const struct xiw_engine *e, uint16_t bid)
{
	return e->io.buf_area + (size_t)bid * XIW_BUF_SIZE;
}

/* Holds octets in their buffer until the completion queue has room. False: there is no memory. */
static bool hold(struct xiw_conn *c, const struct xiw_held *h)
{
	if (!c->recv.held && xiw_conn_charge(c, XIW_BUFS * sizeof(*c->recv.held)))
		c->recv.held = calloc(XIW_BUFS, sizeof(*c->recv.held));
	if (!c->recv.held)
		return false;
	xiw_retry(c);
	/* The array has as many entries as there are buffers, so it cannot overflow. */
	c->recv.held[(c->recv.held_head + c->recv.held_n++) % XIW_BUFS] = *h;
	return true;
}

/* Octets wait, in their buffer or, if they may have to wait for long, in memory of the connection. */
static void wait_for(struct xiw_conn *c, const struct xiw_held *h)
{
	bool kept;

	if (!c->hold.on) {
		kept = hold(c, h);
		if (kept)
			return;
	} else {
		kept = xiw_hold_keep(c, buffer(c->engine, h->bid) + h->off, h->len);
	}
	xiw_buf_return(c->engine, h->bid);
	if (!kept)
		xiw_conn_ask_end(c, ENOMEM, true);
}

static void input(struct xiw_conn *c, uint16_t bid, uint32_t len)
{
	/* What came before and waits goes first. */
	uint32_t took = xiw_octets_wait(c) ? 0 : feed(c, buffer(c->engine, bid), len);

	if (took < len && c->state != XIW_DEAD) {
		wait_for(c, &(struct xiw_held){ bid, took, len - took });
		return;
	}
	xiw_buf_return(c->engine, bid);
	if (c->stretch.state == XIW_STRETCH_WAITS)
		xiw_dirty(c);
}

/*
 * Goes on with octets in buffers until there is no room. If the stream is held, what is left goes where the octets of a
 * hold are, so that they stay in order.
 */
static void resume_buffers(struct xiw_conn *c)
{
	while (c->recv.held_n && c->state == XIW_OPEN &&
	       (c->hold.on || xiw_cq_room(c->engine) > XIW_CQ_RESERVE)) {
		struct xiw_held *h = &c->recv.held[c->recv.held_head];
		uint32_t took = feed(c, buffer(c->engine, h->bid) + h->off, h->len);

		h->off += took;
		h->len -= took;
		if (h->len && !c->hold.on)
			return;
		c->recv.held_head = (uint16_t)((c->recv.held_head + 1) % XIW_BUFS);
		c->recv.held_n--;
		if (h->len)
			wait_for(c, h);
		else
			xiw_buf_return(c->engine, h->bid);
	}
}

void xiw_stream_resume(struct xiw_conn *c)
{
	struct xiw_hold *h = &c->hold;
	const bool was_held = h->on;

	/* The frames of a stretch go on at the end of the batch. */
	if (c->keeps.go_on) {
		xiw_retry_no_more(c);
		xiw_dirty(c);
		return;
	}
	if (!h->on || xiw_hold_taken(c, feed(c, h->octets + h->at, h->len - h->at)))
		resume_buffers(c);
	if (h->waits)
		xiw_retry_no_more(c); /* until a buffer is posted */
	if (xiw_octets_wait(c)) {
		if (c->stretch.state == XIW_STRETCH_WAITS)
			xiw_dirty(c);
		return;
	}
	xiw_retry_no_more(c);
	if (was_held)
		xiw_recv_post(c);
	c->handoff.want_arm = true;
	xiw_dirty(c);
}

/*
 * The socket delivered data, or the end of the stream, although the engine thinks that it owns the stream: XDP
 * must have taken it back. Frames of other connections may be the cause, so that no frame of this connection
 * shows it. A whole stretch may also have passed without a frame that the engine saw.
 *
 * If the engine does own the stream, the octets are not of the stream: somebody has put them into the socket around
 * xiw_ingress. What is in the socket then has no place in the stream any more, and the connection ends.
 */
static void look_at_owner(struct xiw_conn *c, int res)
{
	uint64_t owner;

	if (!c->flow || c->stretch.state == XIW_STRETCH_WAITS ||
	    c->stretch.state == XIW_STRETCH_ENDS)
		return;
	owner = xiw_flow_owner(c->flow);
	if (c->stretch.state != XIW_STRETCH_OFF && xiw_owner_epoch(owner) != c->stretch.epoch) {
		xiw_ownership_lost(c);
	} else if (c->stretch.state == XIW_STRETCH_RUNS && res > 0) {
		snprintf(c->no_direct, sizeof(c->no_direct),
			 "bytes that did not pass xiw_ingress on %s got into the socket",
			 c->netif->ifname);
		xiw_conn_ask_end(c, EUNATCH, true);
	} else if (c->stretch.state == XIW_STRETCH_OFF &&
		   xiw_owner_path(owner) == XIW_PATH_KERNEL) {
		c->handoff.want_arm = true;
		xiw_dirty(c);
	}
}

void xiw_recv_done(struct xiw_conn *c, int res, uint32_t flags)
{
	if (res >= 0 && c->flow) {
		xiw_watch_read(c->engine);
		look_at_owner(c, res);
	}
	if (!(flags & IORING_CQE_F_MORE)) {
		c->recv.posted = false;
		c->ops--;
	}
	if (res > 0) {
		uint16_t bid = (uint16_t)(flags >> IORING_CQE_BUFFER_SHIFT);

		xiw_buf_taken(c->engine);
		c->engine->ready.pace.took++;
		c->recv.fed = true;
		if (c->state == XIW_DEAD)
			xiw_buf_return(c->engine, bid);
		else
			input(c, bid, (uint32_t)res);
	} else if (c->state != XIW_DEAD) {
		if (res == 0) {
			c->end.eof = true;
			xiw_dirty(c);
		} else if (res != -ENOBUFS && res != -ECANCELED) {
			/* What came before the error may still wait for room in the completion queue. */
			c->end.eof = true;
			xiw_conn_broken(c, -res);
		}
	}
	if (res == -ENOBUFS && c->state == XIW_OPEN) {
		if (!c->recv.fed)
			xiw_bufs_offer_all(c->engine);
		starve(c); /* posted again when a buffer comes back */
	} else {
		xiw_recv_post(c);
	}
}
