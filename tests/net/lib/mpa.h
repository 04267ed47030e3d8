/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a peer made of plain sockets (cases.h) knows from the RFCs: startup frames as octets, and FPDUs with and
 * without Markers and CRCs, in both directions. Nothing here comes from the library.
 */
#ifndef XIW_TESTS_NET_MPA_H
#define XIW_TESTS_NET_MPA_H

#include "tests/net/lib/cases.h"

enum { M = 0x80, C = 0x40, R = 0x20, S = 0x10 }; /* flags of a startup frame */
enum { RTR_SEND = 1, RTR_WRITE = 2, RTR_READ = 4 };
enum { REQUEST, REPLY };
enum { TAGGED = 0x80, LAST = 0x40, DV = 1 };

#define ROOM 70000 /* for the longest FPDU */

struct fpdu {
	uint8_t ulpdu[4096];
	uint32_t len;
};

/* ---- startup frames ------------------------------------------------------------------------------ */

/* Returns the length. `enhanced`: the 4 octets of RFC 6581, or NULL; `pd`: octets of Private Data behind them. */
size_t make_frame(uint8_t *f, int which, uint8_t flags, uint8_t rev, const uint8_t *enhanced,
		  size_t pd);
const char *send_frame(int which, uint8_t flags, uint8_t rev, const uint8_t *enhanced, size_t pd);
/* The library's frame, octet for octet. */
const char *expect_frame(int which, uint8_t flags, uint8_t rev, const uint8_t *enhanced, size_t pd);
/* RFC 6581's control flags and depths: A, B, IRD, C, D, ORD. */
const uint8_t *enhanced(int p2p, int rtr, unsigned int ird, unsigned int ord);

/* ---- FPDUs --------------------------------------------------------------------------------------- */

/* One FPDU (RFC 5044 section 4). All these return its length. */
uint32_t make_fpdu(uint8_t *to, const uint8_t *ulpdu, uint32_t len);
/*
 * ULPDUs (RFC 5041 sections 4.2 and 4.3): the first octet as given, then RsvdULP, and the payload from octet(first) or
 * octet(mo) on.
 */
uint32_t make_tagged(uint8_t *u, uint8_t ddp, uint8_t rsvd, uint32_t stag, uint64_t to,
		     uint64_t first, uint32_t len);
uint32_t make_untagged(uint8_t *u, uint8_t ddp, uint64_t rsvd, uint32_t qn, uint32_t msn,
		       uint32_t mo, uint32_t len);
/* FPDUs with such a ULPDU in them. */
uint32_t tagged_segment(uint8_t *to, uint8_t control, uint32_t stag, uint64_t offset, uint32_t len);
uint32_t untagged_segment(uint8_t *to, uint8_t control, uint32_t qn, uint32_t msn, uint32_t mo,
			  uint32_t len);
/* An RDMA Write to STag 0x1234, or of nothing; and any other RDMAP message of one segment. */
uint32_t tagged(uint8_t *to, uint64_t offset, uint32_t len);
uint32_t untagged(uint8_t *to, uint8_t opcode, uint32_t qn, uint32_t msn, uint32_t len);

/* The library's next FPDU, with Markers and CRC checked. */
const char *pull_fpdu(struct fpdu *f);
/* The library's message to our queue 0. */
const char *expect_message(uint32_t msn, uint32_t len);

#endif
