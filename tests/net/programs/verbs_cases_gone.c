// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Work that is posted with memory which is deregistered before it is done: the memory is the program's again. */
#include "tests/net/programs/verbs_ends.h"

#include <stdlib.h>

#define SIZE 4096u
#define LEN 64u
#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

struct area {
	uint8_t *memory;
	struct ibv_mr *mr;
};

static struct area area_of(struct side *s)
{
	struct area a;

	IS(a.memory = calloc(1, SIZE));
	IS(a.mr = ibv_reg_mr(s->pd, a.memory, SIZE, ALL));
	return a;
}

static bool untouched(const struct area *a)
{
	static const uint8_t zeros[SIZE];

	return !memcmp(a->memory, zeros, SIZE);
}

/* ---- receives ------------------------------------------------------------------------------------ */

static void post_into(struct side *s, uint64_t wr_id, const struct area *a, int pieces)
{
	struct ibv_sge sge[2] = { { (uintptr_t)a->memory, LEN, a->mr->lkey },
				  { (uintptr_t)a->memory + SIZE / 2, LEN, a->mr->lkey } };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = pieces }, *bad;

	IS(!(s->srq ? ibv_post_srq_recv(s->srq, &wr, &bad) : ibv_post_recv(s->id->qp, &wr, &bad)));
}

/* Memory that another region has as well is still registered. */
static void receives_where_registered(struct side *s, struct area *twice)
{
	completed(s->cq, 1, IBV_WC_SUCCESS);
	IS(!untouched(twice));
}

static void receives_one(bool shared, bool late, int pieces)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 2 } };
	struct side s = {};
	struct area gone, twice;
	struct ibv_mr *second;

	get_request(&s);
	IS(s.pd = ibv_alloc_pd(s.id->verbs));
	if (shared)
		IS(s.srq = ibv_create_srq(s.pd, &init));
	add_queues(&s);
	gone = area_of(&s);
	twice = area_of(&s);
	IS(second = ibv_reg_mr(s.pd, twice.memory, SIZE, ALL));
	if (!shared)
		post_into(&s, 1, &twice, pieces);
	post_into(&s, 2, &gone, pieces);
	if (!late)
		IS(!ibv_dereg_mr(gone.mr) && !ibv_dereg_mr(twice.mr));
	IS(!rdma_accept(s.id, NULL));
	IS(!take_event(s.channel, RDMA_CM_EVENT_ESTABLISHED));
	if (late)
		IS(!ibv_dereg_mr(gone.mr) && !ibv_dereg_mr(twice.mr));
	meet();
	if (!shared)
		receives_where_registered(&s, &twice);
	IS(completion(s.cq).status == (late ? IBV_WC_LOC_PROT_ERR : IBV_WC_LOC_LEN_ERR));
	await_end(&s);
	IS(untouched(&gone));
	IS(!ibv_dereg_mr(second));
	free_side(&s);
	free(gone.memory);
	free(twice.memory);
	meet();
}

static void receives(void)
{
	for (int i = 0; i < 8; i++)
		receives_one(i & 1, i & 2, i & 4 ? 2 : 1);
}

static void sends(void)
{
	for (int i = 0; i < 8; i++) {
		struct side s = {};

		connect_side(&s);
		memset(s.memory, 'x', LEN);
		meet();
		for (uint64_t n = i & 1; n < 2; n++)
			IS(!post(&s, IBV_WR_SEND, n, LEN, IBV_SEND_SIGNALED));
		await_end(&s);
		free_side(&s);
		meet();
	}
}

/* ---- answers ------------------------------------------------------------------------------------- */

static void post_asking(struct side *s, const struct area *a, enum ibv_wr_opcode opcode,
			uint64_t addr, uint32_t key)
{
	struct ibv_sge sge[2] = { { (uintptr_t)a->memory, 8, a->mr->lkey },
				  { (uintptr_t)a->memory + SIZE / 2, 8, a->mr->lkey } };
	struct ibv_send_wr wr = { .wr_id = 7,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = sge,
				  .num_sge = opcode == IBV_WR_RDMA_READ ? 2 : 1 },
			   *bad;

	if (opcode == IBV_WR_RDMA_READ) {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = key;
	} else {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.rkey = key;
	}
	IS(!ibv_post_send(s->id->qp, &wr, &bad));
}

static const enum ibv_wr_opcode asking[] = { IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD };

/* They are posted while the peer has not accepted yet, so that nothing can be answered before the memory goes. */
static void asks(void)
{
	struct rdma_conn_param depths = { .responder_resources = 4, .initiator_depth = 4 };

	setenv("XIWARP_EXTENDED", "1", 1);
	for (size_t i = 0; i < sizeof(asking) / sizeof(*asking); i++) {
		struct side s = {};
		struct area gone;
		uint64_t addr, key;

		resolve(&s, peer_host, (uint16_t)atoi(peer_port));
		add_queues(&s);
		gone = area_of(&s);
		IS(!rdma_connect(s.id, &depths));
		addr = told();
		key = told();
		post_asking(&s, &gone, asking[i], addr, (uint32_t)key);
		IS(!ibv_dereg_mr(gone.mr));
		meet();
		IS(!take_event(s.channel, RDMA_CM_EVENT_ESTABLISHED));
		completed(s.cq, 7, IBV_WC_LOC_PROT_ERR);
		await_end(&s);
		IS(untouched(&gone));
		free_side(&s);
		free(gone.memory);
		meet();
	}
}

static void answers(void)
{
	struct rdma_conn_param depths = { .responder_resources = 4, .initiator_depth = 4 };

	setenv("XIWARP_EXTENDED", "1", 1);
	for (size_t i = 0; i < sizeof(asking) / sizeof(*asking); i++) {
		struct side s = {};
		struct area a;

		get_request(&s);
		add_queues(&s);
		a = area_of(&s);
		memset(a.memory, 'y', SIZE);
		tell((uintptr_t)a.memory);
		tell(a.mr->rkey);
		meet();
		IS(!rdma_accept(s.id, &depths));
		IS(!take_event(s.channel, RDMA_CM_EVENT_ESTABLISHED));
		await_end(&s);
		IS(!ibv_dereg_mr(a.mr));
		free_side(&s);
		free(a.memory);
		meet();
	}
}

const struct verbs_case cases_of_gone[] = {
	{ "receives-deregistered", sends, receives },
	{ "answers-deregistered", asks, answers },
	{},
};
