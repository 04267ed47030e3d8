/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of flows for other processes than its engines: status and unload. */
#ifndef XIW_HANDOFF_FLOWS_H
#define XIW_HANDOFF_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include <xiwarp/abi.h>

#include "netif/pins.h"

struct xiw_flow_list {
	struct xiw_flow *flows; /* of the whole table; NULL if it is only to be read */
	uint32_t nflows;	/* in the table */
	uint32_t *slots;	/* of the flows that BPF finds */
	uint32_t n;
};

/*
 * Maps the table of flows, and lists the slots that are in use, from descriptors of xiw_flows and xiw_flow_index, which
 * it closes; returns one that is negative. -ESTALE: another version made the table.
 */
int xiw_flows_map(int flows_fd, int index_fd, struct xiw_flow_list *list);
void xiw_flows_unmap(struct xiw_flow_list *list);

/*
 * Calls fn with a copy of each flow, until it returns nonzero; for processes that may only read the table. Returns that
 * value, 0, or negative errno as above.
 */
int xiw_flows_read(const struct xiw_pins *pins,
		   int (*fn)(uint32_t index, const struct xiw_flow *flow, void *ctx), void *ctx);

/* How many flows the table has room for. */
int xiw_flows_room(const struct xiw_pins *pins, uint32_t *nflows);

/* Is the connection open in a process, of whichever PID namespace, or its end not acknowledged? */
bool xiw_flow_in_use(const struct xiw_flow *flow);

#endif
