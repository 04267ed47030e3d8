// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Stretches that end because segments come on a queue of another engine, or of none. */
#include "path/progress.h"

/* Segments in a row after a stretch that ended on another engine's queue: the first time, and after many times. */
#define STEERED_RUN 8
#define STEERED_RUN_MAX 65536
#define LASTING_MS 60000 /* they are counted for this time */

/*
 * A NIC that steers a connection to and fro between engines would end a stretch each time. So after each stretch that
 * ended on a queue of another engine, or of none, more segments must come in a row on the engine's own. It is not a
 * failure, and is forgotten when the steering has stayed as it is.
 */
uint32_t xiw_progress_run(struct xiw_conn *c, uint32_t run)
{
	uint32_t steered = xiw_flow_get(&c->flow->reasons[XIW_REASON_STEERED]) +
			   xiw_flow_get(&c->flow->reasons[XIW_REASON_NO_XSK]);
	const uint32_t now_ms = (uint32_t)c->engine->now_ms;
	struct xiw_progress *s = &c->progress;

	if (steered != s->steered) {
		if (!s->steered_run || now_ms - s->steered_ms >= LASTING_MS)
			s->steered_run = STEERED_RUN;
		else if (s->steered_run < STEERED_RUN_MAX)
			s->steered_run *= 2;
		s->steered = steered;
		s->steered_ms = now_ms;
	}
	return run < s->steered_run ? s->steered_run : run;
}

void xiw_progress_steady(struct xiw_conn *c)
{
	struct xiw_progress *s = &c->progress;

	if (s->steered_run <= STEERED_RUN ||
	    (uint32_t)c->engine->now_ms - s->steered_ms < LASTING_MS)
		return;
	s->steered_run = STEERED_RUN;
	__atomic_store_n(&c->flow->run_needed, STEERED_RUN, __ATOMIC_RELAXED);
}
