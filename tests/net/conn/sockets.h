/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of sockets.c share: an engine with a region, and its application. */
#ifndef XIW_TESTS_NET_SOCKETS_H
#define XIW_TESTS_NET_SOCKETS_H

#include <xiwarp/xiwarp.h>

#include "tests/net/lib/common.h"
#include "tests/net/lib/octets.h"

#define STAG 0x1234u
#define SIZE (1u << 20)
#define PIECE 1000u
#define PATIENCE_MS 15000
#define TOS 0x28
#define HOPS 77

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			snprintf(why, sizeof(why), "line %d: %s: %s", __LINE__, #x,                \
				 strerror(errno));                                                 \
			return false;                                                              \
		}                                                                                  \
	} while (0)
#define UNTIL(x)                                                                                   \
	do {                                                                                       \
		uint64_t start_ = now_ms();                                                        \
		while (!(x) && now_ms() - start_ < PATIENCE_MS)                                    \
			turn(20);                                                                  \
		CHECK(x);                                                                          \
	} while (0)

extern struct xiw_engine *engine;
extern uint8_t memory[SIZE];	   /* the region */
extern struct xiw_completion last; /* of the connection's events */
extern unsigned int written;
extern char why[256];

bool begin(struct xiw_region **r);
void turn(int ms);

/* The library's end of a connection on the direct path, and the peer, which watches packets. 0: all is right. */
int receive_marked(uint16_t port);
int send_and_watch(const char *host, uint16_t port, const char *ifname);

#endif
