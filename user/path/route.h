/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_ROUTE_H
#define XIW_PATH_ROUTE_H

#include "core/engine.h"

/* Notes the counters from which the checks start. Called before the flow is published. */
void xiw_route_begin(struct xiw_conn *c);

/*
 * The connection leaves XDP, perhaps before it was ever checked: notes in no_direct that segments of it have come
 * around XDP, or on another engine's queues alone, if nothing else was said.
 */
void xiw_route_end(struct xiw_conn *c);

/*
 * Checks where the connection's packets go; called every second. Returns false if the connection needs the BPF
 * programs and its packets have gone around them for too long; no_direct says how.
 */
bool xiw_route_check(struct xiw_conn *c);

#endif
