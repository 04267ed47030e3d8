// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Work requests: what cannot be posted, flags, failures, and what a queue pair's states do to them. */
#include "tests/net/programs/verbs_ends.h"

#include <unistd.h>

static void ends(struct side *s)
{
	IS(!rdma_disconnect(s->id));
	await_end(s);
	free_side(s);
}

static void takes(unsigned int buffers)
{
	struct side s = {};

	accept_side(&s, buffers);
	meet();
	await_end(&s);
	free_side(&s);
}

/* ---- what cannot be posted ----------------------------------------------------------------------- */

/* Three requests, of which the second is wrong: the first is done, the others are not. */
static int post_three(struct side *s, struct ibv_send_wr *wrong)
{
	struct ibv_sge sge = sge_of(s, 0, 16);
	struct ibv_send_wr first = { .wr_id = 1,
				     .opcode = IBV_WR_SEND,
				     .sg_list = &sge,
				     .num_sge = 1,
				     .send_flags = IBV_SEND_SIGNALED },
			   last = first, *bad = NULL;
	int rc;

	first.next = wrong;
	wrong->next = &last;
	rc = ibv_post_send(s->id->qp, &first, &bad);
	IS(rc && bad == wrong);
	completed(s->cq, 1, IBV_WC_SUCCESS);
	return rc;
}

static void posts_wrong(void)
{
	struct ibv_sge sge[3];
	struct ibv_send_wr wr = { .wr_id = 2, .opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 1 };
	struct ibv_recv_wr recv[2] = { { .next = &recv[1] }, { .sg_list = sge, .num_sge = 3 } },
			   *bad;
	struct side s = {};

	connect_side(&s);
	for (int i = 0; i < 3; i++)
		sge[i] = sge_of(&s, 0, 16);
	sge[0].lkey ^= 1;
	IS(post_three(&s, &wr) == EINVAL); /* no region's */
	sge[0] = sge_of(&s, OCTETS - 8, 16);
	IS(post_three(&s, &wr) == EINVAL); /* behind the region's end */
	sge[0] = sge_of(&s, 0, 16);
	wr.num_sge = 3;
	IS(post_three(&s, &wr) == EINVAL);
	wr.num_sge = -1;
	IS(post_three(&s, &wr) == EINVAL);
	wr.num_sge = 1;
	wr.opcode = IBV_WR_BIND_MW;
	IS(post_three(&s, &wr) == EINVAL);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD; /* the device says that it has none */
	IS(post_three(&s, &wr) == EINVAL);
	wr.opcode = (enum ibv_wr_opcode)99;
	IS(post_three(&s, &wr) == EINVAL);
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_INLINE;
	sge[0].length = INLINE + 1;
	IS(post_three(&s, &wr) == EINVAL);
	/* Each piece alone would be short enough. */
	sge[0].length = sge[1].length = INLINE / 2 + 1;
	wr.num_sge = 2;
	IS(post_three(&s, &wr) == EINVAL);
	IS(ibv_post_recv(s.id->qp, recv, &bad) == EINVAL && bad == &recv[1]);
	IS(queue_is_empty(s.cq));
	meet();
	ends(&s);
}

static void takes_nine(void)
{
	takes(9);
}

/* A place in a queue is free when its completion was polled. */
static void fills_queues(void)
{
	struct side s = {};

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	add_queues(&s);
	IS(post(&s, IBV_WR_SEND, 0, 16, 0)); /* not connected */
	post_buffers(&s, DEPTH - 1);
	post_buffers(&s, 1);
	struct ibv_recv_wr recv = {}, *bad = NULL;
	IS(ibv_post_recv(s.id->qp, &recv, &bad) == ENOMEM && bad == &recv);
	IS(!rdma_connect(s.id, NULL));
	IS(!take_event(s.channel, RDMA_CM_EVENT_ESTABLISHED));
	for (unsigned int i = 0; i < DEPTH; i++)
		IS(!post(&s, IBV_WR_SEND, i, 16, IBV_SEND_SIGNALED));
	IS(post(&s, IBV_WR_SEND, 0, 16, 0) == ENOMEM);
	completed(s.cq, 0, IBV_WC_SUCCESS);
	IS(!post(&s, IBV_WR_SEND, DEPTH, 16, IBV_SEND_SIGNALED));
	IS(post(&s, IBV_WR_SEND, 0, 16, 0) == ENOMEM);
	for (unsigned int i = 1; i <= DEPTH; i++)
		completed(s.cq, i, IBV_WC_SUCCESS);
	meet();
	ends(&s);
}

