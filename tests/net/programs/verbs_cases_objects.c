// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Completion queues, shared receive queues, endpoints, forks, and the end of a process. */
#include "tests/net/programs/verbs_ends.h"

#include <netdb.h>
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include <sys/wait.h>
#include <unistd.h>

static void waits_for_end(void)
{
	struct side s = {};

	accept_side(&s, 8);
	meet();
	await_end(&s);
	free_side(&s);
}

static void ends(struct side *s)
{
	IS(!rdma_disconnect(s->id));
	await_end(s);
	free_side(s);
}

/* ---- objects in use ------------------------------------------------------------------------------ */

static void keeps_in_use(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct side s = {};

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	IS(s.pd = ibv_alloc_pd(s.id->verbs));
	IS(s.srq = ibv_create_srq(s.pd, &init));
	add_queues(&s);
	IS(!rdma_connect(s.id, NULL));
	IS(!take_event(s.channel, RDMA_CM_EVENT_ESTABLISHED));
	IS(ibv_destroy_cq(s.cq) == EBUSY);
	IS(ibv_destroy_comp_channel(s.told) == EBUSY);
	IS(ibv_destroy_srq(s.srq) == EBUSY);
	IS(ibv_dealloc_pd(s.pd) == EBUSY);
	IS(!post(&s, IBV_WR_SEND, 1, 16, IBV_SEND_SIGNALED));
	completed(s.cq, 1, IBV_WC_SUCCESS);
	meet();
	ends(&s);
}

/* ---- a completion queue that is too small -------------------------------------------------------- */

/* It loses nothing: it grows. */
static void overruns(struct side *s)
{
	IS(!ibv_resize_cq(s->cq, 1));
	meet();
	for (unsigned int i = 0; i < DEPTH; i++)
		IS(!post(s, IBV_WR_SEND, i, 16, IBV_SEND_SIGNALED));
	meet();
	IS(!rdma_disconnect(s->id));
	await_end(s);
	for (unsigned int i = 0, sends = 0, buffers = 100; i < 2 * DEPTH; i++) {
		struct ibv_wc wc = completion(s->cq);

		IS(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR);
		IS(wc.wr_id == (wc.wr_id < 100 ? sends++ : buffers++));
	}
	IS(queue_is_empty(s->cq));
	free_side(s);
}

static void active_overruns(void)
{
	struct side s = {};

	connect_side(&s);
	post_buffers(&s, DEPTH);
	overruns(&s);
}

static void passive_overruns(void)
{
	struct side s = {};

	accept_side(&s, DEPTH);
	overruns(&s);
}

/* ---- threads ------------------------------------------------------------------------------------- */

static void *take_events(void *told)
{
	struct ibv_wc wc;
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(told, &cq, &context)) {
		/* Somebody may destroy the queue meanwhile: it waits. */
		ibv_poll_cq(cq, 1, &wc);
		ibv_ack_cq_events(cq, 1);
		if (*(bool *)context)
			break;
	}
	return NULL;
}

