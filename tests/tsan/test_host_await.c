// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Threads that wait for events take turns of the engine: one that is alone, several, and one that signals interrupt.
 * Those that are cancelled, which ThreadSanitizer cannot follow, are in tests/unit/test_host_await.c.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/pairs.h"

static atomic_bool over;

static void messages(const char *name, unsigned int pairs, wait_fn asking, wait_fn answering)
{
	for (unsigned int i = 0; i < pairs; i++) {
		begin(&ends[i][1], answers, answering);
		begin(&ends[i][0], asks, asking);
	}
	for (unsigned int i = 0; i < pairs; i++) {
		pthread_join(ends[i][0].thread, NULL);
		pthread_join(ends[i][1].thread, NULL);
	}
	printf("PASS %s\n", name);
	fflush(stdout);
}

static void nothing(int sig)
{
	(void)sig;
}

static void *disturbs(void *arg)
{
	while (!atomic_load(&over)) {
		pthread_kill(*(pthread_t *)arg, SIGUSR1);
		usleep(200);
	}
	return NULL;
}

/* A signal ends a wait, and the engine goes on. */
static void signals(void)
{
	const struct sigaction sa = { .sa_handler = nothing };
	pthread_t main_thread = pthread_self(), thread;

	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	begin(&ends[0][1], answers, waits);
	CHECK(!pthread_create(&thread, NULL, disturbs, &main_thread));
	ends[0][0].wait = xiw_host_eq_await;
	for (interrupted = 0; interrupted < 20;)
		there_and_back(&ends[0][0], 20);
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	say(&ends[0][0], 0);
	pthread_join(ends[0][1].thread, NULL);
	printf("PASS signals\n");
	fflush(stdout);
}

int main(void)
{
	start();
	messages("one-waits", 1, xiw_host_eq_await, waits);
	messages("both-wait", 1, xiw_host_eq_await, xiw_host_eq_await);
	messages("many-wait", PAIRS, xiw_host_eq_await, xiw_host_eq_await);
	signals();
	stop();
	return 0;
}
