/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of flows as others than the engine see it: status and unload. */
#ifndef XIW_HANDOFF_FLOWS_H
#define XIW_HANDOFF_FLOWS_H

#include <stdbool.h>

#include <xiwarp/abi.h>

#include "netif/pins.h"

/* The table of flows, mapped, or as it is now, to be freed; -ESTALE: made by another version. */
int xiw_flows_map(int fd, struct xiw_flow **flows); /* closes `fd`, or returns it if negative */
void xiw_flows_unmap(struct xiw_flow *flows);
int xiw_flows_copy(const struct xiw_pins *pins, struct xiw_flow **flows);
/* True if a process, of whichever PID namespace, has the connection open. */
bool xiw_flow_in_use(const struct xiw_flow *flow);

#endif
