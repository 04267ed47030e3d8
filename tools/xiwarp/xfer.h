/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xfer.h - the protocol by which put sends files to serve, on top of DDP. Version 2.
 *
 * put is the MPA Initiator, serve the Responder. Both post buffers of XIW_XFER_MAX octets on untagged queue 0 and use
 * no other queue. A connection carries one file after the other, each like this:
 *
 *   put                                       serve
 *    | OFFER {size, mode, name, key}   ------>  |  makes a temporary file, allocates space for its first
 *    |                                          |  octets, registers memory for this connection alone
 *    |  <------ GRANT {status, STag, base TO,   |
 *    |                 length}                  |
 *    | tagged messages: the next `length`       |
 *    | octets of the file, in order,            |
 *    | from base TO                    ------>  |  placed; before they are all here, there is space for the
 *    |  <------ GRANT                           |  next ones, which are granted, more each time; what has come
 *    | and so on                                |  is digested and written, once its STag is invalid
 *    | DONE {digest}                   ------>  |  invalidates the STags, digests and writes what is left,
 *    |                                          |  gives the file its name only if the digests are equal
 *    |  <------ RESULT {status, octets}         |
 *
 * A GRANT whose status is not 0 refuses the file, or the rest of it; put may offer the next one. An empty file has no
 * tagged messages, and the STag of its GRANT means nothing. At most two GRANTs are not used up at a time. DDP delivers
 * in order: when DONE is delivered, every octet before it is in place (RFC 5041 section 5.3). A message of another
 * form, or out of turn, ends the connection.
 *
 * Integers are in network byte order:
 *
 *   all     0 type (1 OFFER, 2 GRANT, 3 DONE, 4 RESULT) | 1 version | 2..3 status (0 in DONE)
 *   OFFER   2..3 the digest: 0 SHA-256, 1 GMAC | 4..7 mode, the permission bits | 8..15 size | 16..17 name's length
 *           | 18.. name | 16 octets of key, for a GMAC
 *   GRANT   4..7 STag | 8..15 base TO | 16..23 length
 *   DONE    4..35 the digest; behind a GMAC of 16 octets there are zeros
 *   RESULT  4..11 octets in the file
 */
#ifndef XIW_TOOL_XFER_H
#define XIW_TOOL_XFER_H

#include <stddef.h>
#include <stdint.h>

#include "digest.h"

#define XIW_XFER_VERSION 2
#define XIW_XFER_NAME_MAX 255
#define XIW_XFER_MAX (18 + XIW_XFER_NAME_MAX + XIW_DIGEST_KEY)

enum xiw_xfer_type {
	XIW_XFER_OFFER = 1,
	XIW_XFER_GRANT = 2,
	XIW_XFER_DONE = 3,
	XIW_XFER_RESULT = 4,
};

enum xiw_xfer_status {
	XIW_XFER_OK = 0,
	XIW_XFER_BAD_NAME = 1,
	XIW_XFER_EXISTS = 2,
	XIW_XFER_NO_SPACE = 3,
	XIW_XFER_TOO_LARGE = 4,
	XIW_XFER_MISMATCH = 5,
	XIW_XFER_FAILED = 6,
	XIW_XFER_NO_MEMORY = 7,
};

struct xiw_xfer {
	enum xiw_xfer_type type;
	uint16_t status; /* not of an OFFER */
	uint32_t mode, stag;
	uint64_t size;			  /* OFFER: of the file; RESULT: octets */
	uint64_t base_to, length;	  /* GRANT */
	char name[XIW_XFER_NAME_MAX + 1]; /* without a NUL inside; not checked otherwise */
	enum xiw_digest_kind kind;	  /* OFFER */
	uint8_t key[XIW_DIGEST_KEY];	  /* OFFER, for a GMAC */
	uint8_t digest[XIW_DIGEST_SIZE];  /* DONE */
};

/* Returns the length of the message. */
size_t xiw_xfer_encode(const struct xiw_xfer *x, uint8_t buf[XIW_XFER_MAX]);
/* Returns 0, or -EBADMSG: not a message of this version, or of a wrong length. */
int xiw_xfer_decode(struct xiw_xfer *x, const uint8_t *buf, size_t len);

/* True for a name that stays in its directory: one component, not hidden, without control characters. */
int xiw_xfer_name_ok(const char *name);
/* A few words, static storage. */
const char *xiw_xfer_status_name(unsigned int status);

#endif
