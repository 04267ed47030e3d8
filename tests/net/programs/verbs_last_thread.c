// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * verbs_last_thread - listens, and ends by pthread_exit() in main() and then in its other thread, which prints a word.
 * With an RNIC the process ends with that one.
 */
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include "tests/net/lib/common.h"

static void *last(void *arg)
{
	usleep(300000);
	puts("last");
	return arg;
}

int main(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	pthread_t thread;

	IS(channel = rdma_create_event_channel());
	IS(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	IS(!rdma_bind_addr(id, (struct sockaddr *)&any) && !rdma_listen(id, 1));
	IS(!pthread_create(&thread, NULL, last, NULL));
	pthread_exit(NULL);
}
