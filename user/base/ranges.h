/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_BASE_RANGES_H
#define XIW_BASE_RANGES_H

#include <stddef.h>
#include <stdint.h>

#define XIW_RANGES_MAX 136 /* octets that the longest text takes: two of three bits are set */

/* The numbers of the bits that are set, as "0-3,8"; "none". */
const char *xiw_ranges(uint64_t mask, char text[XIW_RANGES_MAX]);
/* The same in at most @most octets, 3 or more; a list that is cut ends with "...". */
const char *xiw_ranges_cut(uint64_t mask, char text[XIW_RANGES_MAX], size_t most);

#endif
