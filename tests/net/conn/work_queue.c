// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The queue of operations: inline octets, batches, no completion, depth, rights that change in order, limits. */
#include "tests/net/conn/work.h"

static uint64_t words[8];

/* ---- inline, and without completion ---------------------------------------------------------------- */

#define INLINES 40

static void deep(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro)
{
	co->recv_depth = co->send_depth = 4096;
	ro->send_depth = 4096;
}

/* Short buffers, in one piece each. */
static void prepare_short(unsigned int n, uint32_t len)
{
	for (unsigned int i = 0; i < n; i++) {
		struct iovec one = { arenas[0] + (size_t)i * len, len };

		recvs[i] = (struct xiw_rdma_recv){
			.size = sizeof(recvs[i]), .user_data = i, .iov = &one, .iov_count = 1
		};
		CHECK(!xiw_rdma_post_recv_many(work.s->rdma, &recvs[i], 1, NULL));
	}
}

static void prepare_inline(void)
{
	memset(arenas[0], 0xee, ARENA);
	prepare_short(INLINES, XIW_RDMA_INLINE_MAX);
}

/* The same memory is used for each: it is the application's again when the call returns. */
static void act_inline(void)
{
	uint8_t octets[XIW_RDMA_INLINE_MAX + 1];
	struct iovec two[2];

	for (unsigned int i = 0; i < INLINES; i++) {
		const uint32_t len = i * 13 % (XIW_RDMA_INLINE_MAX + 1);
		struct xiw_rdma_work *o = op(0, XIW_RDMA_SEND);

		stream_octets(i, 0, octets, len);
		two[0] = (struct iovec){ octets, len / 3 };
		two[1] = (struct iovec){ octets + len / 3, len - len / 3 };
		o->iov = two;
		o->iov_count = 2;
		o->user_data = i;
		o->flags = XIW_RDMA_INLINE | (i % 4 ? XIW_RDMA_UNSIGNALED : 0);
		if (i % 2) {
			post(1);
		} else {
			const struct xiw_rdma_op one = { .kind = XIW_RDMA_SEND,
							 .flags = o->flags,
							 .buf = octets,
							 .len = len,
							 .user_data = i };

			CHECK(!xiw_rdma_post(work.s->rdma, &one));
		}
		memset(octets, 0xdd, sizeof(octets));
		memset(two, 0, sizeof(two));
	}
	two[0] = (struct iovec){ octets, sizeof(octets) };
	ops[0].iov = two;
	ops[0].iov_count = 1;
	CHECK(xiw_rdma_post_many(work.s->rdma, ops, 1, NULL) == -EMSGSIZE);
	await(INLINES / 4);
	for (unsigned int i = 0; i < INLINES / 4; i++)
		done(i, XIW_OPERATION_SEND, 4 * i, 4 * i * 13 % (XIW_RDMA_INLINE_MAX + 1));
}

static void witness_inline(void)
{
	await(INLINES);
	for (unsigned int i = 0; i < INLINES; i++) {
		const uint32_t len = i * 13 % (XIW_RDMA_INLINE_MAX + 1);
		uint8_t *at = arenas[0] + (size_t)i * XIW_RDMA_INLINE_MAX;

		done(i, XIW_OPERATION_RECV, i, len);
		CHECK(stream_wrong(i, 0, at, len) < 0);
		memset(at, 0xee, len);
	}
}

/* A batch stops at the first operation that cannot be posted. */
static void act_batch(void)
{
	unsigned int posted = 99;

	for (unsigned int i = 0; i < 10; i++)
		op(i, XIW_RDMA_SEND)->flags = i < 9 ? XIW_RDMA_UNSIGNALED : 0;
	ops[6].flags = 1u << 30;
	CHECK(xiw_rdma_post_many(work.s->rdma, ops, 10, &posted) == -EINVAL);
	CHECK(posted == 6);
	ops[6].flags = XIW_RDMA_UNSIGNALED;
	ops[8].size--;
	CHECK(xiw_rdma_post_many(work.s->rdma, ops + 6, 4, &posted) == -EINVAL);
	CHECK(posted == 2);
	ops[8].size++;
	CHECK(!xiw_rdma_post_many(work.s->rdma, ops + 8, 2, &posted));
	CHECK(posted == 2);
	await(1);
	done(0, XIW_OPERATION_SEND, 9, 0);
}

