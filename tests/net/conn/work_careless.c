// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A careless program: what cannot be is refused without a trace. */
#include "tests/net/conn/work.h"

#define TOO_MANY (XIW_RDMA_PIECES_MAX + 1)
#define OTHER_PD 7

static struct iovec iov[TOO_MANY];

/* One operation, which is refused. */
static int refused(enum xiw_rdma_kind kind, unsigned int pieces)
{
	struct xiw_rdma_work *o = op(0, kind);
	unsigned int posted = 99;
	int err;

	o->iov = iov;
	o->iov_count = pieces;
	err = xiw_rdma_post_many(work.s->rdma, ops, 1, &posted);
	CHECK(!posted && err);
	return err;
}

static int refused_recv(unsigned int pieces)
{
	unsigned int posted = 99;
	int err;

	recvs[0] =
		(struct xiw_rdma_recv){ .size = sizeof(recvs[0]), .iov = iov, .iov_count = pieces };
	err = xiw_rdma_post_recv_many(work.s->rdma, recvs, 1, &posted);
	CHECK(!posted && err);
	return err;
}

static const enum xiw_rdma_kind with_pieces[] = { XIW_RDMA_SEND, XIW_RDMA_WRITE, XIW_RDMA_READ };

static void refuse_pieces(void)
{
	for (unsigned int i = 0; i < 3; i++) {
		const enum xiw_rdma_kind kind = with_pieces[i];

		for (unsigned int k = 0; k < TOO_MANY; k++)
			iov[k] = (struct iovec){ arenas[0], 1 };
		CHECK(refused(kind, TOO_MANY) == -EINVAL);
		CHECK(refused(kind, UINT32_MAX) == -EINVAL);
		iov[2] = (struct iovec){ NULL, 1 };
		CHECK(refused(kind, 3) == -EINVAL);
		iov[0] = (struct iovec){ arenas[0], UINT32_MAX };
		iov[2] = (struct iovec){ arenas[0], 1 };
		CHECK(refused(kind, 3) == -EMSGSIZE);
		iov[0].iov_len = SIZE_MAX;
		CHECK(refused(kind, 3) == -EMSGSIZE);
	}
	iov[0] = (struct iovec){ arenas[0], UINT32_MAX };
	CHECK(refused_recv(3) == -EINVAL);
	iov[0] = (struct iovec){ NULL, 1 };
	CHECK(refused_recv(1) == -EINVAL);
	iov[0] = (struct iovec){ arenas[0], 1 };
	CHECK(refused_recv(TOO_MANY) == -EINVAL);
}

static int refused_flags(enum xiw_rdma_kind kind, unsigned int flags)
{
	const struct xiw_rdma_op one = { .kind = kind, .flags = flags };

	return xiw_rdma_post(work.s->rdma, &one);
}

static void refuse_operations(void)
{
	struct xiw_rdma_op one = { .kind = XIW_RDMA_REGISTER };

	CHECK(refused((enum xiw_rdma_kind)99, 0) == -EINVAL);
	CHECK(refused((enum xiw_rdma_kind) - 1, 0) == -EINVAL);
	CHECK(refused(XIW_RDMA_IMMEDIATE, 0) == -EOPNOTSUPP);
	CHECK(refused(XIW_RDMA_WRITE_IMMEDIATE, 0) == -EOPNOTSUPP);
	CHECK(refused_flags(XIW_RDMA_READ, XIW_RDMA_INLINE) == -EINVAL);
	CHECK(refused_flags(XIW_RDMA_WRITE, XIW_RDMA_SOLICITED) == -EINVAL);
	CHECK(refused_flags(XIW_RDMA_LOCAL_INVALIDATE, XIW_RDMA_INVALIDATE) == -EINVAL);
	CHECK(xiw_rdma_post(work.s->rdma, &one) == -EINVAL);
	one = (struct xiw_rdma_op){ .kind = XIW_RDMA_SEND, .len = 1 };
	CHECK(xiw_rdma_post(work.s->rdma, &one) == -EINVAL);
	one = (struct xiw_rdma_op){ .kind = XIW_RDMA_SEND, .buf = arenas, .len = 1ull << 32 };
	CHECK(xiw_rdma_post(work.s->rdma, &one) == -EMSGSIZE);
	one = (struct xiw_rdma_op){
		.kind = XIW_RDMA_WRITE, .buf = arenas, .len = 2, .to = UINT64_MAX
	};
	CHECK(xiw_rdma_post(work.s->rdma, &one) == -EINVAL);
	/* A sink that nobody has registered, and one that is too short. */
	one = (struct xiw_rdma_op){ .kind = XIW_RDMA_READ, .len = 1, .sink_stag = 1 };
	CHECK(xiw_rdma_post(work.s->rdma, &one) == -EACCES);
	CHECK(!xiw_rdma_post_many(work.s->rdma, NULL, 0, NULL));
	CHECK(!xiw_rdma_post_recv_many(work.s->rdma, NULL, 0, NULL));
}

