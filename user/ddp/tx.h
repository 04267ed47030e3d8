/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ddp/tx.h - the Data Source: cuts messages into segments, RFC 5041 section 5.2
 */
#ifndef XIW_DDP_TX_H
#define XIW_DDP_TX_H

#include <stdbool.h>
#include <stdint.h>

#include "ddp/hdr.h"

/* Section 5.2: the length of a message is less than 2^32, of either model. */
#define XIW_DDP_MSG_MAX UINT32_MAX

/* The MSN of the next message to each queue of the peer. */
struct xiw_ddp_tx {
	uint32_t nqueues;
	uint32_t *next_msn;
};

/* A message being cut. */
struct xiw_ddp_tx_msg {
	struct xiw_ddp_hdr hdr; /* as of its first segment */
	uint32_t len;
	uint32_t off; /* payload cut so far */
	bool done;
};

struct xiw_ddp_seg {
	struct xiw_ddp_hdr hdr;
	uint32_t off; /* of the payload, in the message */
	uint32_t len;
};

/* nqueues: as many as the peer has; not 0. first_msn: of each; 0: 1. Returns 0, -EINVAL or -ENOMEM. */
int xiw_ddp_tx_init(struct xiw_ddp_tx *tx, uint32_t nqueues, uint32_t first_msn);
void xiw_ddp_tx_free(struct xiw_ddp_tx *tx);

/*
 * Begin a message. Return 0, -EMSGSIZE (longer than XIW_DDP_MSG_MAX) or -EINVAL (to + len wraps; no
 * such queue). An untagged message takes its MSN here, so messages must be sent in the order begun.
 */
int xiw_ddp_tx_tagged(struct xiw_ddp_tx_msg *m, uint32_t stag, uint64_t to, uint64_t len,
		      uint8_t rsvdulp);
int xiw_ddp_tx_untagged(struct xiw_ddp_tx *tx, struct xiw_ddp_tx_msg *m, uint32_t qn, uint64_t len,
			const uint8_t rsvdulp[XIW_DDP_UNTAGGED_RSVDULP_LEN]);

/*
 * The next segment, header and payload at most mulpdu octets, which may change from call to call.
 * Returns 1, 0 after the last one, or -EMSGSIZE if mulpdu leaves no room for payload (nothing
 * changed: call again when it has grown).
 */
int xiw_ddp_tx_next(struct xiw_ddp_tx_msg *m, uint32_t mulpdu, struct xiw_ddp_seg *seg);

#endif
