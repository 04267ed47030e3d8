// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Pieces of memory that are sent, written, received into and read into; sinks of Reads. */
#include "tests/net/conn/work.h"

static const uint32_t lengths[] = {
	0, 1, 2, 17, 255, 1000, 1460, 1461, 9000, 40000, 100000, 250000
};

#define MESSAGES (sizeof(lengths) / sizeof(lengths[0]))

static struct iovec iov[ARENAS][XIW_RDMA_PIECES_MAX];
/* The number of pieces differs from message to message: 16, 15, 1, 16 ... */
static unsigned int pieces_of(unsigned int i)
{
	return i % 3 == 2 ? 1 : XIW_RDMA_PIECES_MAX - i % 3;
}

/* ---- pieces -------------------------------------------------------------------------------------- */

/* Each buffer is a little longer than its message. */
static void prepare_scattered(void)
{
	for (unsigned int i = 0; i < MESSAGES; i++) {
		const unsigned int n = pieces_of(i + 1);

		lay(iov[i], n, arenas[i], lengths[i] + 7, i);
		recvs[i] = (struct xiw_rdma_recv){
			.size = sizeof(recvs[i]), .user_data = i, .iov = iov[i], .iov_count = n
		};
	}
	post_recvs(MESSAGES);
}

static void act_gather(void)
{
	for (unsigned int i = 0; i < MESSAGES; i++) {
		struct xiw_rdma_work *o = op(i, XIW_RDMA_SEND);

		lay(iov[i], pieces_of(i), arenas[i], lengths[i], 100 + i);
		fill(iov[i], pieces_of(i), i);
		o->iov = iov[i];
		o->iov_count = pieces_of(i);
	}
	post(MESSAGES);
	memset(ops, 0xff, MESSAGES * sizeof(*ops));
	await(MESSAGES);
	for (unsigned int i = 0; i < MESSAGES; i++)
		done(i, XIW_OPERATION_SEND, i, lengths[i]);
}

static void witness_scattered(void)
{
	await(MESSAGES);
	for (unsigned int i = 0; i < MESSAGES; i++) {
		done(i, XIW_OPERATION_RECV, i, lengths[i]);
		check_arena(iov[i], pieces_of(i + 1), arenas[i], i, lengths[i]);
	}
}

/* Writes of many pieces, one behind the other in the peer's region, and a Send that tells. */
static void act_write(void)
{
	const uint32_t stag = (uint32_t)hear();
	uint64_t to = 0;

	for (unsigned int i = 0; i < MESSAGES - 1; i++) {
		struct xiw_rdma_work *o = op(i, XIW_RDMA_WRITE);

		lay(iov[i], pieces_of(i), arenas[i], lengths[i], 200 + i);
		fill(iov[i], pieces_of(i), i);
		o->iov = iov[i];
		o->iov_count = pieces_of(i);
		o->stag = stag;
		o->to = to;
		to += lengths[i];
	}
	op(MESSAGES - 1, XIW_RDMA_SEND);
	post(MESSAGES);
	await(MESSAGES);
	for (unsigned int i = 0; i < MESSAGES - 1; i++)
		done(i, XIW_OPERATION_WRITE, i, lengths[i]);
	done(MESSAGES - 1, XIW_OPERATION_SEND, MESSAGES - 1, 0);
}

static void prepare_one(void)
{
	recvs[0] = (struct xiw_rdma_recv){ .size = sizeof(recvs[0]), .user_data = 77 };
	post_recvs(1);
}

static void witness_written(void)
{
	struct xiw_region *region = work_region(arenas[0], XIW_ACCESS_WRITE);
	uint8_t *at = arenas[0];

	memset(arenas[0], 0xee, ARENA);
	tell(xiw_region_stag(region));
	await(1);
	done(0, XIW_OPERATION_RECV, 77, 0);
	for (unsigned int i = 0; i < MESSAGES - 1; at += lengths[i++])
		CHECK(stream_wrong(i, 0, at, lengths[i]) < 0);
	for (; at < arenas[0] + ARENA; at++)
		CHECK(*at == 0xee);
	xiw_region_free(region);
}

