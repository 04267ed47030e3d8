/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections that a program ends, and their memory, which a peer may write to until then and never after that: what
 * verbs_stop and fabric_stop share.
 */
#ifndef XIW_TESTS_NET_WATCHED_H
#define XIW_TESTS_NET_WATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WATCHED 8192u /* octets: the first half is the region for Writes, the second for buffers */
#define BUFFERS 8u
#define BUFFER 256u
#define MOST 256u

/* What a peer is told of the region. */
struct param {
	uint64_t to;
	uint32_t stag, unused;
};

struct watched {
	uint8_t *octets;	   /* a mapping of its own, all 0 */
	unsigned int posted, told; /* buffers, and their completions */
};

/* One for each connection, in the order in which they have come. */
extern struct watched watched[MOST];
extern unsigned int nwatched;

/* One more. Returns its number. */
unsigned int watched_new(void);

/* Where the next buffer of a connection is, which counts as posted. */
uint8_t *watched_buffer(unsigned int i);

/*
 * Each peer has sent, and has written if it writes. take() takes the completions that are there, counts them, and
 * posts as many buffers again if that is asked for.
 */
void watched_await_traffic(bool writes, void (*take)(unsigned int i, bool again));

/* Calls end() for each connection, and ends the program if a call seems to have waited for its peer. */
void watched_end_all(void (*end)(unsigned int i));

/*
 * The connections have ended: the program uses the memory for something else, and ends if any of it has changed within
 * a while. Then whoever touches it dies.
 */
void watched_check(void);
void watched_unmap(void);

/* The file is there: the script has come so far. */
void await_file(const char *path);

#endif
