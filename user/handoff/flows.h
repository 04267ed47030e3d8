/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of flows for other processes than its engines: status and unload. */
#ifndef XIW_HANDOFF_FLOWS_H
#define XIW_HANDOFF_FLOWS_H

#include <stdbool.h>

#include <xiwarp/abi.h>

#include "netif/pins.h"

/* Maps the table of flows. -ESTALE: another version made it. */
int xiw_flows_map(int fd, struct xiw_flow **flows); /* closes `fd`; returns it if it is negative */
void xiw_flows_unmap(struct xiw_flow *flows);
/* The table as it is now, to be freed, for processes that may only read it. -ESTALE as above. */
int xiw_flows_copy(const struct xiw_pins *pins, struct xiw_flow **flows);
/* Does a process, of whichever PID namespace, have the connection open? */
bool xiw_flow_in_use(const struct xiw_flow *flow);

#endif
