// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Signals that come to a thread that waits in a call. With the libraries of RDMA hardware it waits in read() or
 * write(), so the call goes on after a handler with SA_RESTART, and fails with EINTR after another one.
 */
#include "tests/net/programs/verbs_ends.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/asleep.h"

#define KICKS 20

struct waiter {
	int (*call)(void *arg);
	void *arg;
	_Atomic pid_t tid;
	atomic_bool over;
	int rc, err;
};

static atomic_uint handled;

static void handle(int number)
{
	(void)number;
	atomic_fetch_add(&handled, 1);
}

static void install(int number, int flags)
{
	const struct sigaction action = { .sa_handler = handle, .sa_flags = flags };

	IS(!sigaction(number, &action, NULL));
}

static void *waits(void *arg)
{
	struct waiter *w = arg;

	w->tid = gettid();
	w->rc = w->call(w->arg);
	w->err = errno;
	w->over = true;
	return NULL;
}

/* A signal for the thread while it sleeps, unless its call is over. */
static void kick(struct waiter *w, pthread_t thread, int number)
{
	const unsigned int before = handled;
	const uint64_t until = now_ms() + WAIT_MS;

	while (!w->over && !asleep(w->tid))
		IS(now_ms() < until);
	if (w->over)
		return;
	IS(!pthread_kill(thread, number));
	while (!w->over && handled == before)
		IS(now_ms() < until);
}

static void at_once(void)
{
}

/* The call fails by the signal, which comes when comes() has returned. */
static void fails(int (*call)(void *arg), void *arg, int number, void (*comes)(void))
{
	struct waiter w = { .call = call, .arg = arg };
	pthread_t thread;

	IS(!pthread_create(&thread, NULL, waits, &w));
	comes();
	while (!w.over)
		kick(&w, thread, number);
	IS(!pthread_join(thread, NULL));
	errno = w.err;
	IS(w.rc == -1 && w.err == EINTR);
}

/* The call goes on, and succeeds when happens() has been called. */
static void goes_on(int (*call)(void *arg), void *arg, int number, void (*happens)(void *arg))
{
	struct waiter w = { .call = call, .arg = arg };
	pthread_t thread;

	IS(!pthread_create(&thread, NULL, waits, &w));
	for (int i = 0; i < KICKS; i++)
		kick(&w, thread, number);
	errno = w.err;
	IS(!w.over);
	happens(arg);
	IS(!pthread_join(thread, NULL));
	errno = w.err;
	IS(!w.rc);
}

/* ---- events of connections, which the program has both kinds of handlers for ------------------------------------ */

static int gets_cm_event(void *s)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(((struct side *)s)->channel, &event))
		return -1;
	return rdma_ack_cm_event(event);
}

static void resolves(void *s)
{
	IS(!rdma_resolve_route(((struct side *)s)->id, 2000));
}

static void waits_for_cm(void)
{
	struct side s = {};

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	install(SIGUSR1, SA_RESTART);
	install(SIGUSR2, 0);
	fails(gets_cm_event, &s, SIGUSR2, at_once);
	goes_on(gets_cm_event, &s, SIGUSR1, resolves);
	free_side(&s);
}

/* ---- events of devices ------------------------------------------------------------------------------------------- */

static int gets_async_event(void *s)
{
	struct ibv_async_event event;

	if (ibv_get_async_event(((struct side *)s)->id->verbs, &event))
		return -1;
	ibv_ack_async_event(&event);
	return 0;
}

static void ends_queue(void *s)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };

	IS(!ibv_modify_qp(((struct side *)s)->id->qp, &error, IBV_QP_STATE));
}

static void waits_for_async(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct side s = {};

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	IS(s.pd = ibv_alloc_pd(s.id->verbs));
	IS(s.srq = ibv_create_srq(s.pd, &init));
	add_queues(&s);
	install(SIGUSR1, SA_RESTART);
	install(SIGUSR2, 0);
	fails(gets_async_event, &s, SIGUSR2, at_once);
	goes_on(gets_async_event, &s, SIGUSR1, ends_queue);
	free_side(&s);
}

/* ---- events of completion queues --------------------------------------------------------------------------------- */

static int gets_cq_event(void *s)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(((struct side *)s)->told, &cq, &context))
		return -1;
	ibv_ack_cq_events(cq, 1);
	return 0;
}

static void asks_message(void *s)
{
	(void)s;
	tell(1);
}

/* A handler for a fault is no reason to end a wait. */
static void waits_for_cq(void)
{
	struct side s = {};

	connect_side(&s);
	post_buffers(&s, 1);
	IS(!ibv_req_notify_cq(s.cq, 0));
	install(SIGSEGV, 0);
	install(SIGUSR1, 0);
	fails(gets_cq_event, &s, SIGUSR1, at_once);
	install(SIGUSR1, SA_RESTART);
	goes_on(gets_cq_event, &s, SIGUSR1, asks_message);
	completed(s.cq, 100, IBV_WC_SUCCESS);
	/* With another kind of handler beside it, nobody knows which one has run. */
	install(SIGUSR2, 0);
	fails(gets_cq_event, &s, SIGUSR2, at_once);
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

static void sends_when_told(void)
{
	struct side s = {};

	accept_side(&s, 0);
	IS(told() == 1);
	IS(!post(&s, IBV_WR_SEND, 1, 16, IBV_SEND_SIGNALED));
	completed(s.cq, 1, IBV_WC_SUCCESS);
	await_end(&s);
	free_side(&s);
}

/* ---- identifiers without a channel ------------------------------------------------------------------------------- */

static int connects(void *id)
{
	return rdma_connect(id, NULL);
}

static void asks_accept(void *id)
{
	(void)id;
	tell(1);
}

static struct rdma_cm_id *about_to_connect(void)
{
	struct ibv_qp_init_attr init = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct sockaddr_storage to;
	struct rdma_cm_id *id;

	IS(address_of(peer_host, (uint16_t)atoi(peer_port), &to));
	IS(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	IS(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000));
	IS(!rdma_resolve_route(id, 2000));
	IS(!rdma_create_qp(id, NULL, &init));
	return id;
}

static void waits_for_peer(void)
{
	struct rdma_cm_id *id = about_to_connect();

	install(SIGUSR1, SA_RESTART);
	install(SIGUSR2, 0);
	fails(connects, id, SIGUSR2, meet);
	rdma_destroy_ep(id);
	id = about_to_connect();
	goes_on(connects, id, SIGUSR1, asks_accept);
	IS(!rdma_disconnect(id));
	rdma_destroy_ep(id);
}

static void accepts_when_told(void)
{
	struct side s = {};

	get_request(&s);
	meet();
	IS(told() == 1);
	IS(!rdma_destroy_id(s.id));
	accept_side(&s, 0);
	await_end(&s);
	free_side(&s);
}

const struct verbs_case cases_of_signals[] = {
	{ "signal-cm-event", waits_for_cm, NULL },
	{ "signal-async-event", waits_for_async, NULL },
	{ "signal-cq-event", waits_for_cq, sends_when_told },
	{ "signal-connect", waits_for_peer, accepts_when_told },
	{},
};
