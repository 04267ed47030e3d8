// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What can be made and posted, and what cannot: sizes of queues, pieces, rights, and lists of requests. The queue pair
 * is in the error state, where it has no peer, and whatever is posted is flushed.
 */
#include "tests/net/programs/verbs_ends.h"

#include <sys/mman.h>

#define NULL_FOR(why, call) IS((errno = 0, !(call)) && errno == (why))
#define HUGE_SIZE (1ul << 31)

static struct side s;
static struct ibv_qp *qp;
static struct ibv_cq *other_cq; /* of receives */

/* A queue pair with these sizes, or NULL. */
static struct ibv_qp *make(struct ibv_qp_cap cap, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = s.cq, .recv_cq = other_cq, .srq = srq, .cap = cap, .qp_type = IBV_QPT_RC
	};

	return ibv_create_qp(s.pd, &init);
}

static void make_in_error(struct ibv_qp_cap cap)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };

	IS(qp = make(cap, NULL));
	IS(!ibv_modify_qp(qp, &error, IBV_QP_STATE));
}

static void begin(void)
{
	setenv("XIWARP_EXTENDED", "1", 1); /* for atomic operations */
	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	IS(s.pd = ibv_alloc_pd(s.id->verbs));
	IS(s.told = ibv_create_comp_channel(s.id->verbs));
	IS(s.cq = ibv_create_cq(s.id->verbs, 1, &s, s.told, 0));
	IS(other_cq = ibv_create_cq(s.id->verbs, 1, &s, NULL, 0));
}

static void end(void)
{
	IS(queue_is_empty(s.cq) && queue_is_empty(other_cq));
	IS(!qp || !ibv_destroy_qp(qp));
	IS(!ibv_destroy_cq(other_cq));
	free_side(&s);
}

/* ---- sizes ----------------------------------------------------------------------------------------- */

static void completion_queues(const struct ibv_device_attr *d)
{
	struct ibv_context *c = s.id->verbs;
	struct ibv_cq *cq;

	NULL_FOR(EINVAL, ibv_create_cq(c, 0, NULL, NULL, 0));
	NULL_FOR(EINVAL, ibv_create_cq(c, d->max_cqe + 1, NULL, NULL, 0));
	/* Of completion vectors there is one. */
	NULL_FOR(EINVAL, ibv_create_cq(c, 1, NULL, NULL, 1));
	IS(cq = ibv_create_cq(c, d->max_cqe, NULL, NULL, 0));
	IS(cq->cqe == d->max_cqe);
	IS(ibv_resize_cq(cq, 0) == EINVAL && ibv_resize_cq(cq, d->max_cqe + 1) == EINVAL);
	IS(!ibv_resize_cq(cq, 5) && cq->cqe == 5);
	IS(!ibv_req_notify_cq(cq, 0)); /* without a channel, too */
	IS(!ibv_destroy_cq(cq));
}

static void queue_pairs(const struct ibv_device_attr *d)
{
	const uint32_t deep = (uint32_t)d->max_qp_wr, pieces = (uint32_t)d->max_sge;
	const struct ibv_qp_cap most = { deep, deep, pieces, pieces, 256 }, least = {};
	struct ibv_qp_init_attr init = { .send_cq = s.cq, .qp_type = IBV_QPT_RC };
	struct ibv_qp_cap cap;

	IS((qp = make(most, NULL)) && !ibv_destroy_qp(qp));
	IS((qp = make(least, NULL)) && !ibv_destroy_qp(qp));
	qp = NULL;
	for (size_t i = 0; i < 5; i++) {
		cap = most;
		((uint32_t *)&cap)[i]++;
		NULL_FOR(EINVAL, make(cap, NULL));
	}
	NULL_FOR(EINVAL, ibv_create_qp(s.pd, &init));
	init.send_cq = NULL;
	init.recv_cq = s.cq;
	NULL_FOR(EINVAL, ibv_create_qp(s.pd, &init));
	/* Some octets can be inline without having been asked for, of which the program is told. */
	init.send_cq = s.cq;
	IS((qp = ibv_create_qp(s.pd, &init)) && init.cap.max_inline_data >= 16);
	IS(!ibv_destroy_qp(qp));
	qp = NULL;
}

