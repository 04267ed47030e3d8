// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Threads of a program: those that take another one's events. */
#include "tests/net/programs/verbs_ends.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

/* ---- the events of a call that has not returned -------------------------------------------------- */

#define MANY 100

/* As soon as a connection is there, it can be ended. */
static void *ends_each(void *channel)
{
	struct rdma_cm_event *event;

	for (int i = 0; i < MANY; i++) {
		event = get_event(channel, RDMA_CM_EVENT_ESTABLISHED);
		IS(!rdma_disconnect(event->id));
		IS(event->id->route.addr.src_storage.ss_family == AF_INET);
		IS(!rdma_ack_cm_event(event));
		IS(!take_event(channel, RDMA_CM_EVENT_DISCONNECTED));
		tell(0);
	}
	return NULL;
}

/* The thread that accepts gives way to all others, so that most events are taken before its call returns. */
static void accepts_slowly(void)
{
	const struct sched_param param = {};
	struct rdma_event_channel *channel;
	pthread_t thread;
	struct side s;

	IS(channel = rdma_create_event_channel());
	IS(!pthread_create(&thread, NULL, ends_each, channel));
	for (int i = 0; i < MANY; i++) {
		s = (struct side){};
		get_request(&s);
		add_queues(&s);
		IS(!rdma_migrate_id(s.id, channel));
		s.channel = listening.channel;
		IS(!pthread_setschedparam(pthread_self(), SCHED_IDLE, &param));
		IS(!rdma_accept(s.id, NULL));
		IS(told() == 1);
		free_side(&s);
	}
	IS(!pthread_join(thread, NULL));
	rdma_destroy_event_channel(channel);
}

static void connects_often(void)
{
	struct side s = {};

	for (int i = 0; i < MANY; i++) {
		connect_side(&s);
		await_end(&s);
		free_side(&s);
		IS(told() == 0);
		tell(1);
	}
}

const struct verbs_case cases_of_threads[] = {
	{ "slow-accept", connects_often, accepts_slowly },
	{},
};
