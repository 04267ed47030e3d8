// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A peer that begins a Send and does not end it keeps a shared buffer for as long as it likes (RFC 5042 section
 * 6.4.3.1). When another stream has waited for a buffer for half of its time, streams that send too slowly are ended: a
 * Send may take 2 s, and 2 s for each 64,000 octets of it that have arrived.
 */
#include "conn/unfinished.h"

#include "core/agenda.h"
#include "core/srq.h"

#define LOOK_MS 500
#define BEGUN_MS 2000
#define OCTETS_PER_MS 32

/* Says whether the Send under way has had all its time, which is counted from the first look at it. */
static bool too_slow(struct xiw_conn *c)
{
	const uint32_t now_ms = (uint32_t)c->engine->now_ms;
	const struct xiw_ddp_queue *q = &c->ddp->queues[0];
	struct xiw_share *s = &c->uses.share;

	if (!q->count || c->rx_dead || c->end.asked) {
		s->kept_ms = 0;
		return false;
	}
	if (!s->kept_ms)
		s->kept_ms = now_ms | 1;
	return (int32_t)(now_ms - s->kept_ms) > (int32_t)(BEGUN_MS + q->extent / OCTETS_PER_MS);
}

void xiw_unfinished_look(struct xiw_conn *waits)
{
	const uint64_t now_ms = waits->engine->now_ms;
	const bool half = now_ms - waits->hold.since_ms >= waits->opts.hold_ms / 2;
	struct xiw_srq *srq = waits->uses.share.srq;

	if (!srq || srq->ddp.count || now_ms < srq->look_ms)
		return;
	srq->look_ms = now_ms + LOOK_MS;
	for (struct xiw_conn *c = srq->conns; c; c = c->uses.share.next) {
		if (!too_slow(c) || !half)
			continue;
		srq->ended++;
		xiw_conn_stream_error(c, 0, XIW_DDP_LOCAL_CATASTROPHIC);
	}
}
