/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the two ends of the fault matrix know in common. Which messages there are, how long they are and what is
 * in them follows from the seed and the message's number alone.
 */
#ifndef XIW_TESTS_FAULTS_H
#define XIW_TESTS_FAULTS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static inline void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(1);
}

/* splitmix64 */
static inline uint64_t faults_mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline uint64_t faults_word(uint64_t seed, uint64_t msg, uint64_t n)
{
	return faults_mix((seed + (msg << 24) + n + 1) * 0x9e3779b97f4a7c15ull);
}

/* Octets [off, off + len) of message `msg`. */
static inline void faults_fill(uint64_t seed, uint64_t msg, uint8_t *out, uint64_t off, size_t len)
{
	uint64_t w;

	for (; len && off % 8; len--, off++) {
		w = faults_word(seed, msg, off / 8);
		*out++ = ((uint8_t *)&w)[off % 8];
	}
	for (; len >= 8; len -= 8, off += 8, out += 8) {
		w = faults_word(seed, msg, off / 8);
		memcpy(out, &w, 8);
	}
	w = faults_word(seed, msg, off / 8);
	memcpy(out, &w, len);
}

/* How many octets are not what they should be. */
static inline uint64_t faults_wrong(uint64_t seed, uint64_t msg, const uint8_t *got, uint64_t off,
				    size_t len)
{
	uint8_t want[4096];
	uint64_t wrong = 0;

	for (size_t at = 0, n; at < len; at += n) {
		n = len - at < sizeof(want) ? len - at : sizeof(want);
		faults_fill(seed, msg, want, off + at, n);
		if (!memcmp(got + at, want, n))
			continue;
		for (size_t i = 0; i < n; i++)
			wrong += got[at + i] != want[i];
	}
	return wrong;
}

static inline uint32_t faults_len(uint64_t seed, uint64_t msg)
{
	uint64_t z = faults_mix(~seed * 0x9e3779b97f4a7c15ull + msg);

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
