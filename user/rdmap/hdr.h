/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdmap/hdr.h - RDMAP's own headers in host form, RFC 5040 sections 4.4 and 4.8, RFC 7306 section 5.2
 */
#ifndef XIW_RDMAP_HDR_H
#define XIW_RDMAP_HDR_H

#include <stdint.h>

#include <xiwarp/rdmap.h>

#include "rdmap/wire.h"

struct xiw_rdmap_read {
	uint32_t sink_stag;
	uint64_t sink_to;
	uint32_t size;
	uint32_t src_stag;
	uint64_t src_to;
};

void xiw_rdmap_read_encode(const struct xiw_rdmap_read *r, uint8_t buf[XIW_RDMAP_READ_LEN]);
void xiw_rdmap_read_decode(struct xiw_rdmap_read *r, const uint8_t buf[XIW_RDMAP_READ_LEN]);

/* An Atomic Request. */
struct xiw_rdmap_atomic {
	uint8_t code; /* AOpCode, 4 bits; a number other than these two may come in */
	uint32_t id;
	uint32_t stag;
	uint64_t to;
	struct xiw_rdma_atomic operands;
};

void xiw_rdmap_atomic_encode(const struct xiw_rdmap_atomic *a, uint8_t buf[XIW_RDMAP_ATOMIC_LEN]);
void xiw_rdmap_atomic_decode(struct xiw_rdmap_atomic *a, const uint8_t buf[XIW_RDMAP_ATOMIC_LEN]);

/* Writes the header as the has_ members say, and t->control; returns its length. */
uint32_t xiw_rdmap_terminate_encode(struct xiw_rdma_terminate_info *t,
				    uint8_t buf[XIW_RDMAP_TERM_MAX]);

/*
 * Reads a Terminate message of len octets. Headers that do not fit in it are taken as absent, because the error itself
 * matters more. Returns 0, or -EBADMSG if even that is missing.
 */
int xiw_rdmap_terminate_decode(struct xiw_rdma_terminate_info *t, const uint8_t *buf, uint64_t len);

/* Makes a Terminate for an error of MPA, of DDP, or of RDMAP, without headers yet. */
void xiw_rdmap_terminate_mpa(struct xiw_rdma_terminate_info *t, enum xiw_mpa_error error);
void xiw_rdmap_terminate_ddp(struct xiw_rdma_terminate_info *t, enum xiw_ddp_error error);
void xiw_rdmap_terminate_own(struct xiw_rdma_terminate_info *t, enum xiw_rdmap_error error);

/*
 * Adds the DDP header of the segment in question and the segment's length, where Figure 10 has them: not for errors of
 * the LLP, nor for a Local Catastrophic Error. len: 14 or 18, else the header is left out.
 */
void xiw_rdmap_terminate_quote(struct xiw_rdma_terminate_info *t, const uint8_t *header,
			       uint32_t len, uint32_t segment_len);

/* Adds the Read Request, only behind a DDP header and for a Remote Protection Error of RDMAP. */
void xiw_rdmap_terminate_quote_read(struct xiw_rdma_terminate_info *t,
				    const struct xiw_rdmap_read *r);

#endif
