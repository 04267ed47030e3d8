// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The application of the hand-off: it posts buffers and takes messages. Its buffers are the stream's own, or those of a
 * shared queue, from which another stream takes some. A Send may wait for ever, or only so long that the time may end.
 */
#include "tests/fuzz/handoff_engine.h"

#include <errno.h>

#include "core/agenda.h"
#include "core/cq.h"
#include "core/srq.h"
#include "path/fpdu.h"
#include "path/hold.h"

/* Bits of `how` in application_begins(). */
#define APP_SHARED 1u
#define APP_LIMITED 2u /* the stream may have one shared buffer at a time */
#define APP_TIME 4u

enum { DEPTH = 4, SLOTS = 16, SLOT = 1024, STOLEN_MAX = 4096, HOLD_MS = 400 };

uint32_t next_fpdu;
bool failed;

static uint32_t next_message, part; /* its first FPDU, and its octets that are in place */
static uint32_t next_post;	    /* no buffer is posted for FPDUs from here on */
static uint32_t posts_due;	    /* by the application, before the next turn */
static uint32_t moved_ms;	    /* the turn of the last message */

/* Buffers of the shared queue have numbers: those below next_buf are used up. */
static struct xiw_srq *srq;
static uint8_t slots[SLOTS][SLOT];
static bool stolen[STOLEN_MAX];
static uint32_t next_buf, bufs_posted, steals_due, steals, sends;

/* ---- the ULP, which only counts what it has of the shared queue ------------------------------------ */

static int ulp_check(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t len,
		     const struct xiw_ddp_place *p, bool in_turn)
{
	(void)c;
	(void)h;
	(void)len;
	(void)p;
	(void)in_turn;
	return 0;
}

static void ulp_message(struct xiw_conn *c, const struct xiw_ddp_msg *m,
			const struct xiw_header *last)
{
	(void)last;
	xiw_deliver(c, m, 0);
	if (!m->tagged)
		xiw_srq_received(c);
}

static const struct xiw_ulp ulp = {
	.check = ulp_check,
	.message = ulp_message,
	.event = xiw_conn_tell,
};

/* ---- beginning and end ----------------------------------------------------------------------------- */

void application_begins(uint8_t how)
{
	const struct xiw_srq_opts o = { .size = sizeof(o), .depth = DEPTH };

	next_fpdu = next_message = part = next_post = posts_due = 0;
	failed = false;
	moved_ms = (uint32_t)engine->now_ms;
	conn->opts.hold_ms = how & APP_TIME ? HOLD_MS : UINT32_MAX - 1;
	srq = NULL;
	if (!(how & APP_SHARED))
		return;
	next_buf = bufs_posted = steals_due = steals = sends = 0;
	memset(stolen, 0, sizeof(stolen));
	conn->ulp = &ulp;
	CHECK(!xiw_srq_create(engine, &o, &srq));
	CHECK(!xiw_srq_use(conn, srq, how & APP_LIMITED ? 1 : 0));
}

void application_ends(void)
{
	if (!srq)
		return;
	CHECK(srq->ddp.taken == sends + steals);
	xiw_srq_leave(conn);
	CHECK(!xiw_srq_free(srq));
}

/* ---- what it takes --------------------------------------------------------------------------------- */

/* The time was up in front of a Send that had no buffer. */
static void take_error(void)
{
	CHECK(!failed && conn->counts.holds_expired == 1);
	CHECK(conn->end.ddp_error == XIW_DDP_UNTAGGED_NO_BUFFER && !conn->end.mpa_error);
	CHECK(next_fpdu < nfpdus && fpdus[next_fpdu].send);
	CHECK((uint32_t)engine->now_ms - moved_ms >= conn->opts.hold_ms);
	if (!srq)
		CHECK(next_post <= next_fpdu);
	else
		CHECK(!srq->ddp.count || conn->uses.share.max);
	failed = true;
}

