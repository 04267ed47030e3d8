// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The asynchronous events of queue pairs, and what waits for their acknowledgement. */
#include "tests/net/programs/verbs_ends.h"

#include <pthread.h>
#include <unistd.h>

static bool silent(const struct side *s)
{
	return !readable(s->id->verbs->async_fd, 0);
}

/* The next event of the device, which is of this queue pair. */
static struct ibv_async_event next(const struct side *s, enum ibv_event_type type)
{
	struct ibv_async_event event;

	if (!readable(s->id->verbs->async_fd, WAIT_MS))
		die("no event comes: %s", ibv_event_type_str(type));
	IS(!ibv_get_async_event(s->id->verbs, &event));
	if (event.event_type != type)
		die("not %s: %s", ibv_event_type_str(type), ibv_event_type_str(event.event_type));
	IS(event.element.qp == s->id->qp);
	return event;
}

static void take(const struct side *s, enum ibv_event_type type)
{
	struct ibv_async_event event = next(s, type);

	ibv_ack_async_event(&event);
}

/* ---- what the peer may not ------------------------------------------------------------------------ */

static _Atomic bool gone;

static void *destroy(void *id)
{
	rdma_destroy_qp(id);
	gone = true;
	return NULL;
}

/* The queue pair stays until its event is acknowledged. */
static void fails(enum ibv_event_type type, enum ibv_wc_status status)
{
	struct ibv_async_event event;
	struct side s = {};
	pthread_t thread;

	accept_side(&s, 1);
	IS(silent(&s));
	tell((uintptr_t)s.memory);
	tell(s.mr->rkey);
	event = next(&s, type);
	await_end(&s);
	completed(s.cq, 100, status);
	IS(silent(&s));
	IS(!pthread_create(&thread, NULL, destroy, s.id));
	usleep(100000);
	IS(!gone);
	ibv_ack_async_event(&event);
	IS(!pthread_join(thread, NULL) && gone && !s.id->qp);
	free_side(&s);
}

static void access_fails(void)
{
	fails(IBV_EVENT_QP_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR);
}

/* The Terminate is for this side what the error is for the other one. */
static void terminated(struct side *s)
{
	take(s, IBV_EVENT_QP_FATAL);
	await_end(s);
	IS(silent(s));
	free_side(s);
}

static void reads_wrongly(void)
{
	struct side s = {};
	uint64_t addr;

	connect_side(&s);
	addr = told();
	IS(!post_remote(&s, IBV_WR_RDMA_READ, 1, addr, (uint32_t)told() ^ 0x100));
	terminated(&s);
}

static void writes_wrongly(void)
{
	struct side s = {};
	uint64_t addr;

	connect_side(&s);
	addr = told() + OCTETS; /* behind the end of the region */
	IS(!post_remote(&s, IBV_WR_RDMA_WRITE, 1, addr, (uint32_t)told()));
	terminated(&s);
}

static void request_fails(void)
{
	fails(IBV_EVENT_QP_REQ_ERR, IBV_WC_LOC_LEN_ERR);
}

/* Longer than the buffer that it finds. */
static void sends_too_much(void)
{
	struct side s = {};

	connect_side(&s);
	told();
	told();
	IS(!post(&s, IBV_WR_SEND, 1, 1025, 0));
	terminated(&s);
}

/* ---- the last buffer ------------------------------------------------------------------------------ */

static void share(struct side *s)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };

	IS(s->pd = ibv_alloc_pd(s->id->verbs));
	IS(s->srq = ibv_create_srq(s->pd, &init));
	add_queues(s);
	post_buffers(s, 8);
}

/* When it comes, all buffers that the queue pair has taken are in the completion queue. */
static void takes_last(void)
{
	struct side s = {};
	struct ibv_wc wc;

	get_request(&s);
	share(&s);
	IS(!rdma_accept(s.id, NULL));
	IS(!take_event(s.channel, RDMA_CM_EVENT_ESTABLISHED));
	meet();
	take(&s, IBV_EVENT_QP_LAST_WQE_REACHED);
	for (unsigned int i = 0; i < 3; i++)
		IS(ibv_poll_cq(s.cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	IS(queue_is_empty(s.cq));
	await_end(&s);
	IS(silent(&s));
	free_side(&s);
}

static void sends_and_ends(void)
{
	struct side s = {};

	connect_side(&s);
	meet();
	for (unsigned int i = 0; i < 3; i++)
		IS(!post(&s, IBV_WR_SEND, i, 16, 0));
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	/* It shares no buffers. */
	IS(silent(&s));
	free_side(&s);
}

/* A queue pair that has never been connected may end, too. Events that nobody has taken go with it. */
static void ends_alone(void)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct side s = {};

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	share(&s);
	IS(silent(&s));
	IS(!ibv_modify_qp(s.id->qp, &error, IBV_QP_STATE));
	IS(readable(s.id->verbs->async_fd, WAIT_MS));
	rdma_destroy_qp(s.id);
	IS(silent(&s));
	free_side(&s);
}

/* ---- completion queues ---------------------------------------------------------------------------- */

/* One that was asked to have room for one completion has room for all that can be posted. */
static void overflows(void)
{
	struct ibv_qp_init_attr init = { .cap = { .max_send_wr = DEPTH,
						  .max_recv_wr = DEPTH,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 },
					 .qp_type = IBV_QPT_RC };
	struct side s = {};

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	add_queues(&s);
	rdma_destroy_qp(s.id);
	IS(!ibv_destroy_cq(s.cq));
	IS(s.cq = ibv_create_cq(s.id->verbs, 1, NULL, s.told, 0));
	init.send_cq = init.recv_cq = s.cq;
	IS(!rdma_create_qp(s.id, s.pd, &init));
	post_buffers(&s, DEPTH);
	IS(!rdma_connect(s.id, NULL));
	IS(!take_event(s.channel, RDMA_CM_EVENT_ESTABLISHED));
	for (unsigned int i = 0; i < DEPTH; i++)
		IS(!post(&s, IBV_WR_SEND, i, 16, IBV_SEND_SIGNALED));
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	for (unsigned int sends = 0, buffers = 0; sends + buffers < 2 * DEPTH;) {
		struct ibv_wc wc = completion(s.cq);

		IS(wc.wr_id == (wc.wr_id < 100 ? sends : 100 + buffers));
		sends += wc.wr_id < 100;
		buffers += wc.wr_id >= 100;
	}
	IS(silent(&s));
	free_side(&s);
}

static void takes_all(void)
{
	struct side s = {};

	accept_side(&s, DEPTH);
	await_end(&s);
	free_side(&s);
}

const struct verbs_case cases_of_async[] = {
	{ "event-read-access", reads_wrongly, access_fails },
	{ "event-write-access", writes_wrongly, access_fails },
	{ "event-request", sends_too_much, request_fails },
	{ "event-last-buffer", sends_and_ends, takes_last },
	{ "event-not-taken", ends_alone, NULL },
	{ "small-cq", overflows, takes_all },
	{},
};
