// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Time, of this process and of the BPF programs.
 */
#include "core/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void xiw_clock_update(struct xiw_engine *e)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	e->now_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	e->now_ms = e->now_ns / 1000000;
}

/* Says /proc what this process has, or what its children will have? A process can ask for another for these alone. */
static bool for_children_only(void)
{
	struct stat own, theirs;

	return !stat("/proc/self/ns/time", &own) &&
	       !stat("/proc/self/ns/time_for_children", &theirs) && own.st_ino != theirs.st_ino;
}

/* Lines of a clock's name, seconds, which may be negative, and nanoseconds, which are not (time_namespaces(7)). */
int64_t xiw_clock_lead(void)
{
	static const char name[] = "monotonic";
	int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
	char text[256], *at;
	int64_t s, ns;
	ssize_t n;

	/* A kernel without time namespaces has no such file. */
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, name);
	if (!at || for_children_only())
		return 0;
	s = strtoll(at + sizeof(name) - 1, &at, 10);
	ns = strtoll(at, NULL, 10);
	return s * 1000000000 + ns;
}
