// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a queue pair allows to its peer, and which attributes it takes. */
#include "tests/net/programs/verbs_ends.h"

#include <stdlib.h>

enum { WORD = 64, RIGHTS = 3 };

static const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		       IBV_ACCESS_REMOTE_ATOMIC;
static const int rights[RIGHTS] = { IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ,
				    IBV_ACCESS_REMOTE_ATOMIC };
static const enum ibv_wr_opcode needs[RIGHTS] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						  IBV_WR_ATOMIC_FETCH_AND_ADD };

static int modify(struct side *s, struct ibv_qp_attr attr, int mask)
{
	return ibv_modify_qp(s->id->qp, &attr, mask);
}

static int allow(struct side *s, int access, bool init)
{
	const struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
					  .qp_access_flags = (unsigned int)access };

	return modify(s, attr, IBV_QP_ACCESS_FLAGS | (init ? IBV_QP_STATE : 0));
}

static unsigned int allowed(struct side *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	IS(!ibv_query_qp(s->id->qp, &attr, IBV_QP_ACCESS_FLAGS, &init));
	return attr.qp_access_flags;
}

/* Writes, reads or adds. */
static void asks(unsigned int op, bool succeeds)
{
	struct ibv_send_wr wr = { .wr_id = 3,
				  .opcode = needs[op],
				  .send_flags = IBV_SEND_SIGNALED,
				  .num_sge = 1 },
			   *bad;
	struct ibv_sge sge;
	struct side s = {};
	uint64_t addr;
	uint32_t key;

	connect_side(&s);
	memset(s.memory, 'x', WORD);
	addr = told();
	key = (uint32_t)told();
	sge = sge_of(&s, 0, 8);
	wr.sg_list = &sge;
	if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.rkey = key;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = key;
	}
	IS(!ibv_post_send(s.id->qp, &wr, &bad));
	/* A Write has most often succeeded before the peer looks at it. */
	if (succeeds)
		completed(s.cq, 3, IBV_WC_SUCCESS);
	else if (op)
		completed(s.cq, 3, IBV_WC_REM_ACCESS_ERR);
	if (succeeds) {
		meet();
		IS(!rdma_disconnect(s.id));
	}
	await_end(&s);
	free_side(&s);
	meet();
}

static void is_asked(unsigned int op, bool succeeds, int access, bool before)
{
	static const uint8_t zeros[WORD];
	struct rdma_conn_param depths = { .responder_resources = 4, .initiator_depth = 4 };
	struct side s = {};
	struct ibv_mr *mr;

	get_request(&s);
	add_queues(&s);
	IS((allowed(&s) & all) == (unsigned int)all);
	if (before)
		IS(!allow(&s, access, true) && allowed(&s) == (unsigned int)access);
	IS(!rdma_accept(s.id, &depths));
	IS(!take_event(s.channel, RDMA_CM_EVENT_ESTABLISHED));
	if (!before)
		IS(!allow(&s, access, false) && allowed(&s) == (unsigned int)access);
	IS(mr = ibv_reg_mr(s.pd, s.memory, WORD, all));
	tell((uintptr_t)s.memory);
	tell(mr->rkey);
	if (succeeds)
		meet();
	await_end(&s);
	/* A Read changes nothing here in any case. */
	IS(!memcmp(s.memory, zeros, WORD) == (!succeeds || op == 1));
	IS(!ibv_dereg_mr(mr));
	free_side(&s);
	meet();
}

/* With the one right alone it succeeds; with all others it does not. Before the connection, and while it is open. */
static void asks_each(void)
{
	setenv("XIWARP_EXTENDED", "1", 1);
	for (unsigned int i = 0; i < 4 * RIGHTS; i++)
		asks(i % RIGHTS, i / RIGHTS % 2);
}

static void is_asked_each(void)
{
	const int others = all & ~IBV_ACCESS_LOCAL_WRITE;

	setenv("XIWARP_EXTENDED", "1", 1);
	for (unsigned int i = 0; i < 4 * RIGHTS; i++) {
		const bool succeeds = i / RIGHTS % 2;
		const int right = rights[i % RIGHTS];

		is_asked(i % RIGHTS, succeeds, succeeds ? right : others & ~right, i < 2 * RIGHTS);
	}
}

/* What programs set as tutorials have it is taken; what would promise something that there is not is refused. */
static void sets_attributes(void)
{
	static const int taken[] = {
		IBV_QP_CUR_STATE, IBV_QP_PKEY_INDEX,	    IBV_QP_QKEY,	  IBV_QP_AV,
		IBV_QP_PATH_MTU,  IBV_QP_TIMEOUT,	    IBV_QP_RETRY_CNT,	  IBV_QP_RNR_RETRY,
		IBV_QP_RQ_PSN,	  IBV_QP_MAX_QP_RD_ATOMIC,  IBV_QP_MIN_RNR_TIMER, IBV_QP_SQ_PSN,
		IBV_QP_DEST_QPN,  IBV_QP_MAX_DEST_RD_ATOMIC
	};
	static const int refused[] = { IBV_QP_CAP,
				       IBV_QP_RATE_LIMIT,
				       IBV_QP_ALT_PATH,
				       IBV_QP_PATH_MIG_STATE,
				       IBV_QP_EN_SQD_ASYNC_NOTIFY,
				       1 << 30 };
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_READ };
	struct side s = {};
	int mask;

	connect_side(&s);
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		IS(!modify(&s, attr, taken[i]));
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		IS(modify(&s, attr, refused[i] | IBV_QP_ACCESS_FLAGS) == EOPNOTSUPP);
	IS(modify(&s, attr, IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == EINVAL);
	IS((allowed(&s) & all) == (unsigned int)all);
	attr.port_num = 1;
	IS(!modify(&s, attr, IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	IS(allowed(&s) == IBV_ACCESS_REMOTE_READ);
	IS(allow(&s, IBV_ACCESS_MW_BIND, false) == EINVAL);
	/* What librdmacm proposes, of which the device has no atomic operations here. */
	attr.qp_state = IBV_QPS_INIT;
	IS(!rdma_init_qp_attr(s.id, &attr, &mask) && mask & IBV_QP_ACCESS_FLAGS);
	IS(attr.qp_access_flags == (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ));
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

const struct verbs_case cases_of_rights[] = {
	{ "queue-pair-rights", asks_each, is_asked_each },
	{ "attributes", sets_attributes, only_waits },
	{},
};
