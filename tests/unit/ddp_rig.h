/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A receiver of DDP segments with one region, and segments for it. */
#ifndef XIW_TESTS_UNIT_DDP_RIG_H
#define XIW_TESTS_UNIT_DDP_RIG_H

#include "ddp/recv.h"

enum { PD = 3, STREAM = 5, DEPTH = 4, STAG = 0x1000, BASE = 0x10000, LEN = 1000, BUF = 100 };

extern struct xiw_ddp_table ddp_table;
extern struct xiw_ddp_rx *rx;
extern uint8_t mem[LEN], other[LEN], bufs[DEPTH][BUF];

void region_add(uint32_t stag, uint32_t pd, uint32_t stream, uint32_t access, uint64_t base,
		void *ptr);
void ddp_begin(void);
void ddp_end(void);
struct xiw_ddp_hdr tagged(uint32_t stag, uint64_t to, bool last);
struct xiw_ddp_hdr untagged(uint32_t qn, uint32_t msn, uint32_t mo, bool last);
/* Posts bufs[i] with user_data 100 + i. */
void post_buf(uint32_t qn, int i);
/* Places a segment and, if that is allowed, delivers it. */
enum xiw_ddp_error receive(struct xiw_ddp_hdr h, uint32_t len, struct xiw_ddp_place *p,
			   struct xiw_ddp_msg *m);

#endif
