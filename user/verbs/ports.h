/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs/ports.h - what becomes of devices: contexts hear of their ports, and identifiers when a device is gone. */
#ifndef XIW_VERBS_PORTS_H
#define XIW_VERBS_PORTS_H

#include <stdbool.h>

struct xiw_context;
struct xiw_device;
struct xiw_id;

/* Is the device's port active? */
bool xiw_port_runs(const struct xiw_device *device);

/* A context is open, or about to be closed: then nothing is told to it any more. */
void xiw_ports_open(struct xiw_context *c);
void xiw_ports_close(struct xiw_context *c);

/* The same for identifiers. */
void xiw_ports_add(struct xiw_id *id);
void xiw_ports_remove(struct xiw_id *id);

#endif
