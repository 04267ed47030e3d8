// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Threads of a program: those that take another one's events, those that are cancelled, and those with small stacks.
 */
#include "tests/net/programs/verbs_ends.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
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

/* ---- threads that are cancelled ------------------------------------------------------------------ */

static struct side cancelled;
static struct rdma_cm_id *left[3]; /* by threads that were cancelled */

static void registers(void)
{
	ibv_dereg_mr(ibv_reg_mr(cancelled.pd, cancelled.memory, OCTETS, IBV_ACCESS_LOCAL_WRITE));
}

static void looks_for_device(void)
{
	struct sockaddr_in here = cancelled.id->route.addr.src_sin;

	here.sin_port = 0;
	IS(!rdma_create_id(cancelled.channel, &left[0], NULL, RDMA_PS_TCP));
	rdma_bind_addr(left[0], (struct sockaddr *)&here);
}

static void binds(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rdma_cm_id **id = &left[left[1] ? 2 : 1];

	IS(!rdma_create_id(cancelled.channel, id, NULL, RDMA_PS_TCP));
	IS(!rdma_bind_addr(*id, (struct sockaddr *)&any));
	rdma_destroy_id(*id);
}

static void destroys_queues(void)
{
	rdma_destroy_qp(cancelled.id);
}

static void *is_cancelled(void *call)
{
	IS(!pthread_cancel(pthread_self()));
	((void (*)(void))call)();
	/* The call may have no point at which a thread is cancelled. */
	pthread_testcancel();
	return NULL;
}

/* A call of a thread that is cancelled in it, and those of others afterwards. */
static void cancels(void (*call)(void))
{
	pthread_t thread;
	void *ended;

	IS(!pthread_create(&thread, NULL, is_cancelled, (void *)call));
	IS(!pthread_join(thread, &ended) && ended == PTHREAD_CANCELED);
}

