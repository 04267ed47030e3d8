/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much of what peers cause is told: a peer that nobody knows must not fill a log. Of all reports of connections
 * that fail, and of refusals, 20 are shown in 12 seconds, and then one line says how many were not.
 */
#ifndef XIW_TOOL_TELLING_H
#define XIW_TOOL_TELLING_H

#include <stdbool.h>
#include <stdint.h>

/* Zero at first. */
struct xiw_telling {
	uint64_t since_ns; /* the first report of those that are counted */
	unsigned int told;
	unsigned int left_out; /* looked at without a lock in each turn */
};

/* Returns how many reports were left out, if it is time to say so, and counts anew; else 0. `end`: it is. */
unsigned int xiw_telling_rest(struct xiw_telling *t, uint64_t now_ns, bool end);
/* Counts one more report. Returns whether it may be shown. */
bool xiw_telling_take(struct xiw_telling *t, uint64_t now_ns);

/*
 * May a report of what a peer has caused, a line or a few, be shown? It is counted. First says how many were left out
 * before, if it is time for that. May be called by any thread.
 */
bool xiw_may_tell(void);
/* Says how many were left out, if it is time; with `end`, if there are any. May be called by any thread. */
void xiw_tell_rest(bool end);

#endif
