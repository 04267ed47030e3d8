/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What of a connection's stream waits: for a buffer, or for its turn. */
#ifndef XIW_CORE_WAITS_H
#define XIW_CORE_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "tcp/recv.h"

struct xiw_kept;

/* path/hold.c: the stream stands in front of a Send for which no buffer is posted. */
struct xiw_hold {
	bool on; /* nothing is read from the socket, until the octets below are taken */
	bool waits; /* for a buffer; else a buffer was posted or the time is up, and the stream goes on in this turn */
	bool over;  /* the time is up */
	bool begun; /* the last three members are those of a hold, or of the patience before it */
	uint32_t at, len, room; /* of `octets`: what is not taken yet is from `at` to `len` */
	uint8_t *
		octets; /* were read behind the place where the stream stands; charged to the budget */
	uint64_t fpdus; /* that had been accepted when it began */
	uint64_t since_ms, until_ms;
	uint64_t look_ms; /* when the socket is looked at next */
};

/* path/packet.c, direct.c, fallback.c, gaps.c: packets that wait or are kept. conn/register.c sets peer. */
struct xiw_keeps {
	/* Until the socket has been read up to S, or behind `hand` */
	struct xiw_kept *waiting, **waiting_end;
	/* path/patience.c: the segment whose next Send has no buffer, and what of it has not been taken */
	struct xiw_kept *hand;
	struct xiw_tcp_take rest;
	uint32_t frames;   /* of all these, and of those behind a gap */
	/* path/gaps.c: where the stream stood at the last look; the end of what was kept, gap_looks looks ago. */
	uint32_t stood_at, gap_end;
	uint8_t look, gap_looks;
	uint8_t peer; /* whose share the frames are of (core/peer.h) */
	bool go_on;   /* a buffer was posted */
};

#endif
