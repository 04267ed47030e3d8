/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The memory that is sent and received: the same octets at both ends, and not compressible. */
#ifndef XIW_BENCH_AREA_H
#define XIW_BENCH_AREA_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (1ul << 20)

static inline uint8_t *area_make(uint64_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED) {
		fprintf(stderr, "memory for %lu MiB: %s\n", len / MIB, strerror(errno));
		exit(1);
	}
	return p;
}

static inline uint64_t area_pattern(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline void area_fill(uint8_t *area, uint64_t len)
{
	uint64_t state = 0x9e3779b97f4a7c15ull, v;

	for (size_t i = 0; i < len; i += sizeof(v)) {
		v = area_pattern(&state);
		memcpy(area + i, &v, sizeof(v));
	}
}

/* Ends the program if an octet is wrong. */
static inline void area_check(const uint8_t *area, uint64_t len)
{
	uint64_t state = 0x9e3779b97f4a7c15ull, v;

	for (size_t i = 0; i < len; i += sizeof(v)) {
		v = area_pattern(&state);
		if (memcmp(area + i, &v, sizeof(v))) {
			fprintf(stderr, "wrong octets at %zu\n", i);
			exit(1);
		}
	}
}

/*
 * The octets of a file. One that is to be written is made anew; its blocks and pages are allocated when octets come,
 * and so while the time is taken.
 */
static inline uint8_t *area_of_file(const char *name, size_t len, bool write)
{
	int fd = open(name, (write ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY) | O_CLOEXEC, 0600);
	void *p = MAP_FAILED;

	if (fd >= 0 && (!write || !ftruncate(fd, (off_t)len)))
		p = mmap(NULL, len, PROT_READ | (write ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		perror(name);
		exit(1);
	}
	close(fd);
	return p;
}

#endif
