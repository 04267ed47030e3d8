// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The frames that may be kept are all connections' together, and a peer can leave a gap open for as long as it likes.
 * So, while segments of some find no room, a stream falls back that stands still in front of a gap from one look to the
 * next, or does not get behind what it keeps in several. Its frames go to its own socket, which has its own memory.
 */
#include "path/gaps.h"

#include "path/fallback.h"
#include "path/packet.h"
#include "path/progress.h"

#define GAP_MS 1000 /* between two looks; longer than most retransmissions take */
#define LOOKS 5	    /* in which a stream has to get behind what it keeps, however it moves */

/* The end of what is kept behind gaps; where the stream stands if nothing is. */
static uint32_t kept_end(const struct xiw_conn *c)
{
	uint32_t end = xiw_stream_at(c);

	for (const struct xiw_tcp_keep *k = c->tcp.keep_head; k; k = k->next)
		end = xiw_seq_max(end, k->seq + k->len);
	return end;
}

static void look_at(struct xiw_conn *c)
{
	const uint8_t look = c->engine->pools.gap_look;
	struct xiw_keeps *k = &c->keeps;
	const uint32_t at = xiw_stream_at(c);

	/* It has other frames, which come first in the pool. */
	if (k->look == look)
		return;
	k->look = look;
	if (!xiw_seq_before(at, k->gap_end)) {
		k->gap_end = kept_end(c);
		k->gap_looks = 0;
	} else if (at == k->stood_at || ++k->gap_looks == LOOKS) {
		xiw_fall_back(c, XIW_REASON_GAP, NULL);
	}
	k->stood_at = at;
}

void xiw_gaps_look(struct xiw_engine *e)
{
	if (!e->pools.kept_short || e->now_ms < e->pools.gap_look_ms)
		return;
	e->pools.kept_short = false;
	e->pools.gap_look_ms = e->now_ms + GAP_MS;
	e->pools.gap_look++;
	for (uint32_t i = 0; i < e->pools.kept_total; i++)
		if (e->pools.kept[i].frames)
			look_at(e->pools.kept[i].conn);
}
