/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdmap/error.h - what a stream's two halves share
 */
#ifndef XIW_RDMAP_ERROR_H
#define XIW_RDMAP_ERROR_H

#include "rdmap/stream.h"

/* The checks of section 7.2 for a Read Request's source; sets *region and returns XIW_RDMAP_OK if it may be read. */
enum xiw_rdmap_error xiw_rdmap_check_source(const struct xiw_rdmap_stream *s,
					    const struct xiw_rdmap_read *read,
					    const struct xiw_ddp_region **region);

/* The stream fails: the Terminate to be sent is made, from the first error only (section 7.1 rule 4). */
void xiw_rdmap_fail(struct xiw_rdmap_stream *s, enum xiw_rdmap_error error, const uint8_t *header,
		    uint32_t header_len, uint32_t segment_len, const struct xiw_rdmap_read *read);

/* The oldest Read without an answer; NULL: none. */
struct xiw_rdmap_op *xiw_rdmap_oldest_read(struct xiw_rdmap_stream *s);
void xiw_rdmap_read_done(struct xiw_rdmap_stream *s, bool success);

#endif
