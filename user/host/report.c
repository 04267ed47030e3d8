// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the program received by which path. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/ring.h"
#include "host/engines.h"
#include "host/host.h"

/* All engines of a process have the same, from their creation on. */
static void name_ring(char *text, size_t len)
{
	const struct xiw_engine *e = xiw_host_engine(0);
	char why[96];

	if (!e)
		return;
	xiw_ring_why(e, why, sizeof(why));
	snprintf(text, len, "; ring %s%s%s%s", xiw_ring_name(e), *why ? " (" : "", why,
		 *why ? ")" : "");
}

void xiw_host_report(void)
{
	const char *wanted = getenv("XIWARP_REPORT");
	struct xiw_host_totals t;
	char share[48] = "";
	char ring[144] = "";
	uint64_t octets;

	if (!wanted || !*wanted)
		return;
	xiw_host_settle();
	xiw_host_totals(&t);
	octets = t.octets_direct + t.octets_kernel;
	if (!t.connections)
		return;
	if (octets)
		snprintf(share, sizeof(share), ", %.1f %% by the direct path",
			 100.0 * (double)t.octets_direct / (double)octets);
	name_ring(ring, sizeof(ring));
	/* At once: other processes may write their lines to the same place. */
	fprintf(stderr, "xiwarp: %" PRIu64 " connections, %" PRIu64 " octets received%s%s%s%s\n",
		t.connections, octets, share, t.no_direct[0] ? "; not direct: " : "", t.no_direct,
		ring);
}
