/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The BPF programs compiled into a process, with maps and helpers of this file. Packets are within reach of a 32-bit
 * address, as the programs' contexts hold such addresses, and ASan's red zone follows the linear part.
 */
#ifndef XIW_TESTS_FUZZ_XDP_H
#define XIW_TESTS_FUZZ_XDP_H

#include <stdbool.h>
#include <stdint.h>

#include <xiwarp/abi.h>

#define XDP_FLOWS 4
#define XDP_CPUS 2
#define XDP_PACKET_MAX 16384u

struct xdp_packet {
	uint8_t *octets; /* changed in place */
	uint32_t len;
	uint32_t linear; /* of these, how many the program can access without a helper */
	uint32_t queue;
	bool has_meta;
	struct xiw_meta meta;
};

/* The maps. A key of zeros is never found. */
extern struct xiw_flow xdp_flows[XDP_FLOWS];
extern struct xiw_flow_key xdp_index[XDP_FLOWS];
extern struct xiw_queue xdp_queue; /* queue 0, the only one */
extern uint64_t xdp_stats[XDP_CPUS][XIW_STAT__COUNT];

/* The surroundings. */
extern bool xdp_xsk;	     /* an AF_XDP socket is on queue 0 */
extern bool xdp_no_headroom; /* the driver leaves no room in front of a packet */
extern uint64_t xdp_now;     /* the coarse clock; the watchdog's limit is XIW_WATCHDOG_NS */

/* Called before each access to memory that others write too; may be NULL. */
extern void (*xdp_step)(void);

void xdp_reset(void);

static inline uint64_t xdp_clock(void)
{
	return __atomic_load_n(&xdp_now, __ATOMIC_RELAXED);
}

/* Runs xiw_ingress on CPU @cpu. Returns an enum xdp_action. */
int xdp_ingress(struct xdp_packet *p, unsigned int cpu);
/* Runs xiw_egress. Returns TC_ACT_UNSPEC or TC_ACT_SHOT. */
int xdp_egress(struct xdp_packet *p, unsigned int cpu);

#endif /* XIW_TESTS_FUZZ_XDP_H */
