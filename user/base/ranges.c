// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/ranges.h"

#include <stdio.h>
#include <string.h>

/* The first bit from @at on that is set (@to true) or not set; 64: none. */
static unsigned int next_bit(uint64_t mask, unsigned int at, int to)
{
	while (at < 64 && (int)(mask >> at & 1) != to)
		at++;
	return at;
}

const char *xiw_ranges(uint64_t mask, char text[XIW_RANGES_MAX])
{
	size_t n = (size_t)snprintf(text, XIW_RANGES_MAX, "%s", mask ? "" : "none");
	unsigned int first, end;

	for (first = next_bit(mask, 0, 1); first < 64; first = next_bit(mask, end, 1)) {
		end = next_bit(mask, first, 0);
		n += (size_t)snprintf(text + n, XIW_RANGES_MAX - n, n ? ",%u" : "%u", first);
		if (end - first > 1)
			n += (size_t)snprintf(text + n, XIW_RANGES_MAX - n, "-%u", end - 1);
	}
	return text;
}

const char *xiw_ranges_cut(uint64_t mask, char text[XIW_RANGES_MAX], size_t most)
{
	size_t n = strlen(xiw_ranges(mask, text));

	if (n <= most)
		return text;
	for (n = most - 3; n && text[n - 1] != ','; n--)
		;
	strcpy(text + n, "...");
	return text;
}
