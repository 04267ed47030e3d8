/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a socket tells its peer of congestion. The fast path does what RFC 3168 section 6.1.3 asks for: ECE from the first
 * CE until CWR. What else there is takes the kernel's path, and xiw_egress leaves its bits alone.
 */
#ifndef XIW_HANDOFF_ECN_H
#define XIW_HANDOFF_ECN_H

#include <stdbool.h>
#include <stddef.h>

enum xiw_ecn {
	XIW_ECN_PLAIN, /* RFC 3168, or none at all */
	XIW_ECN_DCTCP, /* the congestion control wants an echo of each packet (RFC 8257 section 3.2) */
	XIW_ECN_ACCECN, /* the flags are a counter, and there is an option beside it (RFC 9768) */
};

/* @info: what TCP_INFO gave, @len octets of it; @cc: what TCP_CONGESTION gave. */
enum xiw_ecn xiw_ecn_read(const void *info, size_t len, const char *cc);
/* Of a connected socket. Negative errno. */
int xiw_ecn_of(int fd);
/* Why it has no direct path. */
const char *xiw_ecn_why(enum xiw_ecn ecn);

#endif