/* A region that the connection's peer cannot use, and rights that are none. */
static void refuse_changes(void)
{
	const struct xiw_region_opts other = { .size = sizeof(other),
					       .pd = OTHER_PD,
					       .access = XIW_ACCESS_NONE };
	struct xiw_region *region;
	struct xiw_rdma_work *o;

	CHECK(refused(XIW_RDMA_REGISTER, 0) == -EINVAL);
	CHECK(!xiw_region_register(work.engine, arenas[0], 8, &other, &region));
	o = op(0, XIW_RDMA_REGISTER);
	o->region = region;
	o->access = XIW_ACCESS_WRITE;
	CHECK(xiw_rdma_post_many(work.s->rdma, o, 1, NULL) == -EACCES);
	o->kind = XIW_RDMA_LOCAL_INVALIDATE;
	o->access = 0;
	CHECK(xiw_rdma_post_many(work.s->rdma, o, 1, NULL) == -EACCES);
	xiw_region_free(region);
	region = work_region(arenas[0], XIW_ACCESS_NONE);
	o->region = region;
	o->access = XIW_ACCESS_WRITE;
	CHECK(xiw_rdma_post_many(work.s->rdma, o, 1, NULL) == -EINVAL);
	o->kind = XIW_RDMA_REGISTER;
	o->access = XIW_ACCESS_NONE;
	CHECK(xiw_rdma_post_many(work.s->rdma, o, 1, NULL) == -EINVAL);
	o->access = 1u << 31;
	CHECK(xiw_rdma_post_many(work.s->rdma, o, 1, NULL) == -EINVAL);
	o->access = XIW_ACCESS_WRITE;
	o->iov_count = 1;
	CHECK(xiw_rdma_post_many(work.s->rdma, o, 1, NULL) == -EINVAL);
	xiw_region_free(region);
}

/* More than there may be of anything. */
static void refuse_limits(void)
{
	const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	const struct xiw_conn_opts bad[] = {
		{ .size = sizeof(bad[0]), .hold_ms = XIW_NO_LIMIT },
		{ .size = sizeof(bad[0]), .recv_depth = XIW_QUEUE_DEPTH_MAX + 1 },
		{ .size = sizeof(bad[0]), .send_depth = XIW_QUEUE_DEPTH_MAX + 1 },
		{ .size = sizeof(bad[0]), .queues = XIW_QUEUES_MAX + 1 },
		{ .size = sizeof(bad[0]), .queues = 5, .recv_depth = XIW_QUEUE_DEPTH_MAX },
		{ .size = sizeof(bad[0]), .ird = XIW_DEPTH_ULP + 1 },
	};
	const struct xiw_cq_opts co = { .size = sizeof(co), .entries = XIW_CQ_ENTRIES_MAX + 1 };
	const struct xiw_srq_opts so = { .size = sizeof(so), .depth = XIW_SRQ_DEPTH_MAX + 1 };
	const struct xiw_rdma_opts bad_rdma[] = {
		{ .size = sizeof(bad_rdma[0]), .send_depth = (1u << 16) + 1 },
		{ .size = sizeof(bad_rdma[0]), .ird = XIW_DEPTH_ULP },
		{ .size = sizeof(bad_rdma[0]), .ord = XIW_DEPTH_ULP },
		{ .size = sizeof(bad_rdma[0]), .srq_max = 1 },
	};
	struct xiw_conn *conn;
	struct xiw_rdma *rdma;
	struct xiw_srq *srq;
	struct xiw_cq *cq;

	for (unsigned int i = 0; i < sizeof(bad_rdma) / sizeof(bad_rdma[0]); i++)
		CHECK(xiw_rdma_attach(work.s->conn, &bad_rdma[i], &rdma) == -EINVAL);
	CHECK(xiw_rdma_attach(work.s->conn, &(struct xiw_rdma_opts){ .size = sizeof(bad_rdma[0]) },
			      &rdma) == -EALREADY);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(xiw_connect(work.engine, (const struct sockaddr *)&to, sizeof(to), &bad[i],
				  &conn) == -EINVAL);
	CHECK(xiw_cq_create(work.engine, &co, &cq) == -EINVAL);
	CHECK(xiw_srq_create(work.engine, &so, &srq) == -EINVAL);
}

