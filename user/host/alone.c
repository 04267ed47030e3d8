// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A process ends with its last thread (pthread_exit(3)), and an RNIC's library has no thread. So when main() has ended
 * by pthread_exit(), and only threads of this library are left, the process exits as libc would.
 */
#include "host/alone.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 100000000 /* between two looks at how many threads there are */

static pthread_key_t first_thread;
static unsigned int ours; /* threads of the library that run */

void xiw_host_thread_begins(void)
{
	__atomic_fetch_add(&ours, 1, __ATOMIC_SEQ_CST);
}

void xiw_host_thread_ends(void)
{
	__atomic_fetch_sub(&ours, 1, __ATOMIC_SEQ_CST);
}

/*
 * The directory has two links, and one for each thread, so no descriptor is needed to count them. The first thread is
 * among them until the process ends. One of the library that has not begun yet, or is about to end, counts as the
 * program's. Where links do not count threads, the process stays.
 */
static bool alone(void)
{
	const unsigned int mine = __atomic_load_n(&ours, __ATOMIC_SEQ_CST);
	struct stat tasks;

	return !stat("/proc/self/task", &tasks) && tasks.st_nlink == 2 + 1 + mine;
}

static void *watch(void *arg)
{
	const struct timespec t = { .tv_nsec = LOOK_NS };

	(void)arg;
	xiw_host_thread_begins();
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

/* A process begins with its first thread. That of a child is the thread that has forked, and the library has none. */
static void begins(void)
{
	ours = 0;
	pthread_setspecific(first_thread, &first_thread);
}

void xiw_host_end_with_program(void)
{
	if (pthread_key_create(&first_thread, first_ends))
		return;
	pthread_atfork(NULL, NULL, begins);
	if (gettid() == getpid())
		begins();
}
