/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the two ends of sender.c share: FPDUs are read octet by octet, and what breaks a rule is counted. */
#ifndef XIW_TESTS_NET_SENDER_H
#define XIW_TESTS_NET_SENDER_H

#include <netdb.h>

#include "tests/net/lib/common.h"
#include "tests/net/lib/octets.h"

#define STAG 0x1234
#define FPDU_MAX 65800
#define REPLY 100
#define REPLIES 8192

extern bool markers;
extern unsigned int wrong;

#define broken(...) (wrong++ < 10 ? (void)fprintf(stderr, "sender: " __VA_ARGS__) : (void)0)

/* The octet at this offset of the stream. */
uint8_t stream_octet(uint64_t at);

/* ---- reading FPDUs (RFC 5044 section 4) ------------------------------------------------------ */

struct reader {
	uint64_t pos;		/* of the next octet, from the first FPDU */
	uint8_t raw[FPDU_MAX];	/* the FPDU so far */
	uint8_t data[FPDU_MAX]; /* and without its markers */
	uint32_t raw_len, data_len, markers;
	uint64_t length_at;	      /* position of ULPDU_Length */
	uint64_t to, messages, fpdus; /* what is to come next, and what came */
};

uint32_t ulpdu_len(const struct reader *r);
/* True: the octet completes an FPDU. begin_fpdu() then forgets it. */
bool read_octet(struct reader *r, uint8_t octet);
void begin_fpdu(struct reader *r);

/* ---- the receiver ---------------------------------------------------------------------------- */

/* Waits for a connection. `mss`, `window`: 0, or what the socket announces. */
int accept_on(const struct addrinfo *a, int mss, int window);
/* To the end of the stream: answers every `every`-th message, or none, and reads so many octets at once. */
void receive(int fd, unsigned int every, size_t piece);

/* ---- the wire -------------------------------------------------------------------------------- */

struct watch {
	int fd;
	uint16_t port;	/* of the peer, network order */
	uint32_t emss;	/* 0: any */
	uint32_t later; /* EMSS when the stream has come to `at`, or 0 */
	uint64_t at;
	uint32_t base, next; /* seq: of the first FPDU, of what is to be seen next */
	uint32_t back;	     /* seq of the peer's data that is to be seen next */
	uint32_t edge;	     /* the right edge of the peer's window */
	unsigned int wscale;
	struct reader reader;
	uint64_t segments, aligned, full, resent, last_bad, longest;
	uint64_t probes; /* segments that are not aligned, and fill the peer's window */
	uint64_t sacked; /* segments with more options than the first */
	uint8_t plain;	 /* the first one's data offset */
};

int watch_open(const char *ifname);
/* Reads what has been captured since. */
void watch(struct watch *w);

#endif
