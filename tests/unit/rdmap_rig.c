// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/unit/rdmap_rig.h"

#include <criterion/criterion.h>
#include <string.h>

struct xiw_ddp_table table;
struct xiw_rdmap_stream s;
uint8_t memory[SIZE] __attribute__((aligned(8)));
uint32_t rd, wr, other_pd, other_stream, bound, bound_wr, words;
static bool extended;
uint8_t header[18];

static int number(void *ctx, uint32_t *n)
{
	(void)ctx;
	*n = (uint32_t)table.serial + 1;
	return 0;
}

uint32_t region(uint32_t pd, uint32_t stream, uint32_t access)
{
	const struct xiw_ddp_region_opts o = {
		.ptr = memory,
		.len = SIZE,
		.base = BASE,
		.pd = pd,
		.stream = stream,
		.access = access,
	};
	uint32_t stag;

	cr_assert_eq(xiw_ddp_region_register(&table, &o, &stag), 0);
	return stag;
}

static void begin(void)
{
	const struct xiw_rdmap_opts o = { .table = &table,
					  .pd = PD,
					  .stream = STREAM,
					  .depth = DEPTH,
					  .ird_max = 2,
					  .extended = extended };

	xiw_ddp_table_init(&table, number, NULL);
	rd = region(PD, 0, XIW_DDP_REMOTE_READ);
	wr = region(PD, 0, XIW_DDP_REMOTE_WRITE);
	other_pd = region(PD + 1, 0, XIW_DDP_REMOTE_READ | XIW_DDP_REMOTE_WRITE);
	other_stream = region(PD, STREAM + 1, XIW_DDP_REMOTE_READ);
	bound = region(PD, STREAM, XIW_DDP_REMOTE_READ);
	bound_wr = region(PD, STREAM, XIW_DDP_REMOTE_WRITE);
	if (extended)
		words = region(PD, 0, XIW_DDP_REMOTE_ATOMIC);
	cr_assert_eq(xiw_rdmap_init(&s, &o), 0);
	xiw_rdmap_limits(&s, 2, 2);
}

void rdmap_begin(void)
{
	extended = false;
	begin();
}

void rdmap_begin_extended(void)
{
	extended = true;
	begin();
}

void rdmap_end(void)
{
	xiw_rdmap_free(&s);
	xiw_ddp_table_free(&table);
}

enum xiw_rdmap_result in_untagged(uint8_t control, uint32_t qn, const uint8_t *buf, uint32_t len,
				  uint32_t inv, uint32_t *invalidated)
{
	uint8_t rsvdulp[5] = { control };
	const struct xiw_rdmap_in m = {
		.qn = qn,
		.len = len,
		.rsvdulp = rsvdulp,
		.buf = buf,
		.header = header,
		.header_len = 18,
		.segment_len = 18 + len,
	};
	uint32_t none;

	xiw_put_be32(rsvdulp + 1, inv);
	header[0] = 0x41;
	memcpy(header + 1, rsvdulp, 5);
	return xiw_rdmap_received(&s, &m, invalidated ? invalidated : &none);
}

enum xiw_rdmap_result in_tagged(uint8_t control, uint32_t stag, uint64_t to, uint64_t len)
{
	const struct xiw_ddp_region *r = xiw_ddp_region_lookup(&table, stag);
	const struct xiw_rdmap_in m = {
		.tagged = true,
		.contiguous = len,
		.stag = stag,
		.to = to,
		.len = len,
		.serial = r ? r->serial : 0,
		.rsvdulp = &control,
		.header = header,
		.header_len = 14,
		.segment_len = 14 + (uint32_t)len,
	};
	uint32_t none;

	header[0] = 0xc1;
	header[1] = control;
	return xiw_rdmap_received(&s, &m, &none);
}

enum xiw_rdmap_result in_read(uint32_t size, uint32_t stag, uint64_t to, uint64_t sink_to)
{
	const struct xiw_rdmap_read r = { 0x77, sink_to, size, stag, to };
	uint8_t buf[XIW_RDMAP_READ_LEN];

	xiw_rdmap_read_encode(&r, buf);
	return in_untagged(0x41, 1, buf, sizeof(buf), 0, NULL);
}

enum xiw_rdmap_result in_atomic(uint8_t code, uint32_t stag, uint64_t to,
				const struct xiw_rdma_atomic *operands)
{
	const struct xiw_rdmap_atomic a = {
		.code = code,
		.id = 0xa1b2c3d4,
		.stag = stag,
		.to = to,
		.operands = *operands,
	};
	uint8_t buf[XIW_RDMAP_ATOMIC_LEN];

	xiw_rdmap_atomic_encode(&a, buf);
	return in_untagged(0x4a, 1, buf, sizeof(buf), 0, NULL);
}

void expect_failed(enum xiw_rdmap_error error, bool ddp, bool read)
{
	cr_expect_eq(s.state, XIW_RDMAP_FAILED);
	cr_expect(s.info.sent.present);
	cr_expect_eq(s.info.sent.layer, XIW_RDMA_LAYER_RDMAP);
	cr_expect_eq(s.info.sent.etype << 8 | s.info.sent.code, (int)(error & 0xffff), "%u.%u",
		     s.info.sent.etype, s.info.sent.code);
	cr_expect_eq(s.info.sent.has_segment_len, ddp);
	cr_expect_eq(s.info.sent.has_ddp_header, ddp);
	cr_expect_eq(s.info.sent.has_read_request, read);
	if (ddp)
		cr_expect_arr_eq(s.info.sent.ddp_header, header, s.info.sent.ddp_header_len);
}

void rdmap_anew(void)
{
	rdmap_end();
	begin();
}

int post(enum xiw_rdma_kind kind, unsigned int flags, uint64_t len)
{
	static const struct xiw_rdma_atomic operands = { 1, 2, 3, 4 };
	static uint8_t buf[16];
	struct xiw_rdma_op op = {
		.kind = kind,
		.flags = flags,
		.len = len,
		.stag = 0x99,
		.to = 0x1000,
		.sink_stag = wr,
		.sink_to = BASE,
		.invalidate = 0x01020304,
		.user_data = s.tail,
	};

	if (kind == XIW_RDMA_FETCH_ADD || kind == XIW_RDMA_CMP_SWAP)
		op.atomic = &operands;
	else if (kind != XIW_RDMA_READ && kind != XIW_RDMA_IMMEDIATE)
		op.buf = buf;
	if (kind == XIW_RDMA_IMMEDIATE || kind == XIW_RDMA_WRITE_IMMEDIATE)
		op.immediate = 0x1122334455667788;
	return xiw_rdmap_post(&s, &op);
}
