/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What both ends of a stream under fault agree on.
 */
#ifndef XIW_TESTS_NET_TROUBLE_H
#define XIW_TESTS_NET_TROUBLE_H

#include "tests/net/lib/common.h"

#define TROUBLE_STAG 0x52000000u /* + ID */
#define TROUBLE_MSG (8u << 10)	 /* octets of a message */
#define TROUBLE_SLOTS 4096u /* messages in a connection's buffer: more than there are completions */
#define TROUBLE_IDS 64u	    /* ID is the one octet of the MPA Request's Private Data */

static inline uint64_t trouble_stream(unsigned int id)
{
	return (uint64_t)id << 40;
}

#endif