/* Returns where the octets of a Send are. */
static const uint8_t *take_shared(uint64_t number)
{
	for (; next_buf < number; next_buf++)
		CHECK(stolen[next_buf], "buffer %u is skipped", next_buf);
	CHECK(next_buf == number && !stolen[number]);
	next_buf++;
	sends++;
	return slots[number % SLOTS];
}

static void take_octets(const struct fpdu *f, const uint8_t *octets)
{
	for (uint32_t i = 0; i < f->payload; i++)
		CHECK(octets[i] == fuzz_pattern(f->to + i), "octet %u of %u", i, next_fpdu);
	for (uint32_t i = 0; i < f->len; i++)
		hold(f->start + i);
	moved_ms = (uint32_t)engine->now_ms;
	next_fpdu++;
}

/* What the engine has accepted of a message that has not ended yet is in place, and may be acknowledged. */
static void take_parts(void)
{
	for (; next_fpdu < nfpdus && !fpdus[next_fpdu].last; part += fpdus[next_fpdu - 1].payload) {
		if (next_fpdu >= conn->counts.fpdus)
			return;
		if (next_fpdu == next_message)
			part = 0;
		take_octets(&fpdus[next_fpdu], memory + fpdus[next_fpdu].to);
	}
}

static void take_message(const struct xiw_completion *done)
{
	const struct fpdu *first = &fpdus[next_message], *f;
	const uint8_t *octets;

	take_parts();
	f = &fpdus[next_fpdu];
	octets = memory + f->to;
	if (first == f)
		part = 0;
	CHECK(!failed && next_fpdu < nfpdus && f->last &&
	      done->event == (f->send ? XIW_EV_RECEIVED : XIW_EV_WRITTEN));
	CHECK(done->length == part + f->payload && done->rsvdulp[0] == (uint8_t)next_message,
	      "message %u", next_message);
	if (srq && f->send)
		octets = take_shared(done->user_data);
	else if (done->length)
		CHECK(f->send ? done->user_data == next_fpdu : done->to == first->to, "message %u",
		      next_message);
	take_octets(f, octets);
	next_message = next_fpdu;
}

void take_completions(void)
{
	struct xiw_completion done;

	while (xiw_engine_next(engine, &done)) {
		if (done.event == XIW_EV_ERROR)
			take_error();
		else
			take_message(&done);
	}
	take_parts();
}

/* ---- what it posts --------------------------------------------------------------------------------- */

void post_buffers(uint32_t n)
{
	posts_due += n;
}

static void post_shared(void)
{
	for (; posts_due; posts_due--) {
		uint8_t *slot = slots[bufs_posted % SLOTS];
		const bool full = srq->ddp.count == DEPTH;

		if (!full)
			memset(slot, 0xee, SLOT);
		CHECK(xiw_srq_post(srq, slot, SLOT, bufs_posted) == (full ? -EAGAIN : 0));
		if (full)
			return;
		bufs_posted++;
	}
}

/* The buffer of a Send is where a Write with its octets would have gone. */
void post_those_due(void)
{
	if (srq) {
		post_shared();
		return;
	}
	for (; posts_due && next_post < nfpdus; next_post++) {
		const struct fpdu *f = &fpdus[next_post];

		if (!f->send)
			continue;
		CHECK(!xiw_ddp_rx_post(conn->ddp, 0, memory + f->to, f->payload, next_post) ||
		      failed);
		xiw_hold_posted(conn);
		posts_due--;
	}
}

bool another_takes(void)
{
	steals_due += !!srq;
	return srq;
}

void take_for_another(void)
{
	struct xiw_ddp_buf b;

	for (; steals_due; steals_due--) {
		if (!srq->ddp.count || bufs_posted >= STOLEN_MAX)
			continue;
		xiw_ddp_srq_take(&srq->ddp, &b);
		CHECK(b.user_data < bufs_posted && !stolen[b.user_data]);
		stolen[b.user_data] = true;
		steals++;
	}
}
