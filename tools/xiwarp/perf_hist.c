// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "perf_hist.h"

#define PART (1u << XIW_HIST_BITS) /* buckets for each power of two */

/* Up to PART each duration has a bucket of its own; each power of two beyond has PART of them. */
static unsigned int bucket_of(uint64_t ns)
{
	unsigned int shift;

	if (ns < PART)
		return (unsigned int)ns;
	shift = 63 - (unsigned int)__builtin_clzll(ns) - XIW_HIST_BITS;
	return (shift << XIW_HIST_BITS) + (unsigned int)(ns >> shift);
}

uint64_t xiw_hist_upper(unsigned int bucket)
{
	unsigned int shift = bucket >> XIW_HIST_BITS;

	if (shift < 2)
		return bucket;
	shift--;
	return (((uint64_t)bucket - ((uint64_t)shift << XIW_HIST_BITS) + 1) << shift) - 1;
}

void xiw_hist_add(struct xiw_hist *h, uint64_t ns)
{
	if (!h->count || ns < h->least)
		h->least = ns;
	if (ns > h->most)
		h->most = ns;
	h->count++;
	h->buckets[bucket_of(ns)]++;
}

void xiw_hist_merge(struct xiw_hist *h, const struct xiw_hist *other)
{
	if (!other->count)
		return;
	if (!h->count || other->least < h->least)
		h->least = other->least;
	if (other->most > h->most)
		h->most = other->most;
	h->count += other->count;
	for (unsigned int i = 0; i < XIW_HIST_BUCKETS; i++)
		h->buckets[i] += other->buckets[i];
}

uint64_t xiw_hist_at(const struct xiw_hist *h, double share)
{
	uint64_t seen = 0, upper;

	for (unsigned int i = 0; i < XIW_HIST_BUCKETS && h->count; i++) {
		seen += h->buckets[i];
		if ((double)seen < share * (double)h->count || !seen)
			continue;
		upper = xiw_hist_upper(i);
		return upper < h->most ? upper : h->most;
	}
	return h->most;
}
