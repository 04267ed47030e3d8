/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdmap/atomic.h - atomic operations of the peer on our memory, RFC 7306 section 5.1. */
#ifndef XIW_RDMAP_ATOMIC_H
#define XIW_RDMAP_ATOMIC_H

#include "rdmap/stream.h"

/*
 * Finds the 64-bit word in question. XIW_RDMAP_OK: the peer may operate on it, and @word is set. An unknown operation,
 * an STag, a place or a right that is wrong, and a word that is not aligned are refused, and change nothing.
 */
enum xiw_rdmap_error xiw_rdmap_atomic_check(const struct xiw_rdmap_stream *s,
					    const struct xiw_rdmap_atomic *a, uint64_t **word);

/*
 * Carries it out, and returns what was there before. Atomic against all others in this process and in others that
 * access the word by atomic instructions, which is more than section 5.3 demands.
 */
uint64_t xiw_rdmap_atomic_run(const struct xiw_rdmap_atomic *a, uint64_t *word);

#endif
