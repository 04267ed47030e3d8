/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A plain end that sends FPDUs which are by turns aligned to segments and not, and reads what flows back: a tagged
 * stream to an STag, in order from TO 0 on.
 */
#ifndef XIW_TESTS_NET_TURNS_H
#define XIW_TESTS_NET_TURNS_H

#include "tests/net/lib/plain.h"

struct turns {
	/*
	 * The program makes one FPDU of a ULPDU of at most this length with put_segment(), and sets `done` at the
	 * end.
	 */
	void (*put)(uint32_t ulpdu);
	/* It checks the payload that comes, at offset `back_seen`; `last`: a message ends there. */
	void (*on_back)(const uint8_t *payload, uint32_t len, bool last);
	uint32_t stag; /* of what flows back */

	struct xiw_mpa_tx tx;
	uint64_t sent; /* payload octets */
	bool done;
	uint8_t octets[512 << 10];
	size_t len;
	uint64_t back_seen; /* payload octets */
};

extern struct turns turns;

void put_segment(const struct xiw_ddp_hdr *h, const uint8_t *payload, uint32_t len);
/*
 * Sends everything, in about so many turns of each kind (0: aligned throughout), and reads what flows back to its
 * end.
 */
void send_by_turns(uint64_t octets, unsigned int number, uint64_t seed);
/* Sends everything without regard to segments, and reads what flows back to its end. */
void send_misaligned(void);

#endif
