/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How many slots of the flow table one peer may have. */
#ifndef XIW_HANDOFF_SHARE_H
#define XIW_HANDOFF_SHARE_H

#include "handoff/table.h"

/*
 * Says whether the peer has its share of the slots, in whatever process: when more than half of them are held, a peer
 * that has one may have no more than half of what the others leave. Slots that only the end of a connection needs do
 * not count. Of a table with more than 4096 slots it looks at 4096, spread over the table.
 */
bool xiw_table_share_used(const struct xiw_table *t, const struct xiw_flow_key *key);

#endif
