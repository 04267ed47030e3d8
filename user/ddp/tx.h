/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ddp/tx.h - the Data Source: cuts messages into segments, RFC 5041 section 5.2
 */
#ifndef XIW_DDP_TX_H
#define XIW_DDP_TX_H

#include <stdbool.h>
#include <stdint.h>

#include "ddp/hdr.h"

/* Section 5.2: a message is shorter than 2^32 octets, in either model. */
#define XIW_DDP_MSG_MAX UINT32_MAX

/* The MSN of the next message to each queue of the peer. */
struct xiw_ddp_tx {
	uint32_t nqueues;
	uint32_t *next_msn;
};

/* A message that is being cut. */
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

/*
 * nqueues is the number of the peer's queues, not 0; first_msn the first MSN of each, or 0 for 1. Returns 0, -EINVAL or
 * -ENOMEM.
 */
int xiw_ddp_tx_init(struct xiw_ddp_tx *tx, uint32_t nqueues, uint32_t first_msn);
/* Adds a queue behind the others. Returns 0 or -ENOMEM. */
int xiw_ddp_tx_add_queue(struct xiw_ddp_tx *tx, uint32_t first_msn);
void xiw_ddp_tx_free(struct xiw_ddp_tx *tx);

/*
 * Begins a message. Returns 0, -EMSGSIZE (longer than XIW_DDP_MSG_MAX) or -EINVAL (to + len wraps; no such queue). An
 * untagged message gets its MSN here, so messages must be sent in the order in which they were begun.
 */
int xiw_ddp_tx_tagged(struct xiw_ddp_tx_msg *m, uint32_t stag, uint64_t to, uint64_t len,
		      uint8_t rsvdulp);
int xiw_ddp_tx_untagged(struct xiw_ddp_tx *tx, struct xiw_ddp_tx_msg *m, uint32_t qn, uint64_t len,
			const uint8_t rsvdulp[XIW_DDP_UNTAGGED_RSVDULP_LEN]);

/*
 * Cuts the next segment, with at most mulpdu octets of header and payload; mulpdu may change from call to call. Returns
 * 1, 0 after the last one, or -EMSGSIZE if mulpdu leaves no room for payload: nothing has changed then, and a call with
 * a larger mulpdu goes on.
 */
int xiw_ddp_tx_next(struct xiw_ddp_tx_msg *m, uint32_t mulpdu, struct xiw_ddp_seg *seg);

#endif
