/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `xiwarp sink`: one connection, and its report (sink_report.c). */
#ifndef XIW_TOOL_SINK_H
#define XIW_TOOL_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include <xiwarp/region.h>

#include "receiver.h"

struct xiw_sink_peer {
	struct xiw_peer peer;
	uint8_t *recv; /* the posted buffers of all queues */
	uint64_t tagged, tagged_octets, untagged, untagged_octets;
	uint64_t first_ns, last_ns;
	bool later; /* a turn has begun since the one in which the first octet came */
};

/* Prints the account of a connection, as text or JSON. */
void xiw_sink_report(const struct xiw_sink_peer *p, const struct xiw_conn_info *info);

#endif
