// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory regions whose addresses are not those of the memory: ibv_reg_mr_iova(), and IBV_ACCESS_ZERO_BASED. */
#include "tests/net/programs/verbs_ends.h"

#define HALF 4096u
#define SIZE (2 * HALF)
#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

/* The same memory, 'A' in its first half and 'B' in its second, with addresses of three kinds. */
struct based {
	uint8_t *memory;
	struct ibv_mr *zero, *far, *overlapping;
};

#define FAR 0x100000000000ull

static void register_based(struct side *s, struct based *b)
{
	IS(b->memory = calloc(1, SIZE));
	memset(b->memory, 'A', HALF);
	memset(b->memory + HALF, 'B', HALF);
	IS(b->zero = ibv_reg_mr(s->pd, b->memory, SIZE, ALL | IBV_ACCESS_ZERO_BASED));
	IS(b->far = ibv_reg_mr_iova(s->pd, b->memory, SIZE, FAR, ALL));
	/* Its first address is that of the memory's second half. */
	IS(b->overlapping =
		   ibv_reg_mr_iova(s->pd, b->memory, SIZE, (uintptr_t)b->memory + HALF, ALL));
}

static void free_based(struct based *b)
{
	IS(!ibv_dereg_mr(b->zero) && !ibv_dereg_mr(b->far) && !ibv_dereg_mr(b->overlapping));
	free(b->memory);
}

static int post_pieces(struct side *s, struct ibv_send_wr wr, struct ibv_sge *sge, int n)
{
	struct ibv_send_wr *bad;

	wr.sg_list = sge;
	wr.num_sge = n;
	wr.send_flags |= IBV_SEND_SIGNALED;
	return ibv_post_send(s->id->qp, &wr, &bad);
}

static void sends(struct side *s, struct ibv_sge *sge, int n)
{
	IS(!post_pieces(s, (struct ibv_send_wr){ .wr_id = 1, .opcode = IBV_WR_SEND }, sge, n));
	completed(s->cq, 1, IBV_WC_SUCCESS);
}

static bool refused(struct side *s, uint64_t addr, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { addr, 16, mr->lkey };

	return post_pieces(s, (struct ibv_send_wr){ .opcode = IBV_WR_SEND }, &sge, 1) == EINVAL;
}

/* ---- what is sent -------------------------------------------------------------------------------- */

static void sends_based(struct side *s, struct based *b)
{
	struct ibv_sge sge[2] = { { 0, 16, b->zero->lkey } };

	sends(s, sge, 1);
	sge[0] = (struct ibv_sge){ (uintptr_t)b->memory + HALF, 16, b->overlapping->lkey };
	sends(s, sge, 1);
	sge[0] = (struct ibv_sge){ FAR + SIZE - 16, 16, b->far->lkey };
	sge[1] = (struct ibv_sge){ HALF - 8, 8, b->zero->lkey };
	sends(s, sge, 2);
	IS(refused(s, (uintptr_t)b->memory, b->zero) && refused(s, (uintptr_t)b->memory, b->far));
	IS(refused(s, SIZE - 15, b->zero) && refused(s, FAR - 1, b->far));
	IS(refused(s, (uintptr_t)b->memory, b->overlapping));
	/* What is inline has an address of memory, and no key. */
	sge[0] = (struct ibv_sge){ (uintptr_t)b->memory + HALF, 16, b->zero->lkey };
	IS(!post_pieces(s,
			(struct ibv_send_wr){
				.wr_id = 2, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE },
			sge, 1));
	completed(s->cq, 2, IBV_WC_SUCCESS);
}

/* ---- where answers go ---------------------------------------------------------------------------- */

static void reads_based(struct side *s, struct based *b, uint64_t addr, uint32_t rkey)
{
	struct ibv_sge sge[2] = { { FAR + 100, 16, b->far->lkey } };
	struct ibv_send_wr wr = { .wr_id = 3,
				  .opcode = IBV_WR_RDMA_READ,
				  .wr.rdma = { addr, rkey } };

	IS(!post_pieces(s, wr, sge, 1));
	completed(s->cq, 3, IBV_WC_SUCCESS);
	IS(!memcmp(b->memory + 99, "Afrom the other sA", 18));
	sge[0] = (struct ibv_sge){ 200, 8, b->zero->lkey };
	sge[1] = (struct ibv_sge){ (uintptr_t)b->memory + HALF + 300, 8, b->overlapping->lkey };
	IS(!post_pieces(s, wr, sge, 2));
	completed(s->cq, 3, IBV_WC_SUCCESS);
	IS(!memcmp(b->memory + 199, "Afrom theA", 10));
	IS(!memcmp(b->memory + 299, "A other sA", 10));
}

