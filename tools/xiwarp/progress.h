/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_TOOL_PROGRESS_H
#define XIW_TOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Draws one line of progress on standard error in place of the previous one: name, bar, share, octets, rate and, unless
 * it is the `last` line, the time that is left.
 */
void xiw_progress(const char *name, uint64_t done, uint64_t total, double seconds, bool last);

#endif
