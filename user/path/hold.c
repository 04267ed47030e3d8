// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Receiver not ready: the next FPDU is a Send, and no buffer is posted for it. RFC 5041 makes that an error (section
 * 7.1) and leaves flow control to the ULP. An application that asks for it has hold_ms to post a buffer.
 */
#include "path/hold.h"

#include <string.h>

#include "core/agenda.h"
#include "core/budget.h"
#include "core/ring.h"
#include "core/srq.h"
#include "core/timer.h"

#define QN_SEND 0
#define LOOK_MS 1000 /* between looks at the socket, as no receive tells of its end */

/* The next FPDU is the one at which the hold began. */
static bool still_there(const struct xiw_conn *c)
{
	return c->hold.begun && c->hold.fpdus == c->counts.fpdus;
}

/* A stream that went on, although its time was up, has time again for the next Send. */
bool xiw_hold_allowed(const struct xiw_conn *c, const struct xiw_ddp_hdr *h)
{
	return c->opts.hold_ms && !(c->hold.over && still_there(c)) && h->qn == QN_SEND &&
	       xiw_ddp_rx_lacks_buffer(c->ddp, h);
}

/* It gets another one when the application takes completions, which it does without notice. */
bool xiw_hold_at_limit(const struct xiw_conn *c)
{
	return c->uses.share.srq && c->uses.share.srq->ddp.count;
}

void xiw_hold_watch(struct xiw_conn *c)
{
	const uint64_t next = c->engine->now_ms + (xiw_hold_at_limit(c) ? 1 : LOOK_MS);

	c->timer.hold_ms = next < c->hold.until_ms ? next : c->hold.until_ms;
	xiw_timer(c);
}

uint64_t xiw_hold_count(struct xiw_conn *c)
{
	struct xiw_hold *h = &c->hold;

	/* A buffer of several connections may have gone to another one. The time then does not begin anew. */
	if (!still_there(c)) {
		h->begun = true;
		h->over = false;
		h->fpdus = c->counts.fpdus;
		h->since_ms = c->engine->now_ms;
		h->until_ms = c->engine->now_ms + c->opts.hold_ms;
		c->counts.holds++;
		xiw_srq_waits(c);
	}
	return h->since_ms;
}

void xiw_hold_begin(struct xiw_conn *c)
{
	struct xiw_hold *h = &c->hold;

	xiw_hold_count(c);
	h->on = h->waits = true;
	if (c->recv.posted)
		io_uring_prep_cancel64(xiw_sqe(c->engine, NULL, XIW_OP_NONE),
				       (uintptr_t)c | XIW_OP_RECV, 0);
	xiw_hold_watch(c);
}

/*
 * The provided buffers serve all connections, so they are given back at once. No more octets come than the receive had
 * taken before it was cancelled.
 */
bool xiw_hold_keep(struct xiw_conn *c, const uint8_t *octets, uint32_t len)
{
	struct xiw_hold *h = &c->hold;

	if (h->len + len > h->room) {
		uint32_t room = h->len + len;
		uint8_t *more = xiw_budget_resize(&c->engine->budget, h->octets, h->room, room);

		if (!more)
			return false;
		h->octets = more;
		h->room = room;
	}
	memcpy(h->octets + h->len, octets, len);
	h->len += len;
	return true;
}

bool xiw_hold_taken(struct xiw_conn *c, uint32_t len)
{
	c->hold.at += len;
	if (c->hold.at < c->hold.len)
		return false;
	xiw_hold_forget(c);
	return true;
}

void xiw_hold_posted(struct xiw_conn *c)
{
	if (c->keeps.hand) {
		c->keeps.go_on = true;
		xiw_retry(c);
	}
	if (!c->hold.waits)
		return;
	c->hold.waits = false;
	c->timer.hold_ms = XIW_NEVER;
	xiw_retry(c);
}

void xiw_hold_expire(struct xiw_conn *c)
{
	c->counts.holds_expired++;
	c->hold.over = true;
	xiw_hold_posted(c);
}

void xiw_hold_forget(struct xiw_conn *c)
{
	if (c->hold.octets)
		xiw_budget_free(&c->engine->budget, c->hold.octets, c->hold.room);
	c->hold = (struct xiw_hold){};
	c->timer.hold_ms = XIW_NEVER;
}
