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

static inline uint64_t harness_random(void)
{
	static uint64_t x = HARNESS_SEED;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x * 0x2545f4914f6cdd1dull >> 16;
}

static inline uint32_t rnd(uint32_t below)
{
	return harness_random() % below;
}

static inline bool chance(uint32_t percent)
{
	return rnd(100) < percent;
}

static inline void *harness_map(struct harness *h, const char *name, size_t len)
{
	int fd = bpf_object__find_map_fd_by_name(h->obj, name);
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	cr_assert(at != MAP_FAILED, "mmap %s: %s", name, strerror(errno));
	return at;
}

static inline void harness_load(struct harness *h)
{
	const char *path = getenv("XIW_BPF_OBJ");

	cr_assert(!unshare(CLONE_NEWNET), "unshare: %s (root is needed)", strerror(errno));
	cr_assert(!system("ip link set lo up"));
	h->obj = bpf_object__open_file(path ? path : "build/bpf/xiwarp.bpf.o", NULL);
	cr_assert(h->obj, "open: %s", strerror(errno));
	cr_assert(!bpf_object__load(h->obj), "load: %s", strerror(errno));
	h->ingress = bpf_program__fd(bpf_object__find_program_by_name(h->obj, "xiw_ingress"));
	h->egress = bpf_program__fd(bpf_object__find_program_by_name(h->obj, "xiw_egress"));
	cr_assert(h->ingress >= 0 && h->egress >= 0);
	h->index_map = bpf_object__find_map_fd_by_name(h->obj, "xiw_flow_index");
	h->xsks_map = bpf_object__find_map_fd_by_name(h->obj, "xiw_xsks");
	h->stats_map = bpf_object__find_map_fd_by_name(h->obj, "xiw_stats");
	h->flows = harness_map(h, "xiw_flows", sizeof(*h->flows) * XIW_MAX_FLOWS);
	h->queues = harness_map(h, "xiw_queues", sizeof(*h->queues) * XIW_MAX_QUEUES);
}

/* Opens an AF_XDP socket in copy mode on one queue. Nobody reads from it. Returns its fd. */
static inline int harness_xsk(const char *ifname, uint32_t queue)
{
	size_t size = 64 * 4096;
	void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct xdp_umem_reg reg = { .addr = (uintptr_t)area, .len = size, .chunk_size = 4096 };
	struct sockaddr_xdp to = { .sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY };
	int entries = 64, fd = socket(AF_XDP, SOCK_RAW, 0);

	cr_assert(fd >= 0 && area != MAP_FAILED);
	cr_assert(!setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg)));
	cr_assert(!setsockopt(fd, SOL_XDP, XDP_UMEM_FILL_RING, &entries, sizeof(entries)));
	cr_assert(!setsockopt(fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &entries, sizeof(entries)));
	cr_assert(!setsockopt(fd, SOL_XDP, XDP_RX_RING, &entries, sizeof(entries)));
	to.sxdp_ifindex = if_nametoindex(ifname);
	to.sxdp_queue_id = queue;
	cr_assert(!bind(fd, (void *)&to, sizeof(to)), "bind: %s", strerror(errno));
	return fd;
}

static inline uint64_t harness_stat(struct harness *h, uint32_t stat)
{
	uint64_t v[256] = { 0 }, sum = 0;
	int i, cpus = libbpf_num_possible_cpus();

	cr_assert(cpus > 0 && cpus <= 256);
	cr_assert(!bpf_map_lookup_elem(h->stats_map, &stat, v));
	for (i = 0; i < cpus; i++)
		sum += v[i];
	return sum;
}

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

/* The TCP checksum over a segment with its checksum field: 0 if that is right (RFC 9293 section 3.1). */
static inline uint16_t harness_tcp_sum(const struct xiw_flow_key *key, const uint8_t *th,
				       uint32_t len)
{
	const uint8_t *addr = (const uint8_t *)key;
	uint32_t i, sum = 6 + len;

	/* The ::ffff of an IPv4 key adds 0xffff twice, which changes nothing in one's complement. */
	for (i = 0; i < 32; i += 2)
		sum += get16(addr + i);
	for (i = 0; i + 1 < len; i += 2)
		sum += get16(th + i);
	if (len & 1)
		sum += th[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

#endif /* XIW_TESTS_BPF_HARNESS_H */
