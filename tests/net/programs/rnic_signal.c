// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rnic_signal ADDRESS: signals come to a thread that waits for events of ours and of an RNIC. ADDRESS is of a device of
 * ours.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/asleep.h"

#define KICKS 20

static struct rdma_event_channel *channel;
static atomic_uint handled;
static atomic_int waiter;
static atomic_bool over;

static void handle(int number)
{
	(void)number;
	handled++;
}

static void *waits(void *arg)
{
	struct rdma_cm_event *event;
	int *why = arg;

	waiter = gettid();
	*why = rdma_get_cm_event(channel, &event) ? errno : 0;
	if (!*why)
		rdma_ack_cm_event(event);
	over = true;
	return NULL;
}

/* Returns what the wait came to: an errno, or 0 if it has got the event that comes behind the signals. */
static int wait_with(int flags, struct rdma_cm_id *id, struct sockaddr *addr)
{
	const struct sigaction action = { .sa_handler = handle, .sa_flags = flags };
	pthread_t thread;
	int why = -1;

	waiter = 0;
	over = false;
	sigaction(SIGUSR1, &action, NULL);
	if (pthread_create(&thread, NULL, waits, &why))
		exit(1);
	for (unsigned int i = 0; i < KICKS; i++) {
		const unsigned int before = handled;

		while (!over && !asleep(waiter))
			;
		if (over)
			break;
		pthread_kill(thread, SIGUSR1);
		while (!over && handled == before)
			;
	}
	if (!over && rdma_resolve_addr(id, NULL, addr, 1000))
		exit(1);
	pthread_join(thread, NULL);
	return why;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(7400) };
	struct rdma_cm_id *id;

	channel = rdma_create_event_channel();
	if (argc != 2 || !inet_aton(argv[1], &addr.sin_addr) || !channel ||
	    rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		return 1;
	printf("without SA_RESTART: %s\n", strerror(wait_with(0, id, (struct sockaddr *)&addr)));
	printf("with SA_RESTART: %s\n",
	       strerror(wait_with(SA_RESTART, id, (struct sockaddr *)&addr)));
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	return 0;
}
