/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdmap/reads.h - our RDMA Reads and atomic operations that wait for their answer, and what the peer may access. An
 * atomic operation counts as a Read wherever Reads are limited or ordered (RFC 7306 sections 5.2 and 7).
 */
#ifndef XIW_RDMAP_READS_H
#define XIW_RDMAP_READS_H

#include "rdmap/stream.h"

/* The oldest Read without an answer; NULL: there is none. */
struct xiw_rdmap_op *xiw_rdmap_oldest_read(struct xiw_rdmap_stream *s);
/* Ends it: its answer has arrived, or will not (@success false). */
void xiw_rdmap_read_done(struct xiw_rdmap_stream *s, bool success);

/* The STag that was made for the operation, if any, is not valid any more. */
void xiw_rdmap_drop_sink(struct xiw_rdmap_stream *s, struct xiw_rdmap_op *o);

/*
 * The checks of section 7.2 for what a Read Request or an Atomic Request names. XIW_RDMAP_OK: the peer has the right
 * @access, one of enum xiw_ddp_access, and @region is set.
 */
enum xiw_rdmap_error xiw_rdmap_check_region(const struct xiw_rdmap_stream *s, uint32_t stag,
					    uint64_t to, uint64_t len, uint32_t access,
					    const struct xiw_ddp_region **region);

#endif
