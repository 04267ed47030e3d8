/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The plain end of a stream: an Initiator on a kernel socket, whose TCP makes the segments. */
#ifndef XIW_TESTS_NET_PLAIN_H
#define XIW_TESTS_NET_PLAIN_H

#include <unistd.h>

#include "ddp/hdr.h"
#include "mpa/stream.h"
#include "mpa/tx.h"
#include "tests/net/lib/common.h"

struct plain {
	int sock;
	struct xiw_mpa_stream in; /* what flows back */
};

extern struct plain plain;

uint32_t plain_mss(void);
/* `isn`: an initial sequence number, or NULL. */
void plain_connect(const char *host, uint16_t port, const uint32_t *isn);
/* MPA startup. Returns how to frame what is sent. */
struct xiw_mpa_tx plain_startup(void);

#endif