static void takes_all(void)
{
	struct side s = {};

	accept_side(&s, DEPTH);
	meet();
	/* The last Send, which holds up the end, finds a buffer, too. */
	completed(s.cq, 100, IBV_WC_SUCCESS);
	post_buffers(&s, 1);
	await_end(&s);
	free_side(&s);
}

/* ---- flags --------------------------------------------------------------------------------------- */

/* Nobody is told of Reads and Writes at the other side, so that this flag means nothing there. */
static void posts_solicited(struct side *s, uint64_t addr, uint32_t rkey)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE };

	for (unsigned int i = 0; i < 2; i++) {
		struct ibv_sge sge = sge_of(s, 0, 16);
		struct ibv_send_wr wr = { .wr_id = 20 + i,
					  .opcode = opcodes[i],
					  .sg_list = &sge,
					  .num_sge = 1,
					  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
					  .wr.rdma = { addr, rkey } },
				   *bad;

		IS(!ibv_post_send(s->id->qp, &wr, &bad));
		completed(s->cq, 20 + i, IBV_WC_SUCCESS);
	}
}

static void posts_with_flags(void)
{
	struct side s = {};
	uint64_t addr, rkey;
	char octets[INLINE];
	struct ibv_sge sge[2] = { { (uintptr_t)octets + 8, INLINE - 8, 12345 },
				  { (uintptr_t)octets, 8, 12345 } };
	struct ibv_send_wr wr = { .wr_id = 1,
				  .opcode = IBV_WR_SEND,
				  .sg_list = sge,
				  .num_sge = 2,
				  .send_flags = IBV_SEND_INLINE },
			   *bad;

	connect_side(&s);
	addr = told();
	rkey = told();
	/* Octets that are inline are the program's again at once, whatever its key. */
	memset(octets, 'c', 8);
	memset(octets + 8, 'a', sizeof(octets) - 8);
	IS(!ibv_post_send(s.id->qp, &wr, &bad));
	memset(octets, 'b', sizeof(octets));
	for (uint64_t i = 2; i < 10; i++)
		IS(!post(&s, IBV_WR_SEND, i, 16, 0));
	/* A Send behind a fence goes when the Read has come. What means nothing for a Read does no harm. */
	IS(!post_remote(&s, IBV_WR_RDMA_READ, 10, addr, (uint32_t)rkey));
	IS(!post(&s, IBV_WR_SEND, 11, 16, IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED));
	completed(s.cq, 10, IBV_WC_SUCCESS);
	completed(s.cq, 11, IBV_WC_SUCCESS);
	IS(!memcmp(s.memory, "from the other side", 20));
	posts_solicited(&s, addr, (uint32_t)rkey);
	IS(!post(&s, IBV_WR_SEND, 12, 0, IBV_SEND_SIGNALED));
	completed(s.cq, 12, IBV_WC_SUCCESS);
	IS(queue_is_empty(s.cq));
	meet();
	ends(&s);
}

static void takes_flags(void)
{
	struct side s = {};
	struct ibv_wc wc;

	accept_side(&s, 12);
	memcpy(s.memory, "from the other side", 20);
	tell((uintptr_t)s.memory);
	tell(s.mr->rkey);
	wc = completion(s.cq);
	IS(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV && wc.byte_len == INLINE);
	for (unsigned int i = 0; i < INLINE; i++)
		IS(s.memory[OCTETS / 2 + i] == (i < INLINE - 8 ? 'a' : 'c'));
	for (unsigned int i = 1; i < 10; i++)
		completed(s.cq, 100 + i, IBV_WC_SUCCESS);
	/* It was sent behind the Read, whose octets it has taken along. */
	IS(!memcmp(s.memory + OCTETS / 2 + 9 * 1024, "from the other s", 16));
	wc = completion(s.cq);
	IS(wc.status == IBV_WC_SUCCESS && !wc.byte_len);
	meet();
	await_end(&s);
	free_side(&s);
}

