// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * verbs_first_use - processes that cancel a thread within what may be the library's first calls, some microseconds
 * later each time, and then use it. A thread that was cancelled with a lock of the library would have taken it along.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/net/lib/common.h"

#define PROCESSES 60
#define STEP_US 60
#define LIMIT_S 20

static void use(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct ibv_device **list;
	struct ibv_context *context;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;

	IS(channel = rdma_create_event_channel());
	IS(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	IS((list = ibv_get_device_list(NULL)) && list[0]);
	IS(context = ibv_open_device(list[0]));
	IS(!rdma_bind_addr(id, (struct sockaddr *)&any) && !rdma_listen(id, 1));
	IS(!ibv_close_device(context));
	IS(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

static void *cancelled(void *arg)
{
	while (true)
		use();
	return arg;
}

static void process(unsigned int us)
{
	pthread_t thread;

	alarm(LIMIT_S);
	IS(!pthread_create(&thread, NULL, cancelled, NULL));
	usleep(us);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	use();
	_exit(0);
}

int main(void)
{
	for (unsigned int i = 0; i < PROCESSES; i++) {
		int status;

		if (!fork())
			process(i * STEP_US);
		IS(wait(&status) > 0);
		if (status)
			die("cancelled after %u us: status %#x", i * STEP_US, (unsigned int)status);
	}
	return 0;
}