/* ---- Reads --------------------------------------------------------------------------------------- */

/* More Reads than may be outstanding, into one piece and into several, and into a region that is a sink alone. */
static void act_read(void)
{
	const uint32_t stag = (uint32_t)hear();
	const unsigned int sink = MESSAGES - 1;
	struct xiw_region *region = work_region(arenas[sink], XIW_ACCESS_SINK);

	for (unsigned int i = 0; i < MESSAGES; i++) {
		const unsigned int n = i == sink ? 1 : pieces_of(i);
		struct xiw_rdma_work *o = op(i, XIW_RDMA_READ);

		lay(iov[i], n, arenas[i], lengths[i], 300 + i);
		o->stag = stag;
		o->to = i;
		if (i < sink) {
			o->iov = iov[i];
			o->iov_count = n;
			continue;
		}
		o->len = lengths[i];
		o->sink_stag = xiw_region_stag(region);
		o->sink_to = (uint64_t)((uint8_t *)iov[i]->iov_base - arenas[i]);
	}
	post(MESSAGES);
	await(MESSAGES);
	for (unsigned int i = 0; i < MESSAGES; i++) {
		done(i, XIW_OPERATION_READ, i, lengths[i]);
		/* The witness has the stream 5 there, so octet 0 of this message is octet i of that. */
		for (unsigned int k = 0, off = i; k < (i == sink ? 1 : pieces_of(i)); k++) {
			CHECK(stream_wrong(5, off, iov[i][k].iov_base, iov[i][k].iov_len) < 0);
			off += (unsigned int)iov[i][k].iov_len;
		}
		fill(iov[i], i == sink ? 1 : pieces_of(i), 6);
		check_arena(iov[i], i == sink ? 1 : pieces_of(i), arenas[i], 6, lengths[i]);
	}
	xiw_region_free(region);
	tell(0);
}

static void witness_read(void)
{
	struct xiw_region *region = work_region(arenas[0], XIW_ACCESS_READ);

	stream_octets(5, 0, arenas[0], ARENA);
	tell(xiw_region_stag(region));
	hear();
	xiw_region_free(region);
}

/* Writing to what is a sink of Reads alone ends the stream. */
static void act_intrude(void)
{
	const uint32_t stag = (uint32_t)hear();
	struct xiw_rdma_work *o = op(0, XIW_RDMA_WRITE);

	lay(iov[0], 1, arenas[0], 100, 1);
	o->iov = iov[0];
	o->iov_count = 1;
	o->stag = stag;
	post(1);
	await_flag(&work.s->terminated);
}

static void witness_intruded(void)
{
	struct xiw_region *region = work_region(arenas[0], XIW_ACCESS_SINK);
	struct xiw_rdma_info info;

	memset(arenas[0], 0xee, ARENA);
	tell(xiw_region_stag(region));
	await_flag(&work.s->failed);
	xiw_rdma_info(work.s->rdma, &info, sizeof(info));
	CHECK(info.sent.present && info.sent.layer == XIW_RDMA_LAYER_DDP);
	CHECK((info.sent.etype << 8 | info.sent.code) == XIW_DDP_TAGGED_STAG);
	for (size_t i = 0; i < ARENA; i++)
		CHECK(arenas[0][i] == 0xee);
	xiw_region_free(region);
}

const struct work_case work_memory[] = {
	{ .name = "gather-and-scatter",
	  .prepare = prepare_scattered,
	  .act = act_gather,
	  .witness = witness_scattered },
	{ .name = "gather-into-a-region",
	  .prepare = prepare_one,
	  .act = act_write,
	  .witness = witness_written },
	{ .name = "read-into-memory", .act = act_read, .witness = witness_read },
	{ .name = "a-sink-is-no-target",
	  .act = act_intrude,
	  .witness = witness_intruded,
	  .fails = true },
	{ 0 },
};