static void adds_based(struct side *s, struct based *b, uint64_t addr, uint32_t rkey)
{
	const struct ibv_send_wr wr = { .wr_id = 4,
					.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
					.wr.atomic = { addr, 1, 0, rkey } };
	struct ibv_sge sge = { 400, 8, b->zero->lkey };

	IS(!post_pieces(s, wr, &sge, 1));
	completed(s->cq, 4, IBV_WC_SUCCESS);
	IS(!memcmp(b->memory + 400, "\0\0\0\0\0\0\0\0", 8));
	sge = (struct ibv_sge){ FAR + 400, 8, b->far->lkey };
	IS(!post_pieces(s, wr, &sge, 1));
	completed(s->cq, 4, IBV_WC_SUCCESS);
	IS(b->memory[400] == 1);
}

static void uses_based(void)
{
	struct side s = {};
	struct based b;
	uint64_t addr, rkey;

	setenv("XIWARP_EXTENDED", "1", 1); /* for atomic operations */
	for (int shared = 0; shared < 2; shared++) {
		connect_side(&s);
		register_based(&s, &b);
		sends_based(&s, &b);
		addr = told();
		rkey = told();
		reads_based(&s, &b, addr, (uint32_t)rkey);
		adds_based(&s, &b, addr + 64, (uint32_t)rkey);
		meet();
		IS(!rdma_disconnect(s.id));
		await_end(&s);
		free_based(&b);
		free_side(&s);
		meet(); /* the other side has heard of the end */
	}
}

/* ---- what is received ---------------------------------------------------------------------------- */

static void post_based(struct side *s, uint64_t wr_id, uint64_t addr, const struct ibv_mr *mr)
{
	struct ibv_sge sge[2] = { { addr, 8, mr->lkey }, { addr + 8, 56, mr->lkey } };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = 2 }, *bad;

	IS(!(s->srq ? ibv_post_srq_recv(s->srq, &wr, &bad) : ibv_post_recv(s->id->qp, &wr, &bad)));
}

static void accept_shared(struct side *s, struct based *b, bool shared)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 2 } };

	get_request(s);
	IS(s->pd = ibv_alloc_pd(s->id->verbs));
	if (shared)
		IS(s->srq = ibv_create_srq(s->pd, &init));
	add_queues(s);
	register_based(s, b);
	post_based(s, 100, 0, b->zero);
	post_based(s, 101, FAR + 64, b->far);
	post_based(s, 102, (uintptr_t)b->memory + HALF + 128, b->overlapping);
	post_based(s, 103, 192, b->zero);
	IS(!rdma_accept(s->id, NULL));
	IS(!take_event(s->channel, RDMA_CM_EVENT_ESTABLISHED));
}

static void receives_based(void)
{
	static const char *const came[] = { "AAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAA",
					    "BBBBBBBBBBBBBBBBAAAAAAAA", "BBBBBBBBBBBBBBBB" };
	struct side s = {};
	struct based b;

	setenv("XIWARP_EXTENDED", "1", 1);
	for (int shared = 0; shared < 2; shared++) {
		accept_shared(&s, &b, shared);
		for (unsigned int i = 0; i < 4; i++) {
			struct ibv_wc wc = completion(s.cq);

			/* A shared receive queue has no order. */
			IS(wc.status == IBV_WC_SUCCESS && wc.wr_id >= 100 && wc.wr_id < 104);
			IS(shared || wc.wr_id == 100 + i);
			IS(wc.byte_len == strlen(came[i]));
			IS(!memcmp(b.memory + 64 * (wc.wr_id - 100), came[i], wc.byte_len));
		}
		memcpy(b.memory, "from the other side", 20);
		memset(b.memory + 64, 0, 8);
		tell(FAR);
		tell(b.far->rkey);
		meet();
		await_end(&s);
		free_based(&b);
		free_side(&s);
		meet(); /* the other side has heard of the end */
	}
}

const struct verbs_case cases_of_memory[] = {
	{ "bases", uses_based, receives_based },
	{},
};
