/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How often each duration was measured, in buckets that are at most 1/128 wide. It takes no memory while it counts. */
#ifndef XIW_TOOL_PERF_HIST_H
#define XIW_TOOL_PERF_HIST_H

#include <stdint.h>

#define XIW_HIST_BITS 7
#define XIW_HIST_BUCKETS ((64 - XIW_HIST_BITS + 1) << XIW_HIST_BITS)

struct xiw_hist {
	uint64_t count, least, most;
	uint64_t buckets[XIW_HIST_BUCKETS];
};

void xiw_hist_add(struct xiw_hist *h, uint64_t ns);
/* Adds what another one has counted. */
void xiw_hist_merge(struct xiw_hist *h, const struct xiw_hist *other);
/* The duration that the given share (0 to 1) of all did not exceed; 0 if nothing was counted. */
uint64_t xiw_hist_at(const struct xiw_hist *h, double share);
/* The longest duration that a bucket counts. */
uint64_t xiw_hist_upper(unsigned int bucket);

#endif