/* A thread takes events and completions while another one destroys what they belong to. */
static void races(void)
{
	struct ibv_qp_init_attr init = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr recv = {}, *bad;
	static bool last;
	struct side s = {};
	pthread_t thread;

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	IS((s.pd = ibv_alloc_pd(s.id->verbs)) && (s.told = ibv_create_comp_channel(s.id->verbs)));
	IS(!pthread_create(&thread, NULL, take_events, s.told));
	for (int i = 0; i < 1000; i++) {
		struct ibv_cq *cq = ibv_create_cq(s.id->verbs, 1, &last, s.told, 0);
		struct ibv_qp *qp;

		last = i == 999;
		init.send_cq = init.recv_cq = cq;
		IS(cq && !ibv_req_notify_cq(cq, 0));
		IS(qp = ibv_create_qp(s.pd, &init));
		IS(!ibv_post_recv(qp, &recv, &bad));
		IS(!ibv_modify_qp(qp, &error, IBV_QP_STATE));
		if (last)
			IS(!pthread_join(thread, NULL));
		IS(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
	}
	IS(!ibv_destroy_comp_channel(s.told));
	free_side(&s);
}

static void *works(void *side)
{
	struct side *s = side;
	struct ibv_wc wc;

	for (;;) {
		post(s, IBV_WR_SEND, 1, 16, IBV_SEND_SIGNALED);
		ibv_poll_cq(s->cq, 1, &wc);
	}
	return NULL;
}

/* The process ends while another thread works. */
static void exits(void)
{
	static struct side s;
	pthread_t thread;

	connect_side(&s);
	IS(!pthread_create(&thread, NULL, works, &s));
	meet();
	exit(0);
}

static void takes_until_end(void)
{
	struct side s = {};

	accept_side(&s, 8);
	meet();
	/* The end is behind all that was sent, for which there must be buffers. */
	while (!readable(s.channel->fd, 0))
		if (!queue_is_empty(s.cq))
			post_buffers(&s, 1);
	await_end(&s);
	free_side(&s);
}

/* ---- shared receive queues ----------------------------------------------------------------------- */

static void shares_buffers(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct ibv_recv_wr wr = {}, *bad = NULL;
	struct ibv_async_event event;
	struct side s = {};

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	IS(s.pd = ibv_alloc_pd(s.id->verbs));
	IS(s.srq = ibv_create_srq(s.pd, &init));
	add_queues(&s);
	post_buffers(&s, 4);
	IS(ibv_post_srq_recv(s.srq, &wr, &bad) == ENOMEM && bad == &wr);
	IS(ibv_post_recv(s.id->qp, &wr, &bad) == EINVAL && bad == &wr);
	IS(!ibv_modify_srq(s.srq, &attr, IBV_SRQ_LIMIT));
	IS(!ibv_query_srq(s.srq, &attr) && attr.srq_limit == 2);
	IS(!rdma_connect(s.id, NULL));
	IS(!take_event(s.channel, RDMA_CM_EVENT_ESTABLISHED));
	IS(!readable(s.id->verbs->async_fd, 0));
	meet();
	for (unsigned int i = 0; i < 2; i++)
		IS(completion(s.cq).status == IBV_WC_SUCCESS);
	/* As many as the limit says are left, which are not fewer. */
	IS(!readable(s.id->verbs->async_fd, 0));
	meet();
	IS(completion(s.cq).status == IBV_WC_SUCCESS);
	IS(readable(s.id->verbs->async_fd, WAIT_MS));
	IS(!ibv_get_async_event(s.id->verbs, &event));
	IS(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == s.srq);
	ibv_ack_async_event(&event);
	/* Once: the limit is none now. */
	IS(!ibv_query_srq(s.srq, &attr) && !attr.srq_limit);
	IS(!readable(s.id->verbs->async_fd, 0));
	ends(&s);
}

static void fills_buffers(void)
{
	struct side s = {};

	accept_side(&s, 0);
	meet();
	IS(!post(&s, IBV_WR_SEND, 0, 16, 0) && !post(&s, IBV_WR_SEND, 1, 16, 0));
	meet();
	IS(!post(&s, IBV_WR_SEND, 2, 16, 0));
	await_end(&s);
	free_side(&s);
}

/* ---- fork ---------------------------------------------------------------------------------------- */

/* The device that the parent has opened is open for the child, too, whose events come to the child. */
static void has_events(const struct side *s)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 1 };
	struct ibv_async_event event;
	struct ibv_srq *srq;

	IS(srq = ibv_create_srq(s->pd, &init));
	IS(!ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT));
	IS(!ibv_get_async_event(s->id->verbs, &event) && event.element.srq == srq);
	ibv_ack_async_event(&event);
	IS(!ibv_destroy_srq(srq));
}

/* Everything of the parent is dead, and nothing hangs; what the child makes itself lives. */
static void child(struct side *s)
{
	struct rdma_cm_event *event;
	struct side own = {};

	IS(rdma_get_cm_event(s->channel, &event) == -1);
	IS(queue_is_empty(s->cq) && ibv_req_notify_cq(s->cq, 0) == ECANCELED);
	IS(post(s, IBV_WR_SEND, 1, 16, 0) == ECANCELED);
	IS(rdma_disconnect(s->id) == -1);
	free_side(s);
	connect_side(&own);
	has_events(&own);
	IS(!post(&own, IBV_WR_SEND, 1, 16, IBV_SEND_SIGNALED));
	completed(own.cq, 1, IBV_WC_SUCCESS);
	ends(&own);
	exit(0);
}

