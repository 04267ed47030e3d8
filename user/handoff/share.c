// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "handoff/share.h"

#include "handoff/key.h"
#include "handoff/slot.h"

/* Looks at slots in one call, which take about 0.1 ms. */
#define LOOKS 4096u

bool xiw_table_share_used(const struct xiw_table *t, const struct xiw_flow_key *key)
{
	const uint32_t step = t->nflows > LOOKS ? t->nflows / LOOKS : 1, n = t->nflows / step;
	uint32_t held = 0, own = 0;

	if (xiw_bits_count(t->taken, t->nflows) <= t->nflows / 2)
		return false;
	for (uint32_t i = t->hint % step; i < t->nflows; i += step) {
		const uint32_t engine = xiw_slot_engine(t, i);

		if (!engine || engine >= XIW_ABANDONED)
			continue;
		held++;
		own += xiw_flow_key_same_peer(&t->flows[i].key, key);
	}
	return own && held > n / 2 && own >= (n - (held - own)) / 2;
}
