// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "harness.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

uint64_t harness_random(void)
{
	static uint64_t x = HARNESS_SEED;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x * 0x2545f4914f6cdd1dull >> 16;
}

uint32_t rnd(uint32_t below)
{
	return harness_random() % below;
}

bool chance(uint32_t percent)
{
	return rnd(100) < percent;
}

static void *harness_map(struct harness *h, const char *name, size_t len)
{
	int fd = bpf_object__find_map_fd_by_name(h->obj, name);
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	cr_assert(at != MAP_FAILED, "mmap %s: %s", name, strerror(errno));
	return at;
}

/* Opens XIW_BPF_OBJ, or else the object in the build directory. */
static struct bpf_object *open_obj(void)
{
	const char *obj = getenv("XIW_BPF_OBJ"), *build = getenv("XIW_BUILD");
	char path[4096];

	snprintf(path, sizeof(path), "%s/bpf/xiwarp.bpf.o", build ? build : "build");
	return bpf_object__open_file(obj ? obj : path, NULL);
}

void harness_load(struct harness *h)
{
	cr_assert(!unshare(CLONE_NEWNET), "unshare: %s (root is needed)", strerror(errno));
	cr_assert(!system("ip link set lo up"));
	h->obj = open_obj();
	cr_assert(h->obj, "open: %s", strerror(errno));
	cr_assert(!bpf_object__load(h->obj), "load: %s", strerror(errno));
	h->ingress = bpf_program__fd(bpf_object__find_program_by_name(h->obj, "xiw_ingress"));
	h->egress = bpf_program__fd(bpf_object__find_program_by_name(h->obj, "xiw_egress"));
	cr_assert(h->ingress >= 0 && h->egress >= 0);
	h->index_map = bpf_object__find_map_fd_by_name(h->obj, "xiw_flow_index");
	h->xsks_map = bpf_object__find_map_fd_by_name(h->obj, "xiw_xsks");
	h->stats_map = bpf_object__find_map_fd_by_name(h->obj, "xiw_stats");
	h->flows = harness_map(h, "xiw_flows", sizeof(*h->flows) * XIW_DEFAULT_FLOWS);
	h->queues = harness_map(h, "xiw_queues", sizeof(*h->queues) * XIW_MAX_QUEUES);
}

int harness_xsk(const char *ifname, uint32_t queue)
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

uint64_t harness_stat(struct harness *h, uint32_t stat)
{
	uint64_t v[256] = { 0 }, sum = 0;
	int i, cpus = libbpf_num_possible_cpus();

	cr_assert(cpus > 0 && cpus <= 256);
	cr_assert(!bpf_map_lookup_elem(h->stats_map, &stat, v));
	for (i = 0; i < cpus; i++)
		sum += v[i];
	return sum;
}

uint16_t harness_tcp_sum(const struct xiw_flow_key *key, const uint8_t *th, uint32_t len)
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
