/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A stretch that runs, without interface, engine's turns or socket, and one segment at a time for it. */
#ifndef XIW_TESTS_UNIT_STRETCH_RIG_H
#define XIW_TESTS_UNIT_STRETCH_RIG_H

#include "core/engine.h"
#include "path/packet.h"

enum { AT = 1000, LEN = 100 };

struct stretch {
	struct xiw_engine e;
	struct xiw_conn c;
	struct xiw_netif netif;
	struct xiw_flow flow;

	uint8_t frame[512];
	struct xiw_packet packet;
	struct xiw_meta meta;
};

/* In DIRECT, entered, at AT, which the socket's numbers have reached, too. The window has 10 * LEN octets. */
void stretch_begin(struct stretch *t);

/* Lays a segment of IPv4 without options in the frame. The values of its octets are 0, and it has no checksums. */
struct xiw_segment stretch_segment(struct stretch *t, uint32_t seq, uint32_t len);

#endif
