// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/lib/borrowed.h"

#include <dirent.h>

#include "path/packet.h"

uint64_t open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	uint64_t count = 0;

	while (d && readdir(d))
		count++;
	if (d)
		closedir(d);
	return count;
}

int64_t frames_out(const struct xiw_engine *e)
{
	int64_t out = 0;

	for (struct xiw_netif *p = e->netifs; p; p = p->next) {
		for (uint32_t i = 0; i < p->nqueues; i++) {
			struct xiw_xsk *x = &p->queues[i].xsk;
			uint32_t lent = x->fill.size - xsk_prod_nb_free(&x->fill, x->fill.size);
			uint32_t waiting = xsk_cons_nb_avail(&x->rx, x->rx.size);

			out += (int64_t)x->frames - x->nfree - lent - waiting;
		}
	}
	return out;
}

int64_t kept_out(const struct xiw_engine *e)
{
	int64_t out = e->pools.kept_total;

	for (struct xiw_kept *k = e->pools.kept_free; k; k = k->next_free)
		out--;
	return out;
}

uint64_t slots_used(const struct xiw_table *t)
{
	uint64_t count = 0;

	for (uint32_t i = 0; t->flows && i < t->nflows; i++)
		count += t->flows[i].engine != 0;
	return count;
}