/* After all that the stream does what it is there for. Pieces without memory and without octets are fine. */
static void act_refused(void)
{
	refuse_pieces();
	refuse_operations();
	refuse_changes();
	refuse_limits();
	CHECK(!rdma_info().posted && !work.ngot);
	for (unsigned int k = 0; k < XIW_RDMA_PIECES_MAX; k++)
		iov[k] = (struct iovec){ NULL, 0 };
	iov[9] = (struct iovec){ arenas[0], 10 };
	fill(iov, XIW_RDMA_PIECES_MAX, 4);
	op(0, XIW_RDMA_SEND)->iov = iov;
	ops[0].iov_count = XIW_RDMA_PIECES_MAX;
	op(1, XIW_RDMA_READ)->iov = iov;
	ops[1].iov_count = 9;
	post(2);
	await(2);
	done(0, XIW_OPERATION_SEND, 0, 10);
	done(1, XIW_OPERATION_READ, 1, 0);
}

static void prepare_refused(void)
{
	memset(arenas[1], 0xee, ARENA);
	for (unsigned int k = 0; k < XIW_RDMA_PIECES_MAX; k++)
		iov[k] = (struct iovec){ NULL, 0 };
	iov[3] = (struct iovec){ arenas[1], 4 };
	iov[12] = (struct iovec){ arenas[1] + 8, 7 };
	recvs[0] = (struct xiw_rdma_recv){ .size = sizeof(recvs[0]),
					   .iov = iov,
					   .iov_count = XIW_RDMA_PIECES_MAX };
	post_recvs(1);
}

static void witness_refused(void)
{
	await(1);
	done(0, XIW_OPERATION_RECV, 0, 10);
	check_arena(iov, XIW_RDMA_PIECES_MAX, arenas[1], 4, 10);
}

/* A Send that is longer than its buffer. */
static void act_too_long(void)
{
	iov[0] = (struct iovec){ arenas[0], 9 };
	op(0, XIW_RDMA_SEND)->iov = iov;
	ops[0].iov_count = 1;
	ops[0].flags = XIW_RDMA_UNSIGNALED;
	post(1);
	await_flag(&work.s->terminated);
	CHECK(work.s->cause == XIW_CAUSE_REMOTE_INVALID);
}

static void prepare_too_long(void)
{
	memset(arenas[0], 0xee, ARENA);
	CHECK(!xiw_rdma_post_recv(work.s->rdma, arenas[0] + 8, 8, 1));
	CHECK(!xiw_rdma_post_recv(work.s->rdma, arenas[0] + 99, 99, 2));
}

static void witness_too_long(void)
{
	await_flag(&work.s->closed);
	CHECK(work.s->failed && work.ngot == 2);
	ended(0, XIW_OPERATION_RECV, 1, XIW_CAUSE_LOCAL_LENGTH);
	ended(1, XIW_OPERATION_RECV, 2, XIW_CAUSE_FLUSHED);
	check_untouched(arenas[0], ARENA);
}

const struct work_case work_careless[] = {
	{ .name = "refused",
	  .prepare = prepare_refused,
	  .act = act_refused,
	  .witness = witness_refused },
	{ .name = "send-longer-than-its-buffer",
	  .prepare = prepare_too_long,
	  .act = act_too_long,
	  .witness = witness_too_long,
	  .fails = true },
	{ 0 },
};
