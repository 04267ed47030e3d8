// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * verbs_last_thread [HOW] - listens, and ends by pthread_exit() in main() and then in its other thread, which prints a
 * word. With an RNIC the process ends with that one.
 *
 *   chain   each of many threads begins the next one before it ends, and the last one prints the word
 *   child   all this is in a child that another thread than the first has forked
 */
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/net/lib/common.h"

#define CHAIN 2000
#define LIMIT_S 20

static void *last(void *arg)
{
	usleep(300000);
	puts("last");
	return arg;
}

static void *link_of_chain(void *arg)
{
	const uintptr_t left = (uintptr_t)arg;
	pthread_t next;

	if (left) {
		IS(!pthread_create(&next, NULL, link_of_chain, (void *)(left - 1)));
		pthread_detach(pthread_self());
		return NULL;
	}
	return last(NULL);
}

static void use(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;

	IS(channel = rdma_create_event_channel());
	IS(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	IS(!rdma_bind_addr(id, (struct sockaddr *)&any) && !rdma_listen(id, 1));
}

static void use_and_end(bool chain)
{
	pthread_t thread;

	use();
	IS(!pthread_create(&thread, NULL, chain ? link_of_chain : last, (void *)CHAIN));
	pthread_exit(NULL);
}

static void *fork_one(void *arg)
{
	int status;

	if (!fork()) {
		alarm(LIMIT_S);
		use_and_end(false);
	}
	IS(wait(&status) > 0 && !status);
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t thread;

	if (strcmp(how, "child"))
		use_and_end(!strcmp(how, "chain"));
	IS(!pthread_create(&thread, NULL, fork_one, NULL));
	pthread_join(thread, NULL);
	return 0;
}
