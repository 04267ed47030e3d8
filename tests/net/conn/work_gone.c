// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory and rights that go away in use. The stream ends, and no octet is where it must not be. */
#include "tests/net/conn/work.h"

#define READ 200000u

static struct xiw_region *sink;

/* A Read into a region, and what is to follow at once. */
static void post_read(unsigned int follows)
{
	struct xiw_rdma_work *o = op(0, XIW_RDMA_READ);

	o->stag = (uint32_t)hear();
	o->len = READ;
	o->sink_stag = xiw_region_stag(sink);
	o->flags = XIW_RDMA_UNSIGNALED;
	post(1 + follows);
}

/* The sink is freed, and its memory is used for something else. */
static void act_free_sink(void)
{
	sink = work_region(arenas[0], XIW_ACCESS_SINK);
	op(1, XIW_RDMA_READ);
	post_read(1);
	xiw_region_free(sink);
	memset(arenas[0], 0xee, ARENA);
	await_flag(&work.s->failed);
	CHECK(work.ngot == 2);
	ended(0, XIW_OPERATION_READ, 0, XIW_CAUSE_LOCAL_PROTECTION);
	ended(1, XIW_OPERATION_READ, 1, XIW_CAUSE_FLUSHED);
	check_untouched(arenas[0], ARENA);
}

/* Without a fence, the sink's rights are gone as soon as the Read has been passed on. */
static void act_invalidate_sink(void)
{
	memset(arenas[0], 0xee, ARENA);
	sink = work_region(arenas[0], XIW_ACCESS_SINK);
	op(1, XIW_RDMA_LOCAL_INVALIDATE)->region = sink;
	post_read(1);
	await_flag(&work.s->failed);
	CHECK(work.ngot == 2);
	ended(0, XIW_OPERATION_READ, 0, XIW_CAUSE_LOCAL_PROTECTION);
	done(1, XIW_OPERATION_LOCAL_INVALIDATE, 1, 0);
	check_untouched(arenas[0], ARENA);
	xiw_region_free(sink);
}

/* With a fence, the Read is complete first. */
static void act_fence_sink(void)
{
	memset(arenas[0], 0xee, ARENA);
	sink = work_region(arenas[0], XIW_ACCESS_SINK);
	op(1, XIW_RDMA_LOCAL_INVALIDATE)->region = sink;
	ops[1].flags = XIW_RDMA_FENCE;
	post_read(1);
	await(1);
	done(0, XIW_OPERATION_LOCAL_INVALIDATE, 1, 0);
	CHECK(stream_wrong(8, 0, arenas[0], READ) < 0);
	check_untouched(arenas[0] + READ, ARENA - READ);
	xiw_region_free(sink);
	tell(0);
}

static void witness_source(void)
{
	struct xiw_region *region = work_region(arenas[0], XIW_ACCESS_READ);

	stream_octets(8, 0, arenas[0], ARENA);
	tell(xiw_region_stag(region));
	if (work.the_case->fails)
		await_flag(&work.s->terminated);
	else
		hear();
	xiw_region_free(region);
}

/* The source is freed while Reads from it are on their way. */
static void act_read_freed(void)
{
	sink = work_region(arenas[0], XIW_ACCESS_SINK);
	memset(arenas[0], 0xee, ARENA);
	op(1, XIW_RDMA_READ);
	post_read(1);
	take_turn();
	tell(0);
	await_flag(&work.s->terminated);
	CHECK(work.ngot == 2 && work.s->cause == XIW_CAUSE_REMOTE_ACCESS);
	ended(0, XIW_OPERATION_READ, 0, XIW_CAUSE_REMOTE_ACCESS);
	ended(1, XIW_OPERATION_READ, 1, XIW_CAUSE_FLUSHED);
	check_untouched(arenas[0], ARENA);
	xiw_region_free(sink);
}

static void witness_freed(void)
{
	struct xiw_region *region = work_region(arenas[0], XIW_ACCESS_READ);

	tell(xiw_region_stag(region));
	hear_still();
	xiw_region_free(region);
	await_flag(&work.s->failed);
}

/* More than TCP takes while nobody reads. */
#define MANY 200u

static void many_reads(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro)
{
	co->recv_depth = co->send_depth = ro->send_depth = MANY + 2;
	ro->ird = ro->ord = MANY;
}

/* Is each octet the one that was asked for, or as lay() left it? */
static void check_started(const uint8_t *arena)
{
	static uint8_t want[READ];

	stream_octets(8, 0, want, READ);
	for (unsigned int i = 0; i < READ; i++)
		CHECK(arena[i] == want[i] || arena[i] == 0xee);
	check_untouched(arena + READ, ARENA - READ);
}

