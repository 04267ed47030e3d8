/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdmap/reads.h - RDMA Reads: ours that wait for their answer, and what the peer may read. */
#ifndef XIW_RDMAP_READS_H
#define XIW_RDMAP_READS_H

#include "rdmap/stream.h"

/* The oldest Read without an answer; NULL: there is none. */
struct xiw_rdmap_op *xiw_rdmap_oldest_read(struct xiw_rdmap_stream *s);
/* Ends it: its answer has arrived, or will not (@success false). */
void xiw_rdmap_read_done(struct xiw_rdmap_stream *s, bool success);

/* The checks of section 7.2 for a Read Request's source. XIW_RDMAP_OK: it may be read, and @region is set. */
enum xiw_rdmap_error xiw_rdmap_check_source(const struct xiw_rdmap_stream *s,
					    const struct xiw_rdmap_read *read,
					    const struct xiw_ddp_region **region);

#endif
