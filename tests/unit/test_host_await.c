// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Threads that wait for an event, and take turns of the engine meanwhile: they are cancelled, or lose their queue. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/asleep.h"
#include "tests/pairs.h"

static atomic_int waiter; /* the thread that waits in vain */

/* Waits while others' messages come, for an event that does not. */
static void *waits_in_vain(void *arg)
{
	struct xiw_host_event ev;

	atomic_store(&waiter, gettid());
	CHECK(xiw_host_eq_await(arg, &ev) == -EINTR);
	atomic_store(&waiter, 0);
	return NULL;
}

/* Whoever is cancelled leaves nothing behind: neither a lock, nor the frames. */
Test(host_await, cancelled, .timeout = 120)
{
	struct xiw_host_eq *never;
	pthread_t thread;

#ifdef __SANITIZE_ADDRESS__
	cr_skip_test("AddressSanitizer does not know that a cancelled thread leaves its stack");
#endif
	start();
	CHECK(!xiw_host_eq_create(&never));
	begin(&ends[0][1], answers, waits);
	for (unsigned int i = 0; i < 150; i++) {
		CHECK(!pthread_create(&thread, NULL, waits_in_vain, never));
		ends[0][0].wait = i % 3 ? waits : xiw_host_eq_await;
		there_and_back(&ends[0][0], i % 16);
		pthread_cancel(thread);
		there_and_back(&ends[0][0], 2);
		pthread_join(thread, NULL);
		ends[0][0].wait = xiw_host_eq_await;
		there_and_back(&ends[0][0], i % 8);
	}
	say(&ends[0][0], 0);
	pthread_join(ends[0][1].thread, NULL);
	CHECK(!xiw_host_eq_free(never));
	stop();
}

/* Nothing but its wait lets it sleep. */
static void until_it_sleeps(void)
{
	while (!asleep(atomic_load(&waiter)))
		sched_yield();
}

static void nothing(int sig)
{
	(void)sig;
}

/* Who waits for a queue that is freed waits on, and touches it no more. */
Test(host_await, freed, .timeout = 120)
{
	struct xiw_host_eq *never;
	const struct sigaction sa = { .sa_handler = nothing };
	pthread_t thread;

	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	start();
	begin(&ends[0][1], answers, waits);
	ends[0][0].wait = waits;
	for (unsigned int i = 0; i < 50; i++) {
		CHECK(!xiw_host_eq_create(&never));
		CHECK(!pthread_create(&thread, NULL, waits_in_vain, never));
		until_it_sleeps();
		there_and_back(&ends[0][0], i % 16);
		CHECK(!xiw_host_eq_free(never));
		there_and_back(&ends[0][0], 20);
		while (atomic_load(&waiter)) {
			pthread_kill(thread, SIGUSR1);
			usleep(100);
		}
		pthread_join(thread, NULL);
	}
	say(&ends[0][0], 0);
	pthread_join(ends[0][1].thread, NULL);
	stop();
}
