/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/now.h - the time; what has an engine has its clock, core/clock.h. */
#ifndef XIW_BASE_NOW_H
#define XIW_BASE_NOW_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of CLOCK_MONOTONIC, and milliseconds. */
static inline uint64_t xiw_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t xiw_now_ms(void)
{
	return xiw_now_ns() / 1000000;
}

#endif
