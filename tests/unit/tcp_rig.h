/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A receiver under test, and segments relative to its rcv_nxt. Every table runs from several initial sequence numbers,
 * so that each case also crosses 2^31 and 2^32.
 */
#ifndef XIW_TESTS_UNIT_TCP_RIG_H
#define XIW_TESTS_UNIT_TCP_RIG_H

#include "tcp/recv.h"

#define RIG_SND 0x9000u /* our SND.NXT, relative to the base */
#define RIG_WND 10000u
#define RIG_MSS 1000
#define RIG_TS 500u
#define RIG_NODES 64

struct rig {
	struct xiw_tcp_rx rx;
	struct xiw_tcp_rx_conf conf;
	struct xiw_tcp_take take;
	struct xiw_tcp_keep node[RIG_NODES];
	unsigned int used;
	uint32_t base; /* the first rcv_nxt */
	uint64_t now;
	uint8_t ack[XIW_TCP_MAX];
	struct xiw_tcp_seg sent; /* the last ACK, parsed back */
};

#define RIG_BASES 6
extern const uint32_t rig_bases[RIG_BASES];
#define RIG_EACH_BASE(b) for (unsigned int b = 0; b < RIG_BASES; b++)

enum { RIG_NO_TS = 1, RIG_NO_SACK = 2, RIG_ECN = 4 };

void rig_init(struct rig *r, uint32_t base, int opts);
/* A plain segment at rcv_nxt + off. */
struct xiw_tcp_seg rig_seg(const struct rig *r, int32_t off, uint32_t len);
/* Is an ACK to be sent now, within a batch or at its end? */
static inline bool rig_due(const struct rig *r, bool end)
{
	return xiw_tcp_rx_ack_due(&r->rx, r->now, end);
}

/* Gives the receiver a segment. */
enum xiw_tcp_action rig_in(struct rig *r, const struct xiw_tcp_seg *seg);
/*
 * Feeds a segment and does what a caller does: take it and all that follows, or keep it. Stops at CONTROL. Returns the
 * first answer, which is DROP for a duplicate of a kept segment.
 */
enum xiw_tcp_action rig_feed(struct rig *r, const struct xiw_tcp_seg *seg);
/* Feeds a plain segment. */
enum xiw_tcp_action rig_data(struct rig *r, int32_t off, uint32_t len);
/* Builds the ACK and parses it back. */
void rig_ack(struct rig *r);
/* SACK block i of the last ACK, relative to the base. */
void rig_expect_block(const struct rig *r, unsigned int i, uint32_t start, uint32_t end);

#endif
