/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Timers of connections: a wheel of milliseconds. */
#ifndef XIW_CORE_TIMER_H
#define XIW_CORE_TIMER_H

#include "core/engine.h"

/* Takes the connection off the wheel. */
void xiw_timer_stop(struct xiw_conn *c);

/* Puts the connection on the wheel for the earliest of its times; it is called when one of them has changed. */
void xiw_timer(struct xiw_conn *c);

/*
 * Sets the deadline to `ms` from now, or takes it away (XIW_LIMIT_NONE). Nothing else sets a deadline. When it has
 * come, the turn calls xiw_startup_timeout() or xiw_conn_limit().
 */
void xiw_conn_deadline(struct xiw_conn *c, enum xiw_limit limit, unsigned int ms);

#define XIW_SHOW_TIMES 4 /* so often a connection shows itself before conntrack would forget it */

/*
 * Returns when octets of the peer next make the connection tell the socket that it is alive, and show itself to
 * conntrack. XIW_NEVER: neither keepalive nor conntrack is there.
 */
static inline uint64_t xiw_alive_due(const struct xiw_conn *c)
{
	const uint64_t forgets_ms = c->engine->watch.forgets_ms;
	uint64_t in_ms = XIW_NEVER;

	if (c->opts.keepalive_ms != XIW_NO_LIMIT)
		in_ms = c->opts.keepalive_ms / 2;
	if (forgets_ms && forgets_ms / XIW_SHOW_TIMES < in_ms)
		in_ms = forgets_ms / XIW_SHOW_TIMES;
	return in_ms == XIW_NEVER ? XIW_NEVER : c->engine->now_ms + in_ms;
}

/* Makes the engine collect abandoned slots after XIW_COLLECT_MS. */
void xiw_collect_soon(struct xiw_engine *e);

/* Takes the next connection whose time has come off the wheel and returns it. NULL: none is left. */
struct xiw_conn *xiw_timer_due(struct xiw_engine *e);

/* Makes the engine wake up at the next time on the wheel. */
void xiw_timer_wake(struct xiw_engine *e);

#endif
