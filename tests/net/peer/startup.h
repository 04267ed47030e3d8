/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the cases of startup.c share: an MPA startup by hand, and the stream behind it. */
#ifndef XIW_TESTS_NET_STARTUP_H
#define XIW_TESTS_NET_STARTUP_H

#include "tests/net/lib/mpa.h"

#define OCTETS 1000 /* in each FPDU of the stream */

extern const struct test_case frame_cases[], order_cases[], delayed_cases[], enhanced_cases[],
	enhanced_direct_cases[], p2p_cases[];

/* Says which Markers and CRCs are used from now on, as the flags of both frames have it. */
void agree(uint8_t ours, uint8_t theirs);
/* Our FPDUs, a segment each, and a message each. */
const char *send_stream(void);
/* Everything has come, and from the first FPDU on by the path that this run is about. `want`: more of the account. */
const char *clean_end(const char *want);
/* The stream, and then a clean end. */
const char *stream_end(const char *want);
/* A frame that the library refuses: it closes at once, with MPA error 4 and no Reply. `role` is the library's. */
const char *refused(int role, const void *octets, size_t len, const char *status);
/* A Terminate with an MPA error, and then the end. */
const char *expect_terminate(uint8_t code, const char *status);
/* Behind a rejection the connection belongs to the applications again. */
const char *talk_on(const char *want);
void wait_us(long us);

#endif
