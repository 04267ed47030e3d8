// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Operations of all kinds, one behind the other, on streams of the least depths that there are, and of the greatest. */
#include "tests/net/conn/work.h"

#define MIXED 1000u
#define KINDS 5u
#define PART 16u /* octets of a Write and of a Read */
#define WORD_AT 2048u
#define WRITES_AT 4096u

static uint8_t sinks[MIXED][PART + 2];
static uint64_t rooms[2];

static void least(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro)
{
	co->hold_ms = 30000;
	co->recv_depth = 1;
	co->send_depth = 2;
	ro->send_depth = 1;
	ro->ird = ro->ord = 1;
	ro->extended = true;
}

static void greatest(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro)
{
	co->hold_ms = 30000;
	co->recv_depth = co->send_depth = XIW_QUEUE_DEPTH_MAX;
	ro->send_depth = 1u << 16;
	ro->ird = ro->ord = XIW_DEPTH_ULP - 1;
	ro->extended = true;
}

static const enum xiw_rdma_kind kinds[KINDS] = { XIW_RDMA_SEND, XIW_RDMA_WRITE, XIW_RDMA_READ,
						 XIW_RDMA_FETCH_ADD, XIW_RDMA_IMMEDIATE };

/* Posts operation i, which waits while as many are posted as may be. */
static void post_mixed(unsigned int i, uint32_t stag)
{
	static const struct xiw_rdma_atomic one = { .value = 1 };
	uint64_t number = i;
	uint8_t octets[PART];
	struct iovec iov[2] = { { octets, PART } };
	struct xiw_rdma_work *o = op(i, kinds[i % KINDS]);
	int err;

	o->stag = stag;
	o->iov = iov;
	o->iov_count = 1;
	switch (o->kind) {
	case XIW_RDMA_SEND:
		iov[0] = (struct iovec){ &number, sizeof(number) };
		o->flags = XIW_RDMA_INLINE;
		break;
	case XIW_RDMA_WRITE:
		stream_octets(i, 0, octets, PART);
		o->to = WRITES_AT + i * PART;
		o->flags = XIW_RDMA_INLINE;
		break;
	case XIW_RDMA_READ:
		memset(sinks[i], 0xee, sizeof(sinks[i]));
		iov[0] = (struct iovec){ sinks[i], 5 };
		iov[1] = (struct iovec){ sinks[i] + 6, PART - 5 };
		o->iov_count = 2;
		o->to = i;
		break;
	case XIW_RDMA_FETCH_ADD:
		o->atomic = &one;
		o->iov_count = 0;
		o->to = WORD_AT;
		break;
	default:
		o->iov = NULL;
		o->iov_count = 0;
		o->immediate = i;
	}
	while ((err = xiw_rdma_post_many(work.s->rdma, o, 1, NULL)) == -EAGAIN)
		take_turn();
	CHECK(!err);
}

static void check_mixed(unsigned int i)
{
	switch (kinds[i % KINDS]) {
	case XIW_RDMA_SEND:
		done(i, XIW_OPERATION_SEND, i, sizeof(uint64_t));
		break;
	case XIW_RDMA_WRITE:
		done(i, XIW_OPERATION_WRITE, i, PART);
		break;
	case XIW_RDMA_READ:
		done(i, XIW_OPERATION_READ, i, PART);
		CHECK(stream_wrong(3, i, sinks[i], 5) < 0);
		CHECK(stream_wrong(3, i + 5, sinks[i] + 6, PART - 5) < 0);
		CHECK(sinks[i][5] == 0xee && sinks[i][PART + 1] == 0xee);
		break;
	case XIW_RDMA_FETCH_ADD:
		CHECK(done(i, XIW_OPERATION_FETCH_ADD, i, 8)->value == i / KINDS);
		break;
	default:
		done(i, XIW_OPERATION_IMMEDIATE, i, 8);
	}
}

static void act_mixed(void)
{
	const uint32_t stag = (uint32_t)hear();
	const struct xiw_rdma_info info = rdma_info();

	CHECK(info.send_depth == 1 || info.send_depth == 1u << 16);
	CHECK(info.recv_depth == 1 || info.recv_depth == XIW_QUEUE_DEPTH_MAX);
	CHECK(info.ird == info.ord && (info.ord == 1 || info.ord == XIW_DEPTH_ULP - 1));
	for (unsigned int i = 0; i < MIXED; i++)
		post_mixed(i, stag);
	await(MIXED);
	for (unsigned int i = 0; i < MIXED; i++)
		check_mixed(i);
	tell(0);
}

static void post_room(void)
{
	CHECK(!xiw_rdma_post_recv(work.s->rdma, rooms, sizeof(rooms[0]), work.ngot));
}

static void prepare_mixed(void)
{
	rooms[1] = 0xeeeeeeeeeeeeeeee;
	post_room();
}

/* A Send and Immediate Data for each five operations, and one buffer, which is posted again and again. */
static void witness_mixed(void)
{
	const uint64_t zero = 0;
	struct xiw_region *region;
	uint64_t value;

	memset(arenas[0], 0xee, ARENA);
	stream_octets(3, 0, arenas[0], WORD_AT);
	memcpy(arenas[0] + WORD_AT, &zero, sizeof(zero));
	region = work_region(arenas[0], XIW_ACCESS_READ | XIW_ACCESS_WRITE | XIW_ACCESS_ATOMIC);
	tell(xiw_region_stag(region));
	for (unsigned int i = 0; i < 2 * MIXED / KINDS; i++) {
		const unsigned int number = i / 2 * KINDS + i % 2 * (KINDS - 1);

		await(i + 1);
		CHECK(xiw_rdma_immediate(done(i, XIW_OPERATION_RECV, i, 8), &value) == i % 2);
		CHECK((i % 2 ? value : rooms[0]) == number && rooms[1] == 0xeeeeeeeeeeeeeeee);
		post_room();
	}
	hear();
	value = MIXED / KINDS;
	CHECK(stream_wrong(3, 0, arenas[0], WORD_AT) < 0);
	CHECK(!memcmp(arenas[0] + WORD_AT, &value, 8));
	for (unsigned int i = 0; i < MIXED; i++) {
		uint8_t *at = arenas[0] + WRITES_AT + i * PART;

		if (kinds[i % KINDS] != XIW_RDMA_WRITE)
			continue;
		CHECK(stream_wrong(i, 0, at, PART) < 0);
		memset(at, 0xee, PART);
	}
	check_untouched(arenas[0] + WORD_AT + 8, ARENA - WORD_AT - 8);
	xiw_region_free(region);
}

const struct work_case work_depths[] = {
	{ .name = "least-depths",
	  .options = least,
	  .prepare = prepare_mixed,
	  .act = act_mixed,
	  .witness = witness_mixed },
	{ .name = "greatest-depths",
	  .options = greatest,
	  .prepare = prepare_mixed,
	  .act = act_mixed,
	  .witness = witness_mixed },
	{ 0 },
};