/* Reads whose source goes away when some of them have been answered, and the next one in part. */
static void act_many(void)
{
	const uint32_t stag = (uint32_t)hear();
	static struct iovec to[MANY];
	unsigned int n = 0, blamed;

	memset(arenas, 0xee, sizeof(arenas));
	for (unsigned int i = 0; i < MANY; i++) {
		struct xiw_rdma_work *o = op(i, XIW_RDMA_READ);

		to[i] = (struct iovec){ arenas[i % ARENAS], READ };
		o->iov = &to[i];
		o->iov_count = 1;
		o->stag = stag;
	}
	post(MANY);
	take_turn();
	tell(0);
	hear_still();
	await_flag(&work.s->terminated);
	CHECK(work.ngot == MANY && work.s->cause == XIW_CAUSE_REMOTE_ACCESS);
	while (n < MANY && work.got[n].event == XIW_EV_READ)
		done(n, XIW_OPERATION_READ, n, READ), n++;
	CHECK(n && n < MANY);
	/* The peer names the answer that it could not begin or go on with; those before it may be cut off, too. */
	for (blamed = n; blamed < MANY && work.got[blamed].cause == XIW_CAUSE_FLUSHED;)
		blamed++;
	for (unsigned int i = n; i < MANY; i++)
		ended(i, XIW_OPERATION_READ, i,
		      i == blamed ? XIW_CAUSE_REMOTE_ACCESS : XIW_CAUSE_FLUSHED);
	CHECK(blamed < MANY);
	for (unsigned int i = 0; i < ARENAS; i++)
		if (i < n)
			CHECK(stream_wrong(8, 0, arenas[i], READ) < 0);
	for (unsigned int i = 0; i < ARENAS; i++)
		check_started(arenas[i]);
}

/*
 * The answers to the first Read, and to a part of the next one, are on their way. They may stay there until the other
 * end reads: what TCP takes by then depends on its buffers. So no answer need be complete, as reads_in would say.
 */
static struct xiw_region *answer_some(void)
{
	struct xiw_region *region = work_region(arenas[0], XIW_ACCESS_READ);

	stream_octets(8, 0, arenas[0], ARENA);
	tell(xiw_region_stag(region));
	hear();
	while (conn_info().octets_sent <= READ)
		take_turn();
	return region;
}

static void witness_frees(void)
{
	xiw_region_free(answer_some());
	memset(arenas[0], 0x55, ARENA);
	tell(0);
	await_flag(&work.s->failed);
	CHECK(rdma_info().reads_in < MANY);
}

static void witness_invalidates(void)
{
	struct xiw_region *region = answer_some();

	op(0, XIW_RDMA_LOCAL_INVALIDATE)->region = region;
	post(1);
	await(1);
	done(0, XIW_OPERATION_LOCAL_INVALIDATE, 0, 0);
	memset(arenas[0], 0x55, ARENA);
	tell(0);
	await_flag(&work.s->failed);
	CHECK(rdma_info().reads_in < MANY);
	xiw_region_free(region);
}

/* A region is freed before the turn of a change of its rights, which waits for a Read. */
static void post_change_of_freed(enum xiw_rdma_kind kind)
{
	struct xiw_region *region = work_region(arenas[1], XIW_ACCESS_NONE);
	struct xiw_rdma_work *o = op(1, kind);

	memset(arenas[0], 0xee, ARENA);
	sink = work_region(arenas[0], XIW_ACCESS_SINK);
	o->region = region;
	o->access = kind == XIW_RDMA_REGISTER ? XIW_ACCESS_WRITE : 0;
	o->flags = XIW_RDMA_FENCE | XIW_RDMA_UNSIGNALED;
	op(2, XIW_RDMA_READ);
	post_read(2);
	xiw_region_free(region);
}

/* The peer would be told of what is not there. */
static void act_register_freed(void)
{
	post_change_of_freed(XIW_RDMA_REGISTER);
	await_flag(&work.s->failed);
	CHECK(work.ngot == 2);
	ended(0, XIW_OPERATION_REGISTER, 1, XIW_CAUSE_LOCAL_PROTECTION);
	ended(1, XIW_OPERATION_READ, 2, XIW_CAUSE_FLUSHED);
	CHECK(stream_wrong(8, 0, arenas[0], READ) < 0);
	xiw_region_free(sink);
}

/* It has no rights already. */
static void act_invalidate_freed(void)
{
	post_change_of_freed(XIW_RDMA_LOCAL_INVALIDATE);
	await(1);
	done(0, XIW_OPERATION_READ, 2, 0);
	CHECK(stream_wrong(8, 0, arenas[0], READ) < 0);
	xiw_region_free(sink);
	tell(0);
}

const struct work_case work_gone[] = {
	{ .name = "sink-is-freed", .act = act_free_sink, .witness = witness_source, .fails = true },
	{ .name = "sink-loses-its-rights",
	  .act = act_invalidate_sink,
	  .witness = witness_source,
	  .fails = true },
	{ .name = "sink-loses-its-rights-behind-a-fence",
	  .act = act_fence_sink,
	  .witness = witness_source },
	{ .name = "register-of-what-is-freed",
	  .act = act_register_freed,
	  .witness = witness_source,
	  .fails = true },
	{ .name = "invalidate-of-what-is-freed",
	  .act = act_invalidate_freed,
	  .witness = witness_source },
	{ .name = "source-is-freed",
	  .act = act_read_freed,
	  .witness = witness_freed,
	  .fails = true },
	{ .name = "source-is-freed-amid-answers",
	  .options = many_reads,
	  .act = act_many,
	  .witness = witness_frees,
	  .fails = true },
	{ .name = "source-loses-its-rights-amid-answers",
	  .options = many_reads,
	  .act = act_many,
	  .witness = witness_invalidates,
	  .fails = true },
	{ 0 },
};