/* Whatever a thread was doing when it was cancelled, all others go on. */
static void cancels_each(void)
{
	struct side s = {};

	/* The first thread that needs the engines starts them. */
	resolve(&cancelled, peer_host, (uint16_t)atoi(peer_port));
	cancels(binds);
	add_queues(&cancelled);
	cancels(registers);
	IS(!ibv_dereg_mr(ibv_reg_mr(cancelled.pd, cancelled.memory, OCTETS, 0)));
	cancels(looks_for_device);
	cancels(binds);
	IS(!rdma_connect(cancelled.id, NULL));
	IS(!take_event(cancelled.channel, RDMA_CM_EVENT_ESTABLISHED));
	meet();
	/* It waits for the end of the connection. */
	cancels(destroys_queues);
	connect_side(&s);
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

static void accepts_twice(void)
{
	struct side s = {};

	for (int i = 0; i < 2; i++) {
		accept_side(&s, 0);
		if (!i)
			meet();
		await_end(&s);
		free_side(&s);
	}
}

/* ---- small stacks -------------------------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__ /* which needs room of its own */
#define SMALL_STACK (512 * 1024)
#else
#define SMALL_STACK (32 * 1024)
#endif
#define POLLS_MS 1500 /* longer than it takes until the engine looks at its interfaces again */

static void *polls_in_vain(void *cq)
{
	const uint64_t until = now_ms() + POLLS_MS;

	while (now_ms() < until)
		IS(queue_is_empty(cq));
	return NULL;
}

/* It takes turns of the engine, whatever they have to do. */
static void polls_with_small_stack(void)
{
	pthread_attr_t attr;
	struct side s = {};
	pthread_t thread;

	connect_side(&s);
	IS(!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, SMALL_STACK));
	IS(!pthread_create(&thread, &attr, polls_in_vain, s.cq));
	IS(!pthread_join(thread, NULL));
	IS(!pthread_attr_destroy(&attr));
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

/* ---- a refusal that comes while the queue pair is destroyed -------------------------------------- */

#define REFUSED 200u
#define REFUSED_WITHIN_US 600u /* of the call that connects */
#define CONNECTING 3

/* The last event of each identifier is where its context points. Events leave the channel with their identifiers. */
static void *takes_events(void *channel)
{
	const int fd = ((struct rdma_event_channel *)channel)->fd;
	struct rdma_cm_event *event;

	IS(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
	for (unsigned int ends = 0; ends < CONNECTING * REFUSED;) {
		if (!readable(fd, 1000))
			break; /* the others were destroyed before their events came */
		if (rdma_get_cm_event(channel, &event)) {
			IS(errno == EAGAIN);
			continue;
		}
		__atomic_store_n((int *)event->id->context, 1 + (int)event->event,
				 __ATOMIC_RELEASE);
		ends += event->event == RDMA_CM_EVENT_REJECTED;
		IS(!rdma_ack_cm_event(event));
	}
	return NULL;
}

static void await(const int *last, enum rdma_cm_event_type type)
{
	const uint64_t until = now_ms() + WAIT_MS;

	while (__atomic_load_n(last, __ATOMIC_ACQUIRE) != 1 + (int)type && now_ms() < until)
		sched_yield();
	IS(__atomic_load_n(last, __ATOMIC_ACQUIRE) == 1 + (int)type);
}

static void *destroys_soon(void *channel)
{
	unsigned int seed = (unsigned int)(uintptr_t)&seed;
	struct sockaddr_storage to;
	struct ibv_cq *cq = NULL;

	IS(address_of(peer_host, (uint16_t)atoi(peer_port), &to));
	for (unsigned int i = 0; i < REFUSED; i++) {
		struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 8, 8, 1, 1, 0 } };
		struct rdma_cm_id *id;
		int last = 0;

		IS(!rdma_create_id(channel, &id, &last, RDMA_PS_TCP));
		IS(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000));
		await(&last, RDMA_CM_EVENT_ADDR_RESOLVED);
		IS(!rdma_resolve_route(id, 2000));
		await(&last, RDMA_CM_EVENT_ROUTE_RESOLVED);
		IS(cq || (cq = ibv_create_cq(id->verbs, 100, NULL, NULL, 0)));
		init.send_cq = init.recv_cq = cq;
		IS(!rdma_create_qp(id, NULL, &init) && !rdma_connect(id, NULL));
		usleep(rand_r(&seed) % REFUSED_WITHIN_US);
		rdma_destroy_qp(id);
		IS(!rdma_destroy_id(id));
	}
	IS(!ibv_destroy_cq(cq));
	return NULL;
}

static void destroys_while_refused(void)
{
	struct rdma_event_channel *channel;
	pthread_t events, threads[CONNECTING];

	IS(channel = rdma_create_event_channel());
	IS(!pthread_create(&events, NULL, takes_events, channel));
	for (int i = 0; i < CONNECTING; i++)
		IS(!pthread_create(&threads[i], NULL, destroys_soon, channel));
	for (int i = 0; i < CONNECTING; i++)
		IS(!pthread_join(threads[i], NULL));
	IS(!pthread_join(events, NULL));
	rdma_destroy_event_channel(channel);
	tell(1);
}

static void refuses_all(void)
{
	struct pollfd p = { .fd = listening.channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	while (poll(&p, 1, 1500) == 1) {
		IS(!rdma_get_cm_event(listening.channel, &event));
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			struct rdma_cm_id *id = event->id;

			rdma_reject(id, NULL, 0); /* it may have gone */
			IS(!rdma_ack_cm_event(event) && !rdma_destroy_id(id));
		} else {
			IS(!rdma_ack_cm_event(event));
		}
	}
	IS(told() == 1);
}

const struct verbs_case cases_of_threads[] = {
	{ "slow-accept", connects_often, accepts_slowly },
	{ "cancelled", cancels_each, accepts_twice },
	{ "small-stack", polls_with_small_stack, only_waits },
	{ "refused-and-destroyed", destroys_while_refused, refuses_all },
	{},
};