/* So does a batch of buffers. */
static void prepare_ten(void)
{
	struct iovec one = { arenas[0], 4 };
	unsigned int posted = 99;

	for (unsigned int i = 0; i < 10; i++)
		recvs[i] = (struct xiw_rdma_recv){
			.size = sizeof(recvs[i]), .user_data = i, .iov = &one, .iov_count = 1
		};
	recvs[3].iov_count = XIW_RDMA_PIECES_MAX + 1;
	CHECK(xiw_rdma_post_recv_many(work.s->rdma, recvs, 10, &posted) == -EINVAL);
	CHECK(posted == 3);
	recvs[3].iov_count = 1;
	recvs[8].flags = XIW_RDMA_RECV_REGISTERED << 1;
	CHECK(xiw_rdma_post_recv_many(work.s->rdma, recvs + 3, 7, &posted) == -EINVAL);
	CHECK(posted == 5);
	recvs[8].flags = 0;
	CHECK(!xiw_rdma_post_recv_many(work.s->rdma, recvs + 8, 2, &posted));
	CHECK(posted == 2);
}

static void witness_ten(void)
{
	await(10);
	for (unsigned int i = 0; i < 10; i++)
		done(i, XIW_OPERATION_RECV, i, 0);
}

/* ---- depth ----------------------------------------------------------------------------------------- */

#define DEPTH 4096

static void prepare_deep(void)
{
	for (unsigned int i = 0; i < DEPTH; i++) {
		static struct iovec two[DEPTH][2];

		two[i][0] = (struct iovec){ arenas[0] + 64 * i, 20 };
		two[i][1] = (struct iovec){ arenas[0] + 64 * i + 32, 20 };
		recvs[i] = (struct xiw_rdma_recv){
			.size = sizeof(recvs[i]), .user_data = i, .iov = two[i], .iov_count = 2
		};
	}
	memset(arenas[0], 0xee, ARENA);
	post_recvs(DEPTH);
	CHECK(xiw_rdma_post_recv(work.s->rdma, arenas[0], 1, 0) == -EAGAIN);
}

static void act_deep(void)
{
	for (unsigned int i = 0; i < DEPTH; i++) {
		struct xiw_rdma_work *o = op(i, XIW_RDMA_SEND);
		static struct iovec one[DEPTH];

		one[i] = (struct iovec){ arenas[1] + 32 * i, 32 };
		fill(&one[i], 1, i);
		o->iov = &one[i];
		o->iov_count = 1;
	}
	op(DEPTH, XIW_RDMA_SEND);
	CHECK(xiw_rdma_post_many(work.s->rdma, ops, DEPTH + 1, NULL) == -EAGAIN);
	await(DEPTH);
	for (unsigned int i = 0; i < DEPTH; i++)
		done(i, XIW_OPERATION_SEND, i, 32);
}

static void witness_deep(void)
{
	await(DEPTH);
	for (unsigned int i = 0; i < DEPTH; i++) {
		done(i, XIW_OPERATION_RECV, i, 32);
		CHECK(stream_wrong(i, 0, arenas[0] + 64 * i, 20) < 0);
		CHECK(stream_wrong(i, 20, arenas[0] + 64 * i + 32, 12) < 0);
	}
}

/* ---- rights that change in order ------------------------------------------------------------------ */

/* Posts a buffer of 8 octets in two pieces. */
static void prepare_word(unsigned int i)
{
	struct iovec two[2] = { { &words[i], 3 }, { (uint8_t *)&words[i] + 3, 5 } };

	recvs[0] = (struct xiw_rdma_recv){
		.size = sizeof(recvs[0]), .user_data = i, .iov = two, .iov_count = 2
	};
	post_recvs(1);
}

static void prepare_words(void)
{
	prepare_word(0);
	prepare_word(1);
}

/* A Send of 8 octets behind a change of rights. */
static void post_change(enum xiw_rdma_kind kind, struct xiw_region *region, uint64_t word)
{
	struct iovec iov = { &word, sizeof(word) };
	struct xiw_rdma_work *o = op(0, kind);

	o->region = region;
	if (kind == XIW_RDMA_REGISTER)
		o->access = XIW_ACCESS_WRITE;
	o = op(1, XIW_RDMA_SEND);
	o->flags = XIW_RDMA_INLINE | XIW_RDMA_UNSIGNALED;
	o->iov = &iov;
	o->iov_count = 1;
	post(2);
}

