/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection on the direct path without a kernel, and the packets of a long Tagged message that comes again and
 * again.
 */
#ifndef XIW_TESTS_UNIT_DIRECT_RIG_H
#define XIW_TESTS_UNIT_DIRECT_RIG_H

#include "core/engine.h"
#include "path/packet.h"
#include "path/straight.h"

enum {
	FLOW = 3,
	NFLOWS = 8,
	STAG = 0x700,
	SND = 5000,
	PAYLOAD = 120,
	OCTETS = 5 * PAYLOAD, /* of the message */
	FRAME = 512,
	KEPT = 8,
	ENTRIES = 8, /* of a ring */
	EPOCH = 9,
	NOW_MS = 1000,
};

#define SEQ 0x7fffff00u	  /* the stream passes 2^31 */
#define TSVAL 0xfffffffeu /* timestamps pass 2^32 */

/* What a packet consists of. */
struct shape {
	bool ip6, ts, tag;
	unsigned int frags;
	bool any_cpu; /* as on a CPU that takes two passes for CRC and checksum, not the best that this one can */
};

extern struct shape shape; /* of the packets */

/* All that packets can change. Nothing in it is allocated but `c.ddp`, and no pointer in it ever moves. */
struct world {
	struct xiw_conn c;
	struct xiw_engine e;
	struct xiw_netif netif;
	struct xiw_rxq q;
	struct xiw_flow flow;
	struct xiw_ddp_rx ddp;
	struct xiw_kept kept[KEPT];
	struct xiw_conn *by_flow[NFLOWS];
	uint64_t free_frames[64], tx_free[ENTRIES];
	struct xdp_desc tx[ENTRIES];
	uint64_t comp[ENTRIES];
	uint32_t ring_ends[4], ring_flags;
	struct xiw_entry entries[ENTRIES]; /* of the completion queue */
	uint8_t area[ENTRIES * FRAME];
	uint8_t memory[OCTETS + 64];
	struct xiw_straight line;
	bool kept_it;
};

extern struct world w;
extern struct xiw_ddp_rx *ddp; /* has its place for good; w.ddp is a copy */

/* The next packet: its octets behind its metadata, where its parts are, and how it lies in frames. */
extern uint8_t frame[sizeof(struct xiw_meta) + FRAME], pieces[3][FRAME];
extern uint32_t frame_len, l3, l4, payload_off, fpdu_len;
extern struct xiw_packet packet_now;
extern uint32_t sent, segments; /* octets of the message, and segments of the stream */

void rig_open(void);
void rig_close(void);
/* Places for ACKs and completions are free again. */
void rig_rings(void);
/* Makes the segment of the message that comes next. */
void rig_build(void);
/* Makes the packet's sums right again: MPA's if `crc`, TCP's, and that of IPv4. */
void rig_repair(bool crc);
/* Lays its octets out in frames. */
void rig_lay(void);

#endif
