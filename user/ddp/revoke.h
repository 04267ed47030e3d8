/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ddp/revoke.h - buffers of registered memory that is deregistered while they are posted
 *
 * A buffer that was posted as `registered` takes payload as long as regions have its memory. What an RNIC finds by the
 * key of each piece is found here when a region goes: a piece in its memory that no other region has empties the
 * buffer. Payload for such a buffer ends the stream with XIW_DDP_LOCAL_CATASTROPHIC.
 */
#ifndef XIW_DDP_REVOKE_H
#define XIW_DDP_REVOKE_H

#include "ddp/recv.h"
#include "ddp/srq.h"

/* Memory that has all that regions have lost. */
struct xiw_ddp_gone {
	const struct xiw_ddp_table *table;
	uintptr_t from;
	uint64_t len;
	const struct xiw_ddp_region
		*seen; /* which had the memory that was looked for last, or NULL */
};

/*
 * True if the memory (len is not 0) lies in a region that takes payload. Looks at all regions of the table unless *seen
 * has it, and sets that.
 */
bool xiw_ddp_registered(const struct xiw_ddp_table *t, const void *ptr, uint64_t len,
			const struct xiw_ddp_region **seen);

/* Empties the buffers that have a piece in memory that is gone. */
void xiw_ddp_rx_revoke(struct xiw_ddp_rx *rx, struct xiw_ddp_gone *gone);
void xiw_ddp_srq_revoke(struct xiw_ddp_srq *srq, struct xiw_ddp_gone *gone);

/* Invalidates the regions in pieces, made of registered memory, that have one in memory that is gone. */
void xiw_ddp_sinks_revoke(struct xiw_ddp_table *t, struct xiw_ddp_gone *gone);

#endif
