// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <unistd.h>

/* As many queue pairs as a device has, and what the program had before. Some programs close all that they may have. */
#define MOST (65536u + FD_SETSIZE)

/* With xiw_host_lock, or while a single thread starts the engines. */
static struct {
	rlim_t before, raised; /* soft limits; 0: it was not raised */
} limit;

/* While there are no engines yet, the kernel's table of descriptors grows without a wait for other threads. */
static void grow(void)
{
	int fd = eventfd(0, EFD_CLOEXEC),
	    high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FD_SETSIZE);

	if (high >= 0)
		close(high);
	if (fd >= 0)
		close(fd);
}

void xiw_host_files_raise(void)
{
	struct rlimit l;
	rlim_t before;

	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur >= MOST || l.rlim_cur >= l.rlim_max)
		return;
	before = l.rlim_cur;
	l.rlim_cur = l.rlim_max < MOST ? l.rlim_max : MOST;
	if (setrlimit(RLIMIT_NOFILE, &l))
		return;
	limit.before = before;
	limit.raised = l.rlim_cur;
	grow();
}

void xiw_host_files_restore(void)
{
	struct rlimit l;

	/* Another limit is the program's own. */
	if (limit.raised && !getrlimit(RLIMIT_NOFILE, &l) && l.rlim_cur == limit.raised) {
		l.rlim_cur = limit.before;
		setrlimit(RLIMIT_NOFILE, &l);
	}
	limit.raised = 0;
}

/* Each of the two is said once. */
void xiw_host_files_refused(int err)
{
	static bool said_files, said_users;
	struct rlimit l = {};

	if (err != -EMFILE && err != -ENFILE && err != -EUSERS)
		return;
	if (__atomic_exchange_n(err == -EUSERS ? &said_users : &said_files, true, __ATOMIC_RELAXED))
		return;
	getrlimit(RLIMIT_NOFILE, &l);
	if (err == -EMFILE)
		fprintf(stderr,
			"xiwarp: no descriptor is left for a connection: the limit is %llu (ulimit "
			"-Hn, "
			"LimitNOFILE=)\n",
			(unsigned long long)l.rlim_cur);
	else if (err == -ENFILE)
		fprintf(stderr,
			"xiwarp: no descriptor is left for a connection: the host's limit is "
			"reached (sysctl fs.file-max)\n");
	else
		fprintf(stderr,
			"xiwarp: connections are refused: too many wait for the program's answer "
			"(a "
			"larger backlog allows more, up to half of the %llu descriptors, ulimit "
			"-Hn)\n",
			(unsigned long long)l.rlim_cur);
}
