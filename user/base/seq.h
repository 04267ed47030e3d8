/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* TCP sequence numbers, compared modulo 2^32 by signed difference (RFC 9293 section 3.4). */
#ifndef XIW_BASE_SEQ_H
#define XIW_BASE_SEQ_H

#include <stdbool.h>
#include <stdint.h>

static inline bool xiw_seq_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool xiw_seq_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

static inline uint32_t xiw_seq_max(uint32_t a, uint32_t b)
{
	return xiw_seq_after(a, b) ? a : b;
}

static inline uint32_t xiw_seq_min(uint32_t a, uint32_t b)
{
	return xiw_seq_before(a, b) ? a : b;
}

#endif