/* ---- failures ------------------------------------------------------------------------------------ */

/*
 * RFC 5040 section 8.1.1 rule 7: the peer cannot invalidate a region that other connections may use, as those of
 * ibv_reg_mr() are with RNICs, too. The connection ends, and the region stays.
 */
static void is_invalidated(void)
{
	struct side s = {}, other = {};

	connect_side(&s);
	post_buffers(&s, 2);
	tell(s.mr->rkey);
	await_end(&s);
	completed(s.cq, 100, IBV_WC_LOC_ACCESS_ERR);
	completed(s.cq, 101, IBV_WC_WR_FLUSH_ERR);
	IS(queue_is_empty(s.cq));
	meet();
	other.pd = s.pd;
	connect_side(&other);
	tell((uintptr_t)s.memory);
	meet();
	other.pd = NULL;
	ends(&other);
	free_side(&s);
}

static void invalidates(void)
{
	struct side s = {};
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_INV, .sg_list = &sge, .num_sge = 1 },
			   *bad;

	accept_side(&s, 0);
	sge = sge_of(&s, 0, 16);
	wr.invalidate_rkey = (uint32_t)told();
	IS(!ibv_post_send(s.id->qp, &wr, &bad));
	await_end(&s);
	free_side(&s);
	meet();
	accept_side(&s, 0);
	IS(!post_remote(&s, IBV_WR_RDMA_READ, 5, told(), wr.invalidate_rkey));
	completed(s.cq, 5, IBV_WC_SUCCESS);
	meet();
	await_end(&s);
	free_side(&s);
}

/* RFC 5040: the target's side terminates, and the one that asked hears of what. */
static void asks_wrong_key(void)
{
	struct side s = {};
	uint64_t addr, rkey;

	connect_side(&s);
	addr = told();
	rkey = told();
	post_buffers(&s, 2);
	IS(!post_remote(&s, IBV_WR_RDMA_READ, 1, addr, (uint32_t)rkey));
	completed(s.cq, 1, IBV_WC_SUCCESS);
	IS(!post_remote(&s, IBV_WR_RDMA_READ, 2, addr, (uint32_t)rkey ^ 0x100));
	IS(!post(&s, IBV_WR_SEND, 3, 16, IBV_SEND_FENCE));
	completed(s.cq, 2, IBV_WC_REM_ACCESS_ERR);
	await_end(&s);
	/* An unsignaled one that fails is told of. */
	for (unsigned int i = 0; i < 3; i++)
		IS(completion(s.cq).status == IBV_WC_WR_FLUSH_ERR);
	IS(queue_is_empty(s.cq));
	free_side(&s);
}

static void is_asked(void)
{
	struct side s = {};

	accept_side(&s, 2);
	tell((uintptr_t)s.memory);
	tell(s.mr->rkey);
	await_end(&s);
	completed(s.cq, 100, IBV_WC_WR_FLUSH_ERR);
	completed(s.cq, 101, IBV_WC_WR_FLUSH_ERR);
	free_side(&s);
}

/* A Send for which no buffer is posted waits. */
static void sends_early(void)
{
	struct side s = {};

	connect_side(&s);
	memcpy(s.memory, "early", 5);
	IS(!post(&s, IBV_WR_SEND, 1, 5, IBV_SEND_SIGNALED));
	completed(s.cq, 1, IBV_WC_SUCCESS);
	meet();
	meet();
	ends(&s);
}

static void buffers_late(void)
{
	struct side s = {};

	accept_side(&s, 0);
	meet();
	usleep(50000);
	IS(queue_is_empty(s.cq));
	post_buffers(&s, 1);
	completed(s.cq, 100, IBV_WC_SUCCESS);
	IS(!memcmp(s.memory + OCTETS / 2, "early", 5));
	meet();
	await_end(&s);
	free_side(&s);
}

/* ---- states -------------------------------------------------------------------------------------- */

static int change(struct side *s, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(s->id->qp, &attr, IBV_QP_STATE);
}

