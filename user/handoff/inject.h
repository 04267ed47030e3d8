/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Injection gives a TCP segment to this host's own socket: it is sent through a raw IP socket, or a packet socket, to
 * the local address, arrives on lo, and never leaves the host. Segments carry kernel numbers and full checksums.
 */
#ifndef XIW_HANDOFF_INJECT_H
#define XIW_HANDOFF_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct xiw_injector {
	int fd4;
	int fd6;	 /* for link-local addresses */
	int lo6;	 /* for all other IPv6 addresses */
};

extern const struct xiw_injector xiw_injector_none; /* not open; closing it is fine */

/* -EPERM without CAP_NET_RAW; negative errno of socket(2). */
int xiw_injector_open(struct xiw_injector *in);
void xiw_injector_close(struct xiw_injector *in);

/*
 * What to inject. `ip` is the received packet from the IP header up to the TCP payload, in one piece. The segment that
 * is sent has its own seq, TSval, lengths and checksums, and no IP options. `payload` may be empty.
 */
struct xiw_inject {
	const uint8_t *ip;
	uint32_t l4_off; /* of the TCP header, from ip */
	uint32_t seq;	 /* kernel number of its first octet */
	/*
	 * The newest TSval injected, 0: none yet; NULL: there are no timestamps. A segment that is injected later than
	 * one that the peer sent after it must not carry an older value, or the kernel's PAWS drops it.
	 */
	uint32_t *tsval;
	uint32_t ifindex; /* scope of link-local addresses */
	const struct xiw_vec *payload;
	unsigned int pieces;
	bool cut; /* the payload is a part of the segment's, so FIN is left out */
};

/* 0, or negative errno. */
int xiw_inject(struct xiw_injector *in, const struct xiw_inject *what);

#endif
