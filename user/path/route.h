/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_ROUTE_H
#define XIW_PATH_ROUTE_H

#include "core/engine.h"

/* Notes the counters from which the checks start. Called before the flow is published. */
void xiw_route_begin(struct xiw_conn *c);

/*
 * Writes to `to`, which has room for `len` octets, why nothing of the connection has been direct, as far as the ways of
 * its packets tell before they are checked: they go around the programs, or come on another engine's queues.
 */
void xiw_route_why(const struct xiw_conn *c, char *to, size_t len);

/* The connection leaves XDP: notes that in no_direct if nothing else was said, and remembers it at the interface. */
void xiw_route_end(struct xiw_conn *c);

/*
 * Checks where the connection's packets go; called every second. Returns false if the connection needs the BPF
 * programs and its packets have gone around them for too long; no_direct says how.
 */
bool xiw_route_check(struct xiw_conn *c);

#endif
