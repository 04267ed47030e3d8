// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The memory of what an RDMAP Stream has under way: it is there as long as it is needed. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "tests/unit/rdmap_rig.h"

TestSuite(rdmap_blocks, .init = rdmap_begin, .fini = rdmap_end);

static unsigned int blocks, limit;

static void *take_block(void *ctx, bool promised)
{
	(void)ctx;
	if (blocks >= limit && !promised)
		return NULL;
	blocks++;
	return malloc(XIW_BLOCK);
}

static void give_block(void *ctx, void *block)
{
	(void)ctx;
	blocks--;
	free(block);
}

static void counted(struct xiw_rdmap_stream *of, uint32_t depth, unsigned int most)
{
	const struct xiw_rdmap_opts o = { .table = s.table,
					  .stream = 7,
					  .depth = depth,
					  .ird_max = 40,
					  .source = { take_block, give_block, NULL } };

	blocks = 0;
	limit = most;
	cr_assert_eq(xiw_rdmap_init(of, &o), 0);
}

/* There is memory for as many operations as are posted at a time, however many there were, and for none at last. */
Test(rdmap_blocks, memory_is_there_while_it_is_used)
{
	for (uint32_t depth = 1; depth <= 100; depth += depth < 20 ? 1 : 16) {
		const unsigned int most = (depth + XIW_RDMAP_OPS - 2) / XIW_RDMAP_OPS + 1;
		struct xiw_rdma_work w = { .size = sizeof(w), .kind = XIW_RDMA_SEND };
		struct xiw_rdmap_stream big;
		struct xiw_rdmap_out out;
		struct xiw_rdmap_op op;

		counted(&big, depth, most);
		for (uint64_t i = 0; i < 3 * depth; i++) {
			cr_assert_eq(blocks, 0);
			cr_assert_eq(xiw_rdmap_post_work(&big, &w), 0);
			cr_assert_eq(blocks, 1);
			cr_assert_eq(xiw_rdmap_next(&big, &out), 1);
			xiw_rdmap_sent(&big, out.id, true);
			cr_assert(xiw_rdmap_completed(&big, &op) && out.id == i);
		}
		/* Always full, so that the run goes through all places. */
		for (uint64_t i = 0; i < 5 * depth; i++) {
			w.user_data = i;
			cr_assert_eq(xiw_rdmap_post_work(&big, &w), 0);
			if (i + 1 < depth)
				continue;
			cr_expect_eq(xiw_rdmap_post_work(&big, &w), -EAGAIN);
			cr_assert(blocks <= most && blocks * XIW_RDMAP_OPS >= depth);
			cr_assert_eq(xiw_rdmap_next(&big, &out), 1);
			xiw_rdmap_sent(&big, out.id, true);
			cr_assert(xiw_rdmap_completed(&big, &op) &&
				  op.op.user_data == i + 1 - depth);
		}
		xiw_rdmap_free(&big);
		cr_assert_eq(blocks, 0);
	}
}

Test(rdmap_blocks, refused_without_memory)
{
	struct xiw_rdma_work w = { .size = sizeof(w), .kind = XIW_RDMA_SEND };
	struct xiw_rdmap_stream big;
	struct xiw_rdmap_out out;
	struct xiw_rdmap_op op;

	counted(&big, 64, 1);
	for (uint32_t i = 0; i < XIW_RDMAP_OPS; i++)
		cr_assert_eq(xiw_rdmap_post_work(&big, &w), 0);
	cr_expect_eq(xiw_rdmap_post_work(&big, &w), -ENOMEM);
	for (uint32_t i = 0; i < XIW_RDMAP_OPS; i++) {
		cr_assert_eq(xiw_rdmap_next(&big, &out), 1);
		xiw_rdmap_sent(&big, out.id, true);
		cr_assert(xiw_rdmap_completed(&big, &op));
	}
	cr_expect_eq(xiw_rdmap_post_work(&big, &w), 0);
	xiw_rdmap_free(&big);
	cr_expect_eq(blocks, 0);
}

/* The peer was told how many Reads it may have open, so the memory for them is not refused. */
Test(rdmap_blocks, answers_have_memory_while_they_are_open)
{
	const struct xiw_rdmap_read read = { .src_stag = 1 };
	uint8_t control = 0x41, buf[XIW_RDMAP_READ_LEN];
	const struct xiw_rdmap_in in = { .qn = 1,
					 .len = sizeof(buf),
					 .rsvdulp = &control,
					 .buf = buf,
					 .header = header,
					 .header_len = 18,
					 .segment_len = 18 + sizeof(buf) };
	struct xiw_rdmap_stream big;
	struct xiw_rdmap_out out;
	uint32_t none;

	counted(&big, 1, 0);
	xiw_rdmap_limits(&big, 40, 0);
	xiw_rdmap_read_encode(&read, buf);
	for (uint32_t n = 1; n <= 40; n++) {
		for (uint32_t i = 0; i < n; i++)
			cr_assert_eq(xiw_rdmap_received(&big, &in, &none), XIW_RDMAP_HANDLED);
		cr_assert(blocks <= (n + XIW_RDMAP_ANSWERS - 2) / XIW_RDMAP_ANSWERS + 1 &&
			  blocks * XIW_RDMAP_ANSWERS >= n);
		for (uint32_t i = 0; i < n; i++) {
			cr_assert_eq(xiw_rdmap_next(&big, &out), 1);
			xiw_rdmap_sent(&big, out.id, true);
		}
		cr_assert_eq(blocks, 0);
	}
	for (uint32_t i = 0; i < 40; i++)
		cr_assert_eq(xiw_rdmap_received(&big, &in, &none), XIW_RDMAP_HANDLED);
	cr_expect_eq(xiw_rdmap_received(&big, &in, &none), XIW_RDMAP_ERROR);
	xiw_rdmap_free(&big);
	cr_expect_eq(blocks, 0);
}
