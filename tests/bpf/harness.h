/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the BPF tests share: a network namespace of their own, the loaded object with its flows mapped into memory, and
 * an AF_XDP socket for xiw_xsks.
 */
#ifndef XIW_TESTS_BPF_HARNESS_H
#define XIW_TESTS_BPF_HARNESS_H

#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <xiwarp/abi.h>

struct harness {
	struct bpf_object *obj;
	int ingress, egress; /* programs */
	int index_map, xsks_map, stats_map;
	struct xiw_flow *flows;
	struct xiw_queue *queues;
};

#define HARNESS_SEED 0x9e3779b97f4a7c15ull

uint64_t harness_random(void);
uint32_t rnd(uint32_t below);
bool chance(uint32_t percent);
void harness_load(struct harness *h);
/* Opens an AF_XDP socket in copy mode on one queue. Nobody reads from it. Returns its fd. */
int harness_xsk(const char *ifname, uint32_t queue);
uint64_t harness_stat(struct harness *h, uint32_t stat);
/* The TCP checksum over a segment with its checksum field: 0 if that is right (RFC 9293 section 3.1). */
uint16_t harness_tcp_sum(const struct xiw_flow_key *key, const uint8_t *th, uint32_t len);

static inline void put16(uint8_t *p, uint32_t v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static inline void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static inline uint32_t get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static inline uint32_t get32(const uint8_t *p)
{
	return get16(p) << 16 | get16(p + 2);
}

#endif