static enum ibv_qp_state state_of(struct side *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	IS(!ibv_query_qp(s->id->qp, &attr, IBV_QP_STATE, &init));
	return attr.qp_state;
}

static void changes_states(void)
{
	struct side s = {};

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	add_queues(&s);
	IS(state_of(&s) == IBV_QPS_INIT);
	IS(!change(&s, IBV_QPS_INIT));
	/* Only a connection makes it ready, as with RNICs, which take these states all the same. */
	IS(!change(&s, IBV_QPS_RTR) && !change(&s, IBV_QPS_RTS));
	IS(state_of(&s) == IBV_QPS_INIT && post(&s, IBV_WR_SEND, 1, 16, 0) == ENOTCONN);
	IS(change(&s, IBV_QPS_SQE) == EINVAL);
	post_buffers(&s, 2);
	/* Without a connection, too, the error state flushes, and what is posted later. */
	IS(!change(&s, IBV_QPS_ERR) && state_of(&s) == IBV_QPS_ERR);
	completed(s.cq, 100, IBV_WC_WR_FLUSH_ERR);
	completed(s.cq, 101, IBV_WC_WR_FLUSH_ERR);
	post_buffers(&s, 1);
	completed(s.cq, 100, IBV_WC_WR_FLUSH_ERR);
	IS(!post(&s, IBV_WR_SEND, 1, 16, 0));
	completed(s.cq, 1, IBV_WC_WR_FLUSH_ERR);
	/* It serves no more. */
	IS(change(&s, IBV_QPS_RTS) == EINVAL && state_of(&s) == IBV_QPS_ERR);
	IS(rdma_connect(s.id, NULL) == -1);
	free_side(&s);

	connect_side(&s);
	IS(state_of(&s) == IBV_QPS_RTS);
	IS(!change(&s, IBV_QPS_RTS) && !change(&s, IBV_QPS_RTR) && !change(&s, IBV_QPS_INIT));
	IS(state_of(&s) == IBV_QPS_RTS);
	post_buffers(&s, 1);
	IS(!change(&s, IBV_QPS_ERR));
	await_end(&s);
	completed(s.cq, 100, IBV_WC_WR_FLUSH_ERR);
	IS(state_of(&s) == IBV_QPS_ERR);
	free_side(&s);
}

/* ---- order --------------------------------------------------------------------------------------- */

#define ROUNDS 3000

/* Awaits the next completion, asleep. */
static void sleeps_for(struct side *s)
{
	struct ibv_cq *cq;
	void *context;

	IS(readable(s->told->fd, WAIT_MS));
	IS(!ibv_get_cq_event(s->told, &cq, &context));
	ibv_ack_cq_events(cq, 1);
}

/* tgtd takes a message for the answer to one of its own when that one is complete. */
static void asks(void)
{
	struct side s = {};

	connect_side(&s);
	for (int i = 0; i < ROUNDS; i++) {
		IS(!ibv_req_notify_cq(s.cq, 0));
		post_buffers(&s, 1);
		IS(!post(&s, IBV_WR_SEND, 1, 16, IBV_SEND_SIGNALED));
		sleeps_for(&s);
		completed(s.cq, 1, IBV_WC_SUCCESS);
		completed(s.cq, 100, IBV_WC_SUCCESS);
	}
	ends(&s);
}

static void answers(void)
{
	struct side s = {};

	accept_side(&s, 1);
	for (int i = 0; i < ROUNDS; i++) {
		completed(s.cq, 100, IBV_WC_SUCCESS);
		post_buffers(&s, 1);
		IS(!post(&s, IBV_WR_SEND, 1, 16, 0));
	}
	await_end(&s);
	free_side(&s);
}

const struct verbs_case cases_of_work[] = {
	{ "wrong-requests", posts_wrong, takes_nine },
	{ "full-queues", fills_queues, takes_all },
	{ "flags", posts_with_flags, takes_flags },
	{ "invalidate", is_invalidated, invalidates },
	{ "remote-access", asks_wrong_key, is_asked },
	{ "receiver-not-ready", sends_early, buffers_late },
	{ "states", changes_states, only_waits },
	{ "answer-after-send", asks, answers },
	{},
};