static void shared_queues(const struct ibv_device_attr *d)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = (uint32_t)d->max_srq_wr,
						    .max_sge = (uint32_t)d->max_srq_sge } };
	struct ibv_srq_attr limit = { .max_wr = 1 };
	/* ibv_create_qp(3): beside a shared receive queue, these are ignored. */
	const struct ibv_qp_cap ignored = { 1, UINT32_MAX, 1, UINT32_MAX, 0 };
	struct ibv_qp *sharing;
	struct ibv_srq *srq;

	IS(srq = ibv_create_srq(s.pd, &init));
	IS((sharing = make(ignored, srq)) && !ibv_destroy_qp(sharing));
	limit.srq_limit = init.attr.max_wr;
	IS(!ibv_modify_srq(srq, &limit, 0) && !readable(s.id->verbs->async_fd, 0));
	IS(ibv_modify_srq(srq, &limit, IBV_SRQ_MAX_WR) == EOPNOTSUPP);
	limit.srq_limit++;
	IS(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT) == EINVAL);
	IS(!ibv_destroy_srq(srq));
	init.attr.max_sge++;
	NULL_FOR(EINVAL, ibv_create_srq(s.pd, &init));
	init.attr = (struct ibv_srq_attr){ .max_wr = (uint32_t)d->max_srq_wr + 1, .max_sge = 1 };
	NULL_FOR(EINVAL, ibv_create_srq(s.pd, &init));
	init.attr.max_wr = 0;
	NULL_FOR(EINVAL, ibv_create_srq(s.pd, &init));
	init.attr = (struct ibv_srq_attr){ .max_wr = 1 };
	IS((srq = ibv_create_srq(s.pd, &init)) && !ibv_destroy_srq(srq));
}

static void has_limits(void)
{
	struct ibv_device_attr d;

	begin();
	IS(!ibv_query_device(s.id->verbs, &d));
	completion_queues(&d);
	queue_pairs(&d);
	shared_queues(&d);
	end();
}

/* ---- single requests --------------------------------------------------------------------------------- */

/* Posts it. If it is taken, it is flushed. */
static int sends(enum ibv_wr_opcode opcode, unsigned int flags, struct ibv_sge *sge, int n)
{
	struct ibv_send_wr wr = { .wr_id = 1,
				  .opcode = opcode,
				  .sg_list = sge,
				  .num_sge = n,
				  .send_flags = flags },
			   *bad = NULL;
	int rc = ibv_post_send(qp, &wr, &bad);

	IS(!rc || bad == &wr);
	if (!rc)
		completed(s.cq, 1, IBV_WC_WR_FLUSH_ERR);
	return rc;
}

static int receives(struct ibv_sge *sge, int n)
{
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = sge, .num_sge = n }, *bad = NULL;
	int rc = ibv_post_recv(qp, &wr, &bad);

	IS(!rc || bad == &wr);
	if (!rc)
		completed(other_cq, 2, IBV_WC_WR_FLUSH_ERR);
	return rc;
}

static int shares(struct ibv_srq *srq, struct ibv_sge *sge, int n)
{
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = sge, .num_sge = n }, *bad = NULL;
	int rc = ibv_post_srq_recv(srq, &wr, &bad);

	IS(!rc || bad == &wr);
	return rc;
}

static struct ibv_mr *region(struct ibv_pd *pd, void *memory, size_t len, int access)
{
	struct ibv_mr *mr;

	IS(mr = ibv_reg_mr(pd, memory, len, access));
	return mr;
}

