// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "path/probe.h"

#include "path/inject.h"

#define PROBES 3     /* injected segments that may be lost before the connection is barred */
#define PROBE_MS 300 /* an injected segment that has not arrived by then counts as lost */

/* Says whether an injected segment has reached the socket since the last check. */
static bool arrived(struct xiw_conn *c)
{
	uint32_t n = xiw_flow_get(&c->flow->lo_segs);
	struct xiw_progress *s = &c->progress;

	if (n == s->arrived)
		return false;
	s->arrived = n;
	return true;
}

/* How many of the first `injected` segments have not reached the socket. */
static uint32_t missing(const struct xiw_conn *c, uint32_t injected)
{
	const uint32_t n = injected - c->progress.gone - xiw_flow_get(&c->flow->lo_segs);

	return (int32_t)n > 0 ? n : 0;
}

static void count_no_more(struct xiw_conn *c)
{
	c->progress.gone += missing(c, (uint32_t)c->counts.injected);
}

/* Before the next stretch a probe has to arrive. */
static void doubt_injection(struct xiw_conn *c)
{
	c->progress.inject_works = c->progress.awaits = false;
	c->progress.probes = 0;
	count_no_more(c);
}

/* Injects a probe if the one before has had its time. */
static enum xiw_probe probe(struct xiw_conn *c)
{
	const uint32_t now_ms = (uint32_t)c->engine->now_ms;
	struct xiw_progress *s = &c->progress;

	if (arrived(c) && s->probes)
		return XIW_PROBE_ARRIVES;
	if (s->probes && now_ms - s->probe_ms < PROBE_MS)
		return XIW_PROBE_UNDER_WAY;
	if (s->probes == PROBES)
		return XIW_PROBE_LOST;
	xiw_inject_probe(c);
	s->probes++;
	s->probe_ms = now_ms;
	return arrived(c) ? XIW_PROBE_ARRIVES : XIW_PROBE_UNDER_WAY;
}

/* What was injected when the last stretch ended may still be on its way. */
static enum xiw_probe await_missing(struct xiw_conn *c)
{
	const uint32_t now_ms = (uint32_t)c->engine->now_ms;
	struct xiw_progress *s = &c->progress;
	const bool awaited = s->awaits;

	s->awaits = missing(c, (uint32_t)c->counts.injected);
	if (!s->awaits)
		return XIW_PROBE_ARRIVES;
	if (!awaited)
		s->probe_ms = now_ms;
	return now_ms - s->probe_ms < PROBE_MS ? XIW_PROBE_UNDER_WAY : XIW_PROBE_LOST;
}

/* Most injected segments arrive before the call returns, but a busy CPU may take longer. */
enum xiw_probe xiw_probe_stretch(struct xiw_conn *c)
{
	struct xiw_progress *s = &c->progress;
	enum xiw_probe found;

	if (s->inject_works) {
		found = await_missing(c);
		if (found != XIW_PROBE_LOST)
			return found;
		doubt_injection(c);
	}
	found = probe(c);
	s->inject_works = found == XIW_PROBE_ARRIVES;
	if (s->inject_works)
		count_no_more(c);
	return found;
}

bool xiw_probe_late(struct xiw_conn *c)
{
	return c->progress.probes && !c->progress.inject_works && arrived(c);
}

/*
 * The socket is not told what the peer has acknowledged on the direct path. When the stretch is over, an answer of the
 * peer tells it, before the socket's time-out does.
 */
bool xiw_probe_lost(struct xiw_conn *c)
{
	struct xiw_output *o = &c->progress.output;
	const uint32_t before = o->injected;

	o->injected = (uint32_t)c->counts.injected;
	if (missing(c, before) < PROBES)
		return false;
	doubt_injection(c);
	/* In the state WAITS the receiver has no numbers yet, so that nothing can be sent by AF_XDP. */
	o->inform = c->stretch.state == XIW_STRETCH_RUNS;
	return true;
}

bool xiw_probe_missing(const struct xiw_conn *c)
{
	return missing(c, (uint32_t)c->counts.injected) >= PROBES;
}
