/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What both ends of a stream under fault agree on. The octet at offset n of connection ID's stream is a function
 * of n and ID alone, so that every one can be compared.
 */
#ifndef XIW_TESTS_NET_TROUBLE_H
#define XIW_TESTS_NET_TROUBLE_H

#include <stdint.h>
#include <string.h>

#define TROUBLE_STAG 0x52000000u /* + ID */
#define TROUBLE_MSG (8u << 10)	 /* octets of a message */
#define TROUBLE_SLOTS 4096u /* messages in a connection's buffer: more than there are completions */
#define TROUBLE_IDS 64u	    /* ID is the one octet of the MPA Request's Private Data */

/* splitmix64's output function. */
static inline uint64_t trouble_word(uint64_t n, uint64_t id)
{
	uint64_t z = (n + (id << 40)) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline void trouble_octets(uint8_t *out, uint64_t off, size_t len, unsigned int id)
{
	uint64_t w;

	for (; len && off % 8; len--, off++) {
		w = trouble_word(off / 8, id);
		*out++ = ((uint8_t *)&w)[off % 8];
	}
	for (; len >= 8; len -= 8, off += 8, out += 8) {
		w = trouble_word(off / 8, id);
		memcpy(out, &w, 8);
	}
	w = trouble_word(off / 8, id);
	memcpy(out, &w, len);
}

#endif