/* What only the program reads is no place for what comes. */
static void needs_rights(char *memory)
{
	struct ibv_mr *constant = region(s.pd, memory, 64, 0);
	struct ibv_mr *variable = region(s.pd, memory + 64, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge from = { (uintptr_t)memory, 8, constant->lkey };
	struct ibv_sge to = { (uintptr_t)memory + 64, 8, variable->lkey };
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq;

	IS(srq = ibv_create_srq(s.pd, &init));
	for (int i = 0; i < 2; i++) {
		IS(!sends(IBV_WR_SEND, 0, &from, 1) && !sends(IBV_WR_RDMA_WRITE, 0, &from, 1));
		IS(!sends(IBV_WR_RDMA_READ, 0, &to, 1) && !receives(&to, 1));
		IS(!sends(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, &to, 1) && !shares(srq, &to, 1));
		IS(!sends(IBV_WR_ATOMIC_CMP_AND_SWP, 0, &to, 1));
		IS(sends(IBV_WR_RDMA_READ, 0, &from, 1) == EINVAL);
		IS(sends(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, &from, 1) == EINVAL);
		IS(sends(IBV_WR_ATOMIC_CMP_AND_SWP, 0, &from, 1) == EINVAL);
		IS(receives(&from, 1) == EINVAL && shares(srq, &from, 1) == EINVAL);
		/* Neither is a region of the other's memory. */
		IS(sends(IBV_WR_SEND, 0, &(struct ibv_sge){ from.addr, 8, to.lkey }, 1) == EINVAL);
		IS(sends(IBV_WR_SEND, 0, &(struct ibv_sge){ to.addr, 8, from.lkey }, 1) == EINVAL);
	}
	/* One that was there a moment ago is not any more. */
	IS(!sends(IBV_WR_SEND, 0, &from, 1) && !ibv_dereg_mr(constant));
	IS(sends(IBV_WR_SEND, 0, &from, 1) == EINVAL);
	IS(!ibv_destroy_srq(srq) && !ibv_dereg_mr(variable));
}

static void needs_domain(char *memory)
{
	struct ibv_pd *pd = ibv_alloc_pd(s.id->verbs);
	struct ibv_mr *foreign = region(pd, memory, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { (uintptr_t)memory, 8, foreign->lkey };

	IS(sends(IBV_WR_SEND, 0, &sge, 1) == EINVAL && receives(&sge, 1) == EINVAL);
	IS(!ibv_dereg_mr(foreign) && !ibv_dealloc_pd(pd));
}

static void needs_room(char *memory)
{
	struct ibv_mr *mr = region(s.pd, memory + 64, 64, IBV_ACCESS_LOCAL_WRITE);
	const uint64_t at = (uintptr_t)memory + 64;
	const struct ibv_sge outside[] = { { at - 1, 8, mr->lkey },  { at - 1, 1, mr->lkey },
					   { at, 65, mr->lkey },     { at + 1, 64, mr->lkey },
					   { at + 63, 2, mr->lkey }, { at + 64, 1, mr->lkey },
					   { at + 65, 1, mr->lkey }, { at + 80, 8, mr->lkey } };
	struct ibv_sge sge = { at, 64, mr->lkey };

	IS(!sends(IBV_WR_SEND, 0, &sge, 1) && !receives(&sge, 1));
	sge = (struct ibv_sge){ at + 63, 1, mr->lkey };
	IS(!sends(IBV_WR_SEND, 0, &sge, 1));
	for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
		sge = outside[i];
		IS(sends(IBV_WR_SEND, 0, &sge, 1) == EINVAL && receives(&sge, 1) == EINVAL);
	}
	/* What is empty is nowhere. */
	sge = (struct ibv_sge){ 0, 0, 12345 };
	IS(!sends(IBV_WR_SEND, 0, &sge, 1) && !receives(&sge, 1));
	IS(!ibv_dereg_mr(mr));
}

/* As many pieces as were asked for, 2 to send and 3 to receive, of which the sum has 32 bits. */
static void counts_pieces(void)
{
	char *memory = mmap(NULL, HUGE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct ibv_mr *mr;
	struct ibv_sge sge[4];

	IS(memory != MAP_FAILED);
	mr = region(s.pd, memory, HUGE_SIZE, IBV_ACCESS_LOCAL_WRITE);
	for (int i = 0; i < 4; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)memory, 1, mr->lkey };
	IS(!sends(IBV_WR_SEND, 0, sge, 0) && !sends(IBV_WR_SEND, 0, sge, 2));
	IS(!receives(sge, 0) && !receives(sge, 3));
	IS(sends(IBV_WR_SEND, 0, sge, 3) == EINVAL);
	IS(sends(IBV_WR_SEND, IBV_SEND_INLINE, sge, 3) == EINVAL);
	IS(sends(IBV_WR_SEND, IBV_SEND_INLINE, sge, -1) == EINVAL);
	IS(receives(sge, 4) == EINVAL && receives(sge, -1) == EINVAL);
	sge[0].length = HUGE_SIZE;
	sge[1].length = HUGE_SIZE - 1;
	IS(!sends(IBV_WR_SEND, 0, sge, 2));
	sge[1].length = HUGE_SIZE;
	IS(sends(IBV_WR_SEND, 0, sge, 2) == EMSGSIZE && receives(sge, 2) == EMSGSIZE);
	IS(!ibv_dereg_mr(mr) && !munmap(memory, HUGE_SIZE));
}

/* The octets of Sends and Writes may be inline, as many as were asked for. */
static void takes_inline(char *memory)
{
	static const enum ibv_wr_opcode can[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						  IBV_WR_RDMA_WRITE_WITH_IMM },
					cannot[] = { IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
						     IBV_WR_ATOMIC_CMP_AND_SWP };
	struct ibv_mr *mr = region(s.pd, memory, 128, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { (uintptr_t)memory, 100, 12345 };

	for (int i = 0; i < 3; i++) {
		sge = (struct ibv_sge){ (uintptr_t)memory, 100, 12345 };
		IS(!sends(can[i], IBV_SEND_INLINE, &sge, 1));
		sge.length = 101;
		IS(sends(can[i], IBV_SEND_INLINE, &sge, 1) == EINVAL);
		sge = (struct ibv_sge){ (uintptr_t)memory, 8, mr->lkey };
		IS(!sends(cannot[i], 0, &sge, 1));
		IS(sends(cannot[i], IBV_SEND_INLINE, &sge, 1) == EINVAL);
	}
	IS(!ibv_dereg_mr(mr));
}

/* What an atomic operation finds are 8 octets, in one piece. */
static void finds_words(char *memory)
{
	struct ibv_mr *mr = region(s.pd, memory, 128, IBV_ACCESS_LOCAL_WRITE);

	for (uint32_t len = 0; len <= 16; len++) {
		struct ibv_sge sge[2] = { { (uintptr_t)memory, len, mr->lkey },
					  { (uintptr_t)memory, 8, mr->lkey } };

		IS(sends(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, sge, 1) == (len == 8 ? 0 : EINVAL));
		IS(sends(IBV_WR_ATOMIC_CMP_AND_SWP, 0, sge, 1) == (len == 8 ? 0 : EINVAL));
		IS(sends(IBV_WR_ATOMIC_CMP_AND_SWP, 0, sge, 2) == EINVAL);
	}
	IS(sends(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, NULL, 0) == EINVAL);
	IS(!ibv_dereg_mr(mr));
}

static void posts_each(void)
{
	char *memory = calloc(1, 256);

	begin();
	make_in_error((struct ibv_qp_cap){ 4, 4, 2, 3, 100 });
	needs_rights(memory);
	needs_domain(memory);
	needs_room(memory);
	counts_pieces();
	takes_inline(memory);
	finds_words(memory);
	end();
	free(memory);
}

/* ---- lists ------------------------------------------------------------------------------------------- */

#define LIST 40

/* Polls n at most, and gets `want` in their order, from this number on. */
static void polls(struct ibv_cq *cq, int n, int want, uint64_t from)
{
	struct ibv_wc wc[LIST + 1];

	memset(wc, 0xee, sizeof(wc));
	IS(ibv_poll_cq(cq, n, wc) == want);
	for (int i = 0; i < want; i++)
		IS(wc[i].wr_id == from + (uint64_t)i && wc[i].status == IBV_WC_WR_FLUSH_ERR);
	IS(wc[want].wr_id == 0xeeeeeeeeeeeeeeee);
}

/* Gets so many in three calls: fewer than there are, and as many as there are. */
static void polls_all(struct ibv_cq *cq, int n)
{
	const int some = n < 23 ? n : 23;

	polls(cq, 3, 3, 0);
	polls(cq, 20, some - 3, 3);
	polls(cq, LIST, n - some, (uint64_t)some);
}

static void posts_sends(int wrong, int rc, int last)
{
	struct ibv_send_wr wr[LIST] = {}, *bad = NULL;
	struct ibv_sge none = {};

	for (int i = 0; i < LIST; i++) {
		wr[i].wr_id = (uint64_t)i;
		wr[i].opcode = i == wrong ? (enum ibv_wr_opcode)99 : IBV_WR_SEND;
		wr[i].next = i < LIST - 1 ? &wr[i + 1] : NULL;
	}
	IS(ibv_post_send(qp, wr, &bad) == rc);
	IS(bad == (rc ? &wr[last] : NULL));
	/* Sends are flushed before buffers, and some may have come behind those that went with the first one. */
	for (int i = 0; i < 2; i++)
		IS(!receives(&none, 1));
	polls_all(s.cq, last);
}

static void posts_receives(int wrong, int rc, int last)
{
	struct ibv_sge none[4] = {}, nowhere = { .length = 1 };
	struct ibv_recv_wr wr[LIST] = {}, *bad = NULL;

	for (int i = 0; i < LIST; i++) {
		wr[i].wr_id = (uint64_t)i;
		wr[i].sg_list = i == wrong && i % 2 ? &nowhere : none;
		wr[i].num_sge = i == wrong && i % 2 == 0 ? 4 : 1;
		wr[i].next = i < LIST - 1 ? &wr[i + 1] : NULL;
	}
	IS(ibv_post_recv(qp, wr, &bad) == rc);
	IS(bad == (rc ? &wr[last] : NULL));
	/* With the first of these they are passed on; when the second is complete, so are they. */
	for (int i = 0; i < 2; i++)
		IS(!sends(IBV_WR_SEND, 0, none, 1));
	polls_all(other_cq, last);
}

/* A list ends at the first request that cannot be posted, of which there is the error. */
static void posts_lists(void)
{
	begin();
	make_in_error((struct ibv_qp_cap){ LIST, LIST, 2, 3, 0 });
	for (int wrong = 3; wrong < LIST; wrong++) {
		posts_sends(wrong, EINVAL, wrong);
		posts_receives(wrong, EINVAL, wrong);
	}
	posts_sends(-1, 0, LIST);
	posts_receives(-1, 0, LIST);
	IS(!ibv_destroy_qp(qp));
	make_in_error((struct ibv_qp_cap){ LIST - 4, LIST - 6, 2, 3, 0 });
	/* One that is wrong behind the first that finds no place is not looked at. */
	posts_sends(LIST - 1, ENOMEM, LIST - 4);
	posts_receives(LIST - 1, ENOMEM, LIST - 6);
	end();
}

const struct verbs_case cases_of_limits[] = {
	{ "limits", has_limits, NULL },
	{ "requests", posts_each, NULL },
	{ "lists", posts_lists, NULL },
	{},
};
