/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host/mr.h - memory regions: the checks of the pieces of posted work. */
#ifndef XIW_HOST_MR_H
#define XIW_HOST_MR_H

#include <sys/uio.h>

#include "host/host.h"

/* The region that the last piece was in, so that the next one need not look it up. Zeros at first. */
struct xiw_host_seen {
	uint64_t era;
	uint32_t lkey;
	bool writable;
	char *memory;
	size_t len;
	uint64_t base_to;
};

struct xiw_host_sge_rules {
	uint32_t pd;
	unsigned int max;
	bool unchecked; /* lkeys do not count */
};

/*
 * Checks pieces and makes iov, of rules->max elements, of them. Returns the sum of their lengths, -EINVAL, or -EMSGSIZE
 * for 2^32 octets or more. `write`: they are to be written.
 */
int64_t xiw_host_pieces(const struct xiw_host_sge *sge, unsigned int n,
			const struct xiw_host_sge_rules *rules, bool write,
			struct xiw_host_seen *seen, struct iovec *iov);

/*
 * Counts regions that were freed: what was checked with an older number may be memory that is no longer registered.
 * What was posted to a ring first has the oldest one.
 */
uint64_t xiw_host_era(void);

/*
 * In the thread of engine e, before pieces that were checked at *era are written: empties them if one is no longer
 * registered, and sets *era. Returns false then.
 */
bool xiw_host_recheck(struct xiw_engine *e, const struct xiw_host_sge_rules *rules,
		      uint64_t *era, struct iovec *iov, unsigned int n);

#endif
