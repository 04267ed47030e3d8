/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the cases of rdmap.c share: RDMAP messages of their own making over the FPDUs of lib/mpa.h, and the messages
 * and Terminates that the library sends.
 */
#ifndef XIW_TESTS_NET_RDMAP_H
#define XIW_TESTS_NET_RDMAP_H

#include "tests/net/lib/mpa.h"

#define BASE 0x10000u
#define READ_SIZE (4u << 20)
enum {
	READ_STAG = 0x1111,
	WRITE_STAG = 0x2222,
	OTHER_PD = 0x3333,
	NO_RIGHTS = 0x6666,
	INV_STAG = 0x5555
};
/* Where the library is told to read from and to write to. */
enum { OUR_STAG = 0x9999 };

enum { WRITE = 0x40, READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, SEND_SE, SEND_SE_INV, TERMINATE };

#define READ_LEN 28
#define DEPTH 4 /* IRD and ORD of both */

/* An ULPDU: what is sent in one FPDU. */
struct ulpdu {
	uint8_t u[8192];
	uint32_t len;
};

extern const struct test_case good_cases[], first_cases[], sink_cases[];

struct ulpdu *tagged_ulpdu(uint8_t ddp, uint8_t control, uint32_t stag, uint64_t to, uint32_t len);
struct ulpdu *untagged_ulpdu(uint8_t ddp, uint8_t control, uint32_t inv, uint32_t qn, uint32_t msn,
			     uint32_t mo, uint32_t len);
struct ulpdu *read_ulpdu(uint32_t msn, uint32_t sink_stag, uint64_t sink_to, uint32_t size,
			 uint32_t src_stag, uint64_t src_to);
const char *push_ulpdu(const struct ulpdu *m);
const char *push_send(uint8_t control, uint32_t inv, uint32_t msn, uint32_t len);

/* Connects to the library with Rev 2. `more`: options of its end. */
const char *open_responder(const char *more);
/* Three Writes, after which the stream is on the direct path where there is one. */
const char *warm_up(void);
/* The library connects. */
const char *open_initiator(const char *more);

/* An untagged message of one segment; its payload is behind 18 octets. */
const char *pull_untagged(struct fpdu *f, uint8_t control, uint32_t inv, uint32_t qn, uint32_t msn,
			  uint32_t len);
/* A tagged message of any number of segments, with octet(first) and so on. */
const char *pull_tagged(uint8_t control, uint32_t stag, uint64_t to, uint32_t len, uint64_t first);
/*
 * A Terminate (RFC 5040 section 4.8): "layer.type.code" and the headers that are included, D those of `m`, R its Read
 * Request. An answer that the library had begun may come first, and the orderly end follows.
 */
const char *pull_terminate(const char *want, const struct ulpdu *m);
/* The library closes; its account is compared with `fmt`. */
const char *ended(const char *fmt, ...);
/* We close, and so does the library. */
#define finished(...) (half_close() ?: ended(__VA_ARGS__))

#endif
