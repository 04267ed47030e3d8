/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the two ends of the fault matrix share. The seed and the number of a message alone decide its length, its kind
 * and its octets.
 */
#ifndef XIW_TESTS_NET_MATRIX_H
#define XIW_TESTS_NET_MATRIX_H

#include "tests/net/lib/common.h"

#define MATRIX_PORT 15047
#define MATRIX_STAG 0x5fa17000u
#define MATRIX_MSG_MAX (64u << 10)
/*
 * Tagged messages use these places in turn. There are more than the library's buffers for a socket hold, because it
 * may place all of those before the application sees the first completion.
 */
#define MATRIX_SLOTS 512u
#define MATRIX_BACK_MSG (16u << 10)
#define MATRIX_BACK_SALT 0x6261636bull

/* Message `msg` is a stream of its own. */
uint64_t matrix_stream(uint64_t seed, uint64_t msg);
/* How many octets, from `off` of message `msg` on, are wrong. */
uint64_t matrix_wrong(uint64_t seed, uint64_t msg, const uint8_t *got, uint64_t off, size_t len);
uint32_t matrix_len(uint64_t seed, uint64_t msg);
/* Every fourth message is untagged, to queue 0; its MSN says which one it is. */
bool matrix_untagged(uint64_t msg);
uint32_t matrix_msn(uint64_t msg);
/* How many messages make at least so many octets. */
uint64_t matrix_count(uint64_t seed, uint64_t octets);

#endif
