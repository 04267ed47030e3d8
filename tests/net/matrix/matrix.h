/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the two ends of the fault matrix know in common. Which messages there are, how long they are and what is
 * in them follows from the seed and the message's number alone.
 */
#ifndef XIW_TESTS_FAULTS_H
#define XIW_TESTS_FAULTS_H

#include "tests/net/lib/common.h"

#define FAULTS_PORT 15047
#define FAULTS_STAG 0x5fa17000u
#define FAULTS_MSG_MAX (64u << 10)
/*
 * Tagged messages lie round and round over as many places: more than the library's buffers for a socket hold, all of
 * which it may place before the application sees the first completion.
 */
#define FAULTS_SLOTS 512u
#define FAULTS_BACK_MSG (16u << 10)
#define FAULTS_BACK_SALT 0x6261636bull

/* Message `msg` is a stream of its own. */
static inline uint64_t faults_stream(uint64_t seed, uint64_t msg)
{
	return seed + (msg << 24) + 1;
}

/* How many octets, from `off` of message `msg` on, are not what they should be. */
static inline uint64_t faults_wrong(uint64_t seed, uint64_t msg, const uint8_t *got, uint64_t off,
				    size_t len)
{
	uint64_t wrong = 0;
	int64_t at;

	for (; (at = stream_wrong(faults_stream(seed, msg), off, got, len)) >= 0; wrong++) {
		off += (uint64_t)at + 1;
		got += at + 1;
		len -= (size_t)at + 1;
	}
	return wrong;
}

static inline uint32_t faults_len(uint64_t seed, uint64_t msg)
{
	uint64_t z = mix(~seed * MIX_STEP + msg);

	/* Every eighth one is short. */
	return 1 + (uint32_t)(z >> 16) % (z & 7 ? FAULTS_MSG_MAX : 600);
}

/* Every fourth message is untagged, to queue 0; its MSN says which one it is. */
static inline bool faults_untagged(uint64_t msg)
{
	return msg % 4 == 3;
}

static inline uint32_t faults_msn(uint64_t msg)
{
	return (uint32_t)(msg / 4) + 1;
}

/* Messages until at least so many octets are sent. */
static inline uint64_t faults_count(uint64_t seed, uint64_t octets)
{
	uint64_t n = 0, sum = 0;

	while (sum < octets)
		sum += faults_len(seed, n++);
	return n;
}

#endif