static void forks(void)
{
	struct side s = {};
	int status;
	pid_t pid;

	connect_side(&s);
	pid = fork();
	IS(pid >= 0);
	if (!pid)
		child(&s);
	IS(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	IS(!readable(s.channel->fd, 0));
	IS(!post(&s, IBV_WR_SEND, 1, 16, IBV_SEND_SIGNALED));
	completed(s.cq, 1, IBV_WC_SUCCESS);
	meet();
	ends(&s);
}

static void serves_family(void)
{
	struct side parent = {}, own = {};

	accept_side(&parent, 1);
	accept_side(&own, 1);
	completed(own.cq, 100, IBV_WC_SUCCESS);
	await_end(&own);
	free_side(&own);
	completed(parent.cq, 100, IBV_WC_SUCCESS);
	meet();
	await_end(&parent);
	free_side(&parent);
}

/* ---- synchronous endpoints ----------------------------------------------------------------------- */

static struct rdma_cm_id *endpoint(int flags, const char *at)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 16 }, .sq_sig_all = 1 };
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP }, *res;
	struct rdma_cm_id *id;

	IS(!rdma_getaddrinfo(peer_host, at, &hints, &res));
	IS(!rdma_create_ep(&id, res, NULL, &init));
	rdma_freeaddrinfo(res);
	return id;
}

/* Codes of getaddrinfo() are returned as they are. */
static void looks_up_nothing(void)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;

	IS(rdma_getaddrinfo(peer_host, "no such service", &hints, &res) == EAI_SERVICE);
	hints.ai_flags = RAI_NUMERICHOST;
	IS(rdma_getaddrinfo("no address", "1", &hints, &res) == EAI_NONAME);
	IS(rdma_getaddrinfo(NULL, NULL, NULL, &res) == -1 && errno == EINVAL);
}

static void connects_endpoint(void)
{
	char at[12], plain[12], octets[16] = "synchronous";
	struct rdma_cm_id *id;
	struct ibv_wc wc;

	looks_up_nothing();
	snprintf(at, sizeof(at), "%d", atoi(peer_port) + 2);
	id = endpoint(0, at);
	IS(told() == 1);
	IS(rdma_connect(id, NULL) == -1 && errno == ECONNREFUSED);
	rdma_destroy_ep(id);
	/* A peer that resets the connection has refused it, too. */
	snprintf(plain, sizeof(plain), "%d", atoi(peer_port) + 3);
	id = endpoint(0, plain);
	IS(rdma_connect(id, NULL) == -1 && errno == ECONNREFUSED);
	rdma_destroy_ep(id);
	id = endpoint(0, at);
	IS(!rdma_connect(id, NULL));
	IS(!rdma_post_send(id, NULL, octets, sizeof(octets), NULL, IBV_SEND_INLINE));
	IS(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	IS(!rdma_disconnect(id) && !rdma_disconnect(id));
	rdma_destroy_ep(id);
}

static void resets_one(int listener)
{
	const struct linger none = { .l_onoff = 1 };
	int fd = accept(listener, NULL, NULL);

	IS(fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)));
	close(fd);
	close(listener);
}

static void serves_endpoint(void)
{
	int plain = listen_on((uint16_t)(atoi(peer_port) + 3));
	char at[12], *octets = calloc(1, 16);
	struct rdma_cm_id *listen_id, *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	snprintf(at, sizeof(at), "%d", atoi(peer_port) + 2);
	listen_id = endpoint(RAI_PASSIVE, at);
	IS(!rdma_listen(listen_id, 4));
	tell(1);
	IS(!rdma_get_request(listen_id, &id) && !rdma_reject(id, NULL, 0));
	rdma_destroy_ep(id);
	resets_one(plain);
	IS(!rdma_get_request(listen_id, &id));
	IS(mr = rdma_reg_msgs(id, octets, 16));
	IS(!rdma_post_recv(id, NULL, octets, 16, mr));
	IS(!rdma_accept(id, NULL));
	IS(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	IS(!strcmp(octets, "synchronous"));
	IS(!rdma_disconnect(id));
	IS(!rdma_dereg_mr(mr));
	rdma_destroy_ep(id);
	rdma_destroy_ep(listen_id);
	free(octets);
}

const struct verbs_case cases_of_objects[] = {
	{ "in-use", keeps_in_use, waits_for_end },
	{ "small-queue", active_overruns, passive_overruns },
	{ "destroyed-meanwhile", races, NULL },
	{ "exit-at-work", exits, takes_until_end },
	{ "shared-buffers", shares_buffers, fills_buffers },
	{ "fork", forks, serves_family },
	{ "endpoints", connects_endpoint, serves_endpoint },
	{},
};
