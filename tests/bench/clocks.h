/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Clocks of a benchmark, in nanoseconds. */
#ifndef XIW_BENCH_CLOCKS_H
#define XIW_BENCH_CLOCKS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* The first number of the schedstat of a NAPI thread: how long it was on a CPU. Nothing can be measured without. */
static inline uint64_t napi_ns(int fd)
{
	char text[128];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0) {
		fprintf(stderr, "schedstat of a NAPI thread cannot be read\n");
		exit(1);
	}
	text[n] = '\0';
	return strtoull(text, NULL, 10);
}

#endif
