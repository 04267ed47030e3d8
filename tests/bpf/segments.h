/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Random flows, queues and segments for test_classify.c. Most are states and segments that can occur. */
#ifndef XIW_TESTS_BPF_SEGMENTS_H
#define XIW_TESTS_BPF_SEGMENTS_H

#include "harness.h"
#include "ref.h"

#define MAX_PKT 12288
#define LIMIT XIW_WATCHDOG_NS
#define STUCK XIW_STUCK_NS
#define ENGINE 0x3abcdef1 /* the engine that serves most flows and queues */
#define NFLOWS 2

extern struct ref_flow ref_flows[NFLOWS];
extern struct xiw_flow ref_state[NFLOWS];

/* Values of run_needed. */
#define NRUNS 4
extern const uint32_t runs[NRUNS];

/* One generated segment, and where it was put. */
struct gen {
	uint8_t pkt[MAX_PKT];
	uint32_t len;
	int which; /* flow: 0 has IPv4 addresses, 1 IPv6 addresses */
	bool v6;   /* the packet is IPv6 */
	uint32_t l3, l4, hdr, ip_end;
	bool sound; /* nothing was damaged */
};

void gen_flow(struct xiw_flow *f, uint64_t now);
/* What a queue remembers of a flow's stretch. */
uint64_t gen_memory_of(int which);
void gen_queue(struct xiw_queue *q, uint64_t now);
void gen_packet(struct gen *g, uint32_t mtu);

#endif
