// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Segments that this machine lost. */
#include <inttypes.h>
#include <linux/if_xdp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/engine.h"
#include "tests/net/lib/loss.h"

/* Packets for which there was no frame, or no room in a ring. */
uint64_t loss_of_rings(const struct xiw_engine *engine)
{
	struct xdp_statistics x;
	uint64_t count = 0;
	socklen_t len;

	for (const struct xiw_netif *p = engine->netifs; p; p = p->next)
		for (uint32_t i = 0; i < p->nqueues; i++) {
			len = sizeof(x);
			if (!getsockopt(p->queues[i].xsk.fd, SOL_XDP, XDP_STATISTICS, &x, &len))
				count += x.rx_dropped + x.rx_ring_full + x.rx_fill_ring_empty_descs;
		}
	return count;
}

/* A CPU's queue of received packets was full. Other connections use these queues, too. */
uint64_t loss_of_backlogs(void)
{
	FILE *f = fopen("/proc/net/softnet_stat", "re");
	uint64_t count = 0;
	uint32_t dropped;

	while (f && fscanf(f, "%*x %" SCNx32 "%*[^\n]", &dropped) == 1)
		count += dropped;
	if (f)
		fclose(f);
	return count;
}

/* What this thread's namespace sent by an interface and its peer had no room for. */
uint64_t loss_of_link(const char *ifname)
{
	FILE *f = fopen("/proc/thread-self/net/dev", "re");
	uint64_t count = 0, dropped;
	char line[512], name[64];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " %63[^:]: %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
			   name, &dropped) == 2 &&
		    !strcmp(name, ifname))
			count = dropped;
	if (f)
		fclose(f);
	return count;
}
