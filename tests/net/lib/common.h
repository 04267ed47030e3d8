/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs here share: exits, clocks, addresses, and streams of octets. Nothing comes from the library. */
#ifndef XIW_TESTS_NET_COMMON_H
#define XIW_TESTS_NET_COMMON_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* Print why, and exit with 1. */
void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...);
void __attribute__((noreturn)) die_errno(const char *what);

/* Ends the program unless the condition holds. */
#define IS(cond)                                                                                   \
	do {                                                                                       \
		if (!(cond))                                                                       \
			die("%s:%d: not so: %s (errno %d)", __FILE__, __LINE__, #cond, errno);     \
	} while (0)

/* The monotonic clock. */
uint64_t now_ms(void);
double now_s(void);

/* An IPv4 or IPv6 address. Returns its length, or 0 if `host` is none. */
socklen_t address_of(const char *host, uint16_t port, struct sockaddr_storage *ss);

/* A listening socket on any IPv4 address. */
int listen_on(uint16_t port);

/* ---- streams of octets, each a function of the stream and its offset alone ----------------------- */

/* The output function of splitmix64, and its increment. */
#define MIX_STEP 0x9e3779b97f4a7c15ull
uint64_t mix(uint64_t z);

/* The next number of a linear congruential generator, below `below`. */
uint32_t lcg(uint64_t *state, uint32_t below);

/* The 8 octets at offset 8 * n. */
uint64_t stream_word(uint64_t stream, uint64_t n);

/* `len` octets from offset `off` on. */
void stream_octets(uint64_t stream, uint64_t off, uint8_t *out, size_t len);

/* Index of the first octet of `got` that is wrong, or -1. */
int64_t stream_wrong(uint64_t stream, uint64_t off, const uint8_t *got, size_t len);

#endif
