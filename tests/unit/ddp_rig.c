// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/unit/ddp_rig.h"

#include <criterion/criterion.h>

struct xiw_ddp_table ddp_table;
struct xiw_ddp_rx *rx;
uint8_t mem[LEN], other[LEN], bufs[DEPTH][BUF];

void region_add(uint32_t stag, uint32_t pd, uint32_t stream, uint32_t access, uint64_t base,
		void *ptr)
{
	struct xiw_ddp_region_opts o = {
		.ptr = ptr,
		.len = LEN,
		.base = base,
		.pd = pd,
		.stream = stream,
		.access = access,
		.fixed = true,
		.stag = stag,
	};

	cr_assert_eq(xiw_ddp_region_register(&ddp_table, &o, &stag), 0);
}

void ddp_begin(void)
{
	struct xiw_ddp_rx_opts o = {
		.table = &ddp_table, .pd = PD, .stream = STREAM, .depth = DEPTH
	};

	xiw_ddp_table_init(&ddp_table, NULL, NULL);
	region_add(STAG, PD, XIW_DDP_ANY_STREAM, XIW_DDP_REMOTE_WRITE, BASE, mem);
	cr_assert_eq(xiw_ddp_rx_create(&rx, &o), 0);
}

void ddp_end(void)
{
	xiw_ddp_rx_free(rx);
	xiw_ddp_table_free(&ddp_table);
}

struct xiw_ddp_hdr tagged(uint32_t stag, uint64_t to, bool last)
{
	return (struct xiw_ddp_hdr){ .tagged = true,
				     .last = last,
				     .dv = 1,
				     .len = 14,
				     .rsvdulp = { 0x42 },
				     .stag = stag,
				     .to = to };
}

struct xiw_ddp_hdr untagged(uint32_t qn, uint32_t msn, uint32_t mo, bool last)
{
	return (struct xiw_ddp_hdr){ .last = last,
				     .dv = 1,
				     .len = 18,
				     .rsvdulp = { 1, 2, 3, 4, 5 },
				     .qn = qn,
				     .msn = msn,
				     .mo = mo };
}

void post_buf(uint32_t qn, int i)
{
	cr_assert_eq(xiw_ddp_rx_post(rx, qn, bufs[i], BUF, 100 + i), 0);
}

enum xiw_ddp_error receive(struct xiw_ddp_hdr h, uint32_t len, struct xiw_ddp_place *p,
			   struct xiw_ddp_msg *m)
{
	enum xiw_ddp_error err = xiw_ddp_rx_place(rx, &h, len, p);

	return err ? err : xiw_ddp_rx_deliver(rx, &h, len, m);
}
