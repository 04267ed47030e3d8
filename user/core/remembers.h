/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a connection has to do with the causes that are remembered at its interface (path/remember.h). */
#ifndef XIW_CORE_REMEMBERS_H
#define XIW_CORE_REMEMBERS_H

#include <stdbool.h>
#include <stdint.h>

struct xiw_remembers {
	bool counted : 1; /* why the connection is barred has been counted */
	bool kept_off : 1; /* one of them keeps it off the direct path */
	bool tries : 1; /* it is its turn to try again nevertheless */
	bool carried : 1; /* its own direct path has carried for a second, and has not failed since */
	bool heard : 1; /* the peer has heard an ACK of this stretch */
	bool told : 1; /* the socket has sent segments since the stretch's first ACK */
	uint32_t began_at;    /* wire number of the stretch's first octet */
	uint32_t acks;	      /* counts.acks_sent then, modulo 2^32 */
	uint32_t went_direct; /* how often it had gone direct when its turn came, modulo 2^32 */
	uint32_t since_ms;    /* when it began, or when it was last noted to carry; modulo 2^32 */
	uint32_t acked_ms; /* when its first ACK was sent, modulo 2^32 */
	/* Of an ACK: its TSval, and how many segments xiw_egress had seen leave by then, modulo 2^32. */
	uint32_t acked_tsval, acked_egress;
};

#endif
