/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether another thread of the process waits in the kernel. */
#ifndef XIW_TESTS_ASLEEP_H
#define XIW_TESTS_ASLEEP_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* @tid is what the thread's gettid() returned; 0: it has not begun yet. */
static inline bool asleep(pid_t tid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = tid ? fopen(path, "r") : NULL;
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state == 'S';
}

#endif
