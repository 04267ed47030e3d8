/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A Stream under test with a table of regions, messages for it, and what it says about an error. */
#ifndef XIW_TESTS_UNIT_RDMAP_RIG_H
#define XIW_TESTS_UNIT_RDMAP_RIG_H

#include "rdmap/stream.h"

#define PD 5
#define STREAM 9
#define BASE 0x10000
#define SIZE 4096
#define DEPTH 8

extern struct xiw_ddp_table table;
extern struct xiw_rdmap_stream s;
extern uint8_t memory[SIZE];
extern uint32_t rd, wr, other_pd, other_stream, bound, bound_wr; /* STags */
extern uint32_t words;	   /* with the right for atomic operations, in a stream with RFC 7306 */
extern uint8_t header[18]; /* of the last message that came in */

/* Registers `memory` as a region. Returns its STag. */
uint32_t region(uint32_t pd, uint32_t stream, uint32_t access);
void rdmap_begin(void);
/* A stream with RFC 7306. */
void rdmap_begin_extended(void);
void rdmap_end(void);
/* Begins the stream again after an error, for the next case of a table. */
void rdmap_anew(void);

/* ---- what comes in --------------------------------------------------------------------------- */

enum xiw_rdmap_result in_untagged(uint8_t control, uint32_t qn, const uint8_t *buf, uint32_t len,
				  uint32_t inv, uint32_t *invalidated);
enum xiw_rdmap_result in_tagged(uint8_t control, uint32_t stag, uint64_t to, uint64_t len);
enum xiw_rdmap_result in_read(uint32_t size, uint32_t stag, uint64_t to, uint64_t sink_to);
enum xiw_rdmap_result in_atomic(uint8_t code, uint32_t stag, uint64_t to,
				const struct xiw_rdma_atomic *operands);
/* The stream has failed with this error, and its Terminate includes these headers. */
void expect_failed(enum xiw_rdmap_error error, bool ddp, bool read);

/* ---- what is posted -------------------------------------------------------------------------- */

int post(enum xiw_rdma_kind kind, unsigned int flags, uint64_t len);

#endif
