// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Threads that wait for an event by reading the queue's descriptor: whatever they have read, it is readable while there
 * is an event, and only then.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "host/host.h"
#include "tests/asleep.h"

#define THREADS 4
#define ROUNDS 300

static struct xiw_host_eq *eq;
static atomic_uint taken;
static atomic_int waiter;

static void set_up(void)
{
	cr_assert(!xiw_host_eq_create(&eq));
	atomic_store(&taken, 0);
	atomic_store(&waiter, 0);
}

TestSuite(host_wait, .init = set_up, .timeout = 60);

static bool readable(void)
{
	struct pollfd p = { .fd = xiw_host_eq_fd(eq), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void post(void)
{
	const struct xiw_host_event e = { .kind = XIW_HOST_OTHER };

	cr_assert(!xiw_host_eq_post(eq, &e));
}

static void *takes(void *arg)
{
	struct xiw_host_event ev;

	(void)arg;
	atomic_store(&waiter, gettid());
	cr_assert_eq(xiw_host_eq_wait(eq, &ev, -1), 1);
	atomic_fetch_add(&taken, 1);
	return NULL;
}

static void until_it_sleeps(void)
{
	while (!asleep(atomic_load(&waiter)))
		usleep(10);
}

/* Half of the events are for a thread that does not wait. */
Test(host_wait, several)
{
	pthread_t threads[THREADS];
	struct xiw_host_event ev;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		unsigned int here = 0;

		atomic_store(&taken, 0);
		for (unsigned int n = 0; n < THREADS; n++)
			cr_assert(!pthread_create(&threads[n], NULL, takes, NULL));
		for (unsigned int n = 0; n < 2 * THREADS; n++) {
			post();
			if (n % 2)
				here += (unsigned int)xiw_host_eq_take(eq, &ev);
		}
		for (unsigned int n = 0; n < THREADS; n++)
			pthread_join(threads[n], NULL);
		for (; here < THREADS; here++) {
			cr_assert(readable());
			cr_assert_eq(xiw_host_eq_take(eq, &ev), 1);
		}
		cr_assert_eq(xiw_host_eq_take(eq, &ev), 0);
		cr_assert(!readable());
	}
	cr_assert(!xiw_host_eq_free(eq));
}

/* The event of a thread that is cancelled when it comes is there for others. */
Test(host_wait, cancelled)
{
	struct xiw_host_event ev;
	unsigned int left = 0;
	pthread_t thread;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		const unsigned int before = atomic_load(&taken);

		atomic_store(&waiter, 0);
		cr_assert(!pthread_create(&thread, NULL, takes, NULL));
		until_it_sleeps();
		if (i % 2)
			post();
		pthread_cancel(thread);
		if (i % 2 == 0)
			post();
		pthread_join(thread, NULL);
		if (atomic_load(&taken) == before) {
			cr_assert(readable());
			cr_assert_eq(xiw_host_eq_take(eq, &ev), 1);
			left++;
		}
		cr_assert(!readable());
	}
	cr_log_info("%u of %u events were left", left, ROUNDS);
	cr_assert(!xiw_host_eq_free(eq));
}

/* A number that the program can get for another file is none that a thread still reads. */
Test(host_wait, closed)
{
	const int fd = xiw_host_eq_fd(eq);
	pthread_t thread;

	cr_assert(!pthread_create(&thread, NULL, takes, NULL));
	until_it_sleeps();
	cr_assert(!xiw_host_eq_free(eq));
	cr_assert(fcntl(fd, F_GETFD) >= 0);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	cr_assert(fcntl(fd, F_GETFD) < 0);
	cr_assert_eq(atomic_load(&taken), 0);
}
