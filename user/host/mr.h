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

#endif
