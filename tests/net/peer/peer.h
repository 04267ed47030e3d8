/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the cases of peer.c share: DDP segments of their own making, one connection to `xiwarp sink` for each case, and
 * what the sink reports about that connection.
 */
#ifndef XIW_TESTS_NET_PEER_H
#define XIW_TESTS_NET_PEER_H

#include "tests/net/lib/mpa.h"

#define SIZE (16u << 20)
#define RECV_SIZE 65536
#define ULPDU_MAX 64768
#define CLEAN "mpa_error=0 ddp_error=false crc_errors=0 socket_error= "

struct sink {
	struct sockaddr_in addr;
	uint8_t theirs; /* the flags of its Reply */
	uint32_t stag;
	const char *json, *out;
	uint16_t from;
	uint64_t to, begun; /* what is sent correctly goes to TO `begun` up to `to` */
};

extern struct sink sink;

/* An FPDU with the next `len` octets of the buffer. Returns its length. */
uint32_t good(uint8_t *to, uint8_t last, uint32_t len);
/* Sends a message of some segments. */
const char *prelude(unsigned int segments);

const char *start(uint8_t ours);
/* The value of a key in the sink's report. */
const char *field(const char *key, char *buf, size_t size);
/* The sink's report has `key=value ...`. */
const char *reported(const char *fmt, ...);
/* All that was sent correctly is in the buffer. */
const char *content(void);
/* Both ends close. */
const char *finish(void);
/*
 * Both ends close, and everything has come. FPDUs that are not aligned to segments may make the sink leave the direct
 * path, which the aligned ones at the beginning took.
 */
const char *end_anyhow(unsigned int fpdus, unsigned int tagged_messages,
		       unsigned int untagged_octets);
/* Both ends close, and everything has come by the path that this run is about. */
const char *end_all(unsigned int fpdus, unsigned int tagged_messages,
		    unsigned int untagged_messages, uint32_t untagged_octets);

#endif