/* The peer learns the STag by the Send behind the change, and may write at once. */
static void act_rights(void)
{
	struct xiw_region *region = work_region(arenas[0], XIW_ACCESS_NONE);

	memset(arenas[0], 0xee, ARENA);
	prepare_word(7);
	post_change(XIW_RDMA_REGISTER, region, xiw_region_stag(region));
	await(2);
	done(0, XIW_OPERATION_REGISTER, 0, 0);
	done(1, XIW_OPERATION_RECV, 7, 8);
	CHECK(stream_wrong(9, 0, arenas[0], 50000) < 0);
	memset(arenas[0], 0xee, ARENA);
	post_change(XIW_RDMA_LOCAL_INVALIDATE, region, 0);
	await_flag(&work.s->failed);
	done(2, XIW_OPERATION_LOCAL_INVALIDATE, 0, 0);
	for (size_t i = 0; i < ARENA; i++)
		CHECK(arenas[0][i] == 0xee);
	xiw_region_free(region);
}

/* Writes, and sends behind that what tells of it. */
static void post_written(unsigned int count)
{
	static struct iovec iov;
	struct xiw_rdma_work *o = op(0, XIW_RDMA_WRITE);

	iov = (struct iovec){ arenas[1], 50000 };
	stream_octets(9, 0, arenas[1], 50000);
	o->iov = &iov;
	o->iov_count = 1;
	o->stag = (uint32_t)words[0];
	o->flags = XIW_RDMA_UNSIGNALED;
	o = op(1, XIW_RDMA_SEND);
	iov.iov_len = 50000;
	o->iov = &(struct iovec){ words, 8 };
	o->iov_count = 1;
	o->flags = XIW_RDMA_INLINE | XIW_RDMA_UNSIGNALED;
	post(count);
}

static void witness_rights(void)
{
	await(1);
	done(0, XIW_OPERATION_RECV, 0, 8);
	post_written(2);
	await(2);
	done(1, XIW_OPERATION_RECV, 1, 8);
	post_written(1);
	await_flag(&work.s->terminated);
}

/* ---- limits ------------------------------------------------------------------------------------------ */

static struct xiw_rdma_info info(void)
{
	struct xiw_rdma_info i;

	xiw_rdma_info(work.s->rdma, &i, sizeof(i));
	return i;
}

static void act_limits(void)
{
	const uint32_t stag = (uint32_t)hear();
	struct iovec iov = { arenas[0], 1000 };
	struct xiw_rdma_info i = info();
	struct xiw_rdma_work *o;

	CHECK(i.pieces_max == XIW_RDMA_PIECES_MAX && i.inline_max == XIW_RDMA_INLINE_MAX);
	CHECK(i.send_depth == DEPTH && i.recv_depth == DEPTH);
	CHECK(!i.posted && !i.unanswered && !i.recvs_posted);
	prepare_words();
	o = op(0, XIW_RDMA_READ);
	o->stag = stag;
	o->iov = &iov;
	o->iov_count = 1;
	op(1, XIW_RDMA_SEND)->flags = XIW_RDMA_UNSIGNALED;
	post(2);
	i = info();
	CHECK(i.posted == 2 && i.unanswered == 1 && i.recvs_posted == 2);
	await(1);
	done(0, XIW_OPERATION_READ, 0, 1000);
	/* The Send is complete as well as soon as TCP has it. */
	while (info().posted)
		take_turn();
	CHECK(!info().unanswered);
	tell(0);
}

static void witness_limits(void)
{
	struct xiw_region *region = work_region(arenas[0], XIW_ACCESS_READ);

	tell(xiw_region_stag(region));
	await(1);
	CHECK(!info().recvs_posted);
	hear();
	xiw_region_free(region);
}

static void prepare_empty(void)
{
	prepare_short(1, 0);
}

const struct work_case work_queue[] = {
	{ .name = "inline",
	  .prepare = prepare_inline,
	  .act = act_inline,
	  .witness = witness_inline },
	{ .name = "batch", .prepare = prepare_ten, .act = act_batch, .witness = witness_ten },
	{ .name = "depth",
	  .options = deep,
	  .prepare = prepare_deep,
	  .act = act_deep,
	  .witness = witness_deep },
	{ .name = "rights-in-order",
	  .prepare = prepare_words,
	  .act = act_rights,
	  .witness = witness_rights,
	  .fails = true },
	{ .name = "limits",
	  .options = deep,
	  .prepare = prepare_empty,
	  .act = act_limits,
	  .witness = witness_limits },
	{ 0 },
};
