// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A process ends with its last thread (pthread_exit(3)), and an RNIC's library has no thread. So when main() has ended
 * by pthread_exit(), and only threads of this library are left, the process exits as libc would.
 */
#include "host/alone.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 100000000 /* between two looks at the threads */

static pthread_key_t first_thread;

/* Threads of the library, and of the kernel for io_uring. */
static bool is_ours(const char *tid)
{
	char path[64], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", tid);
	f = fopen(path, "re");
	if (!f)
		return true; /* it has just ended */
	if (!fgets(name, sizeof(name), f))
		name[0] = '\0';
	fclose(f);
	return !strncmp(name, "xiwarp/", 7) || !strncmp(name, "iou-", 4);
}

/* The first thread stays on the list until the process ends. */
static bool alone(void)
{
	const struct dirent *d;
	DIR *dir = opendir("/proc/self/task");
	bool other = !dir;

	while (dir && !other && (d = readdir(dir)))
		other = d->d_name[0] != '.' && atoi(d->d_name) != getpid() && !is_ours(d->d_name);
	if (dir)
		closedir(dir);
	return !other;
}

static void *watch(void *arg)
{
	const struct timespec t = { .tv_nsec = LOOK_NS };

	(void)arg;
	while (!alone())
		nanosleep(&t, NULL);
	exit(0);
}

/* The first thread ends, and the process does not. */
static void first_ends(void *arg)
{
	sigset_t every;
	pthread_t thread;

	(void)arg;
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, NULL);
	if (pthread_create(&thread, NULL, watch, NULL))
		return;
	pthread_setname_np(thread, "xiwarp/last");
	pthread_detach(thread);
}

void xiw_host_end_with_program(void)
{
	if (gettid() == getpid() && !pthread_key_create(&first_thread, first_ends))
		pthread_setspecific(first_thread, &first_thread);
}
