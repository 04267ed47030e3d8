/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a socket tells its peer of congestion. The direct path does what RFC 3168 section 6.1.3 asks for: ECE from the
 * first CE until CWR. Connections that need anything else stay on the kernel path, where xiw_egress leaves their bits
 * alone.
 */
#ifndef XIW_HANDOFF_ECN_H
#define XIW_HANDOFF_ECN_H

#include <stdbool.h>
#include <stddef.h>

enum xiw_ecn {
	XIW_ECN_PLAIN, /* RFC 3168, or no ECN */
	XIW_ECN_DCTCP, /* the congestion control wants an echo of each packet (RFC 8257 section 3.2) */
	XIW_ECN_ACCECN, /* the flags are a counter, and there is an option beside it (RFC 9768) */
};

/* @info is what TCP_INFO returned, @len octets; @cc is what TCP_CONGESTION returned. */
enum xiw_ecn xiw_ecn_read(const void *info, size_t len, const char *cc);
/* The same for a connected socket; or a negative errno. */
int xiw_ecn_of(int fd);
/* Why such a connection has no direct path. */
const char *xiw_ecn_why(enum xiw_ecn ecn);

#endif
