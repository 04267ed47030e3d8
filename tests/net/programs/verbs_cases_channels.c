// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Completion channels: which completions are events, and what becomes of these. */
#include "tests/net/programs/verbs_ends.h"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

/* There is one event. So many are acknowledged. */
static void one_event(struct side *s, unsigned int acked)
{
	struct ibv_cq *cq;
	void *context;

	IS(readable(s->told->fd, WAIT_MS));
	IS(!ibv_get_cq_event(s->told, &cq, &context) && cq == s->cq && context == s);
	if (acked)
		ibv_ack_cq_events(cq, acked);
	IS(!readable(s->told->fd, 0));
}

static _Atomic bool gone;

static void *destroy_cq(void *cq)
{
	IS(!ibv_destroy_cq(cq));
	gone = true;
	return NULL;
}

/* The queue waits until its events are acknowledged. Those that nobody has taken yet are gone. */
static void destroys_queue(struct side *s)
{
	struct ibv_cq *cq;
	pthread_t thread;
	void *context;

	IS(!ibv_get_cq_event(s->told, &cq, &context));
	IS(!ibv_req_notify_cq(cq, 0));
	post_buffers(s, 1); /* which is flushed */
	IS(readable(s->told->fd, WAIT_MS));
	rdma_destroy_qp(s->id);
	IS(!pthread_create(&thread, NULL, destroy_cq, cq));
	while (readable(s->told->fd, 0))
		sched_yield();
	usleep(100000);
	IS(!gone);
	ibv_ack_cq_events(cq, 1);
	IS(!pthread_join(thread, NULL));
	s->cq = NULL;
}

static void is_notified(void)
{
	struct side s = {};

	connect_side(&s);
	post_buffers(&s, 6);
	IS(!ibv_req_notify_cq(s.cq, 0));
	meet();
	one_event(&s, 0); /* for two completions */
	completed(s.cq, 100, IBV_WC_SUCCESS);
	completed(s.cq, 101, IBV_WC_SUCCESS);
	IS(!ibv_req_notify_cq(s.cq, 1));
	meet();
	completed(s.cq, 102, IBV_WC_SUCCESS);
	IS(!readable(s.told->fd, 0)); /* that was not solicited */
	meet();
	one_event(&s, 2);
	completed(s.cq, 103, IBV_WC_SUCCESS);
	/* A failure counts as solicited. */
	IS(!ibv_req_notify_cq(s.cq, 1));
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	destroys_queue(&s);
	IS(!ibv_destroy_comp_channel(s.told));
	free_side(&s);
}

static void notifies(void)
{
	struct side s = {};

	accept_side(&s, 0);
	meet();
	IS(!post(&s, IBV_WR_SEND, 1, 16, 0) && !post(&s, IBV_WR_SEND, 2, 16, 0));
	meet();
	IS(!post(&s, IBV_WR_SEND, 3, 16, 0));
	meet();
	IS(!post(&s, IBV_WR_SEND, 4, 16, IBV_SEND_SOLICITED));
	await_end(&s);
	free_side(&s);
}

/* Two queues on one channel, of a queue pair without a connection. */
static void shares_channel(void)
{
	struct ibv_qp_init_attr init = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr recv = { .wr_id = 7 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = 8 }, *bad_send;
	struct side s = {};
	struct ibv_cq *two[2], *cq;
	unsigned int seen = 0;
	struct ibv_qp *qp;
	void *context;

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	IS((s.pd = ibv_alloc_pd(s.id->verbs)) && (s.told = ibv_create_comp_channel(s.id->verbs)));
	for (int i = 0; i < 2; i++) {
		IS(two[i] = ibv_create_cq(s.id->verbs, 1, &two[i], s.told, 0));
		IS(!ibv_req_notify_cq(two[i], 0));
	}
	init.send_cq = two[0];
	init.recv_cq = two[1];
	IS(qp = ibv_create_qp(s.pd, &init));
	IS(!ibv_post_recv(qp, &recv, &bad_recv));
	IS(!ibv_modify_qp(qp, &error, IBV_QP_STATE));
	IS(!ibv_post_send(qp, &send, &bad_send));
	while (seen != 3) {
		IS(readable(s.told->fd, WAIT_MS) && !ibv_get_cq_event(s.told, &cq, &context));
		IS(context == &two[0] || context == &two[1]);
		IS(*(struct ibv_cq **)context == cq);
		seen |= cq == two[0] ? 1 : 2;
		completed(cq, cq == two[0] ? 8 : 7, IBV_WC_WR_FLUSH_ERR);
		ibv_ack_cq_events(cq, 1);
	}
	IS(!readable(s.told->fd, 0) && !ibv_destroy_qp(qp));
	IS(!ibv_destroy_cq(two[0]) && !ibv_destroy_cq(two[1]));
	IS(!ibv_destroy_comp_channel(s.told));
	free_side(&s);
}

/* ---- edges --------------------------------------------------------------------------------------- */

static void takes_message(struct side *s)
{
	completed(s->cq, 100, IBV_WC_SUCCESS);
	IS(!ibv_req_notify_cq(s->cq, 0));
	post_buffers(s, 1);
}

/* A second event is an edge, too, although the first one has not been taken. */
static void has_edges(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	const int edges = epoll_create1(EPOLL_CLOEXEC);
	struct side s = {};
	struct ibv_cq *cq;
	void *context;

	connect_notified(&s);
	IS(edges >= 0 && !epoll_ctl(edges, EPOLL_CTL_ADD, s.told->fd, &event));
	for (int i = 0; i < 2; i++) {
		tell(1);
		IS(epoll_wait(edges, &event, 1, WAIT_MS) == 1);
		takes_message(&s);
	}
	IS(epoll_wait(edges, &event, 1, 0) == 0);
	for (int i = 0; i < 2; i++)
		IS(!ibv_get_cq_event(s.told, &cq, &context));
	ibv_ack_cq_events(s.cq, 2);
	IS(!readable(s.told->fd, 0) && !close(edges));
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

static void makes_edges(void)
{
	struct side s = {};

	accept_side(&s, 0);
	for (int i = 0; i < 2; i++) {
		IS(told() == 1);
		IS(!post(&s, IBV_WR_SEND, 1, 64, IBV_SEND_SIGNALED));
		completed(s.cq, 1, IBV_WC_SUCCESS);
	}
	await_end(&s);
	free_side(&s);
}

const struct verbs_case cases_of_channels[] = {
	{ "edges", has_edges, makes_edges },
	{ "completion-channel", is_notified, notifies },
	{ "shared-channel", shares_channel, NULL },
	{},
};
