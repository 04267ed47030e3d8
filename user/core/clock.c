// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The engine's clock, and how far it leads that of the BPF programs. */
#include "core/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"

void xiw_clock_update(struct xiw_engine *e)
{
	e->now_ns = xiw_now_ns();
	e->now_ms = e->now_ns / 1000000;
}

/*
 * /proc/self/timens_offsets describes the time namespace of future children, which unshare(CLONE_NEWTIME) makes
 * another one than the process's own (time_namespaces(7)). True if they differ.
 */
static bool for_children_only(void)
{
	struct stat own, theirs;

	return !stat("/proc/self/ns/time", &own) &&
	       !stat("/proc/self/ns/time_for_children", &theirs) && own.st_ino != theirs.st_ino;
}

/* Each line of the file has a clock's name, seconds (maybe negative) and nanoseconds (never negative). */
int64_t xiw_clock_lead(void)
{
	static const char name[] = "monotonic";
	int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
	char text[256], *at;
	int64_t s, ns;
	ssize_t n;

	/* A kernel without time namespaces does not have this file. */
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
