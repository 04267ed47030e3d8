// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/bpf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/xdp.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define XDP_ASAN
#endif
#endif
#if defined(XDP_ASAN) || defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, len) ((void)(p), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(p, len) ((void)(p), (void)(len))
#endif

#define META_ROOM 64
/* Below 4 GiB, and below what the sanitizers keep for themselves. */
#define LOW_MEMORY 0x20000000ul
#define LOW_STRIDE 0x100000ul
#define AREA (META_ROOM + 2 + XDP_PACKET_MAX + 64)

struct xiw_flow xdp_flows[XDP_FLOWS];
struct xiw_flow_key xdp_index[XDP_FLOWS];
struct xiw_queue xdp_queue;
uint64_t xdp_stats[XDP_CPUS][XIW_STAT__COUNT];
bool xdp_xsk, xdp_no_headroom;
uint64_t xdp_now;
void (*xdp_step)(void);

/* One run of a program. The context comes first, because helpers get a pointer to it. */
struct run {
	union {
		struct xdp_md xdp;
		struct __sk_buff skb;
	};
	uint8_t *whole; /* the packet, as the helpers see it */
	uint32_t len;
	uint32_t linear;
	uint8_t *area; /* META_ROOM, then the linear part */
};

static struct run runs[XDP_CPUS];
static __thread unsigned int
	this_cpu; /* of one thread, the one that began last: for counting only */

static void step(void)
{
	if (xdp_step)
		xdp_step();
}

/* ---- what bpf_helpers.h would declare ------------------------------------------------------------ */

#define __BPF_HELPERS__ /* its include guard */
#define SEC(name)
#define __uint(name, val) int(*name)[val]
#define __type(name, val) __typeof__(val) *name
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#undef __noinline
#define __noinline __attribute__((noinline))
#undef __weak
#define __weak __attribute__((weak))
#define __ksym

static void *bpf_map_lookup_elem(void *map, const void *key);
static long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags);
static long bpf_redirect_map(void *map, __u64 key, __u64 flags);

static long bpf_loop(__u32 n, long (*fn)(__u32, void *), void *arg, __u64 flags)
{
	__u32 i;

	CHECK(!flags);
	for (i = 0; i < n; i++)
		if (fn(i, arg))
			return i + 1;
	return i;
}

static __u64 bpf_ktime_get_coarse_ns(void)
{
	step();
	return xdp_clock();
}

/* The clock moves as it likes, so a tick is as short as can be. */
static __u64 bpf_jiffies64(void)
{
	step();
	return xdp_clock();
}

static long bpf_xdp_load_bytes(struct xdp_md *ctx, __u32 off, void *to, __u32 len)
{
	struct run *r = (struct run *)ctx;

	if (off > 0xffff || len > r->len || off > r->len - len)
		return -1;
	memcpy(to, r->whole + off, len);
	return 0;
}

static __u64 bpf_xdp_get_buff_len(struct xdp_md *ctx)
{
	return ((struct run *)ctx)->len;
}

static long bpf_xdp_adjust_head(struct xdp_md *ctx, int delta)
{
	struct run *r = (struct run *)ctx;

	CHECK(delta == -(int)sizeof(struct xiw_meta));
	if (xdp_no_headroom)
		return -1;
	/* Aligned, so not directly in front of the packet. Nobody reads the packet any more. */
	ctx->data = (__u32)(uintptr_t)r->area;
	return 0;
}

static long bpf_skb_load_bytes(const void *skb, __u32 off, void *to, __u32 len)
{
	return bpf_xdp_load_bytes((void *)skb, off, to, len);
}

static long bpf_skb_store_bytes(struct __sk_buff *skb, __u32 off, const void *from, __u32 len,
				__u64 flags)
{
	struct run *r = (struct run *)skb;

	if (flags || len > r->len || off > r->len - len)
		return -1;
	memcpy(r->whole + off, from, len);
	return 0;
}

static __u32 fold(__u64 sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (__u32)sum;
}

/* Sums in memory order, like the kernel's. */
static __s64 bpf_csum_diff(__be32 *from, __u32 from_size, __be32 *to, __u32 to_size, __u32 seed)
{
	__u64 sum = seed;

	CHECK(from_size % 4 == 0 && to_size % 4 == 0);
	for (__u32 i = 0; i < from_size / 4; i++)
		sum += (__u32)~from[i];
	for (__u32 i = 0; i < to_size / 4; i++)
		sum += to[i];
	while (sum >> 32)
		sum = (sum & 0xffffffff) + (sum >> 32);
	return (__s64)sum;
}

static long bpf_l4_csum_replace(struct __sk_buff *skb, __u32 off, __u64 from, __u64 to, __u64 flags)
{
	struct run *r = (struct run *)skb;
	__u16 check;

	CHECK(!from && !flags);
	if (off + 2 > r->len)
		return -1;
	memcpy(&check, r->whole + off, 2);
	check = (__u16)~fold((__u64)(__u16)~check + to);
	memcpy(r->whole + off, &check, 2);
	return 0;
}

/* ---- the programs -------------------------------------------------------------------------------- */

#define XIW_READ_ONCE(x) (step(), __atomic_load_n(&(x), __ATOMIC_ACQUIRE))
#define XIW_WRITE_ONCE(x, v) (step(), __atomic_store_n(&(x), v, __ATOMIC_RELAXED))
/* A macro is not expanded within itself. */
#define __sync_val_compare_and_swap(p, from, to) (step(), __sync_val_compare_and_swap(p, from, to))
#define __sync_fetch_and_add(p, n) (step(), __sync_fetch_and_add(p, n))

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wint-to-pointer-cast"
#ifdef __clang__ /* only the verifier needs the loops unrolled */
#pragma GCC diagnostic ignored "-Wpass-failed"
#endif
#define LICENSE xiw_ingress_license
#include "bpf/xiw_ingress.bpf.c"
#undef LICENSE
#define LICENSE xiw_egress_license
#include "bpf/xiw_egress.bpf.c"

int bpf_xdp_pull_data(struct xdp_md *ctx, __u32 len)
{
	struct run *r = (struct run *)ctx;
	uint8_t *start = r->area + META_ROOM + 2;

	CHECK(len <= r->len);
	if (len <= r->linear)
		return 0;
	ASAN_UNPOISON_MEMORY_REGION(start, len);
	memcpy(start + r->linear, r->whole + r->linear, len - r->linear);
	r->linear = len;
	ctx->data_end = (__u32)(uintptr_t)(start + len);
	return 0;
}

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	static const struct xiw_flow_key none;
	static const __u32 index[XDP_FLOWS] = { 0, 1, 2, 3 };
	__u32 k;

	step();
	if (map == &xiw_flow_index) {
		for (k = 0; k < XDP_FLOWS; k++) {
			if (memcmp(key, &xdp_index[k], sizeof(none)) ||
			    !memcmp(key, &none, sizeof(none)))
				continue;
			return (void *)&index[k];
		}
		return NULL;
	}
	memcpy(&k, key, sizeof(k));
	if (map == &xiw_flows)
		return k < XDP_FLOWS ? &xdp_flows[k] : NULL;
	if (map == &xiw_queues)
		return k ? NULL : &xdp_queue;
	CHECK(map == &xiw_stats && k < XIW_STAT__COUNT);
	return &xdp_stats[this_cpu][k];
}

static long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags)
{
	CHECK(map == &xiw_arrivals && key && !*(const __u32 *)value && !flags);
	return 0;
}

static long bpf_redirect_map(void *map, __u64 key, __u64 flags)
{
	CHECK(map == &xiw_xsks);
	step();
	return xdp_xsk && !key ? XDP_REDIRECT : (long)flags;
}

/* ---- running them -------------------------------------------------------------------------------- */

void xdp_reset(void)
{
	memset(xdp_flows, 0, sizeof(xdp_flows));
	memset(xdp_index, 0, sizeof(xdp_index));
	memset(&xdp_queue, 0, sizeof(xdp_queue));
	memset(xdp_stats, 0, sizeof(xdp_stats));
	xdp_xsk = true;
	xdp_no_headroom = false;
	xdp_now = 1000000000000;
	xdp_step = NULL;
}

static struct run *begin(const struct xdp_packet *p, unsigned int cpu)
{
	struct run *r = &runs[cpu];

	CHECK(cpu < XDP_CPUS && p->linear <= p->len && p->len <= XDP_PACKET_MAX);
	if (!r->area) {
		/* Within reach of the context's 32-bit addresses. */
		void *at = (void *)(LOW_MEMORY + (uintptr_t)cpu * LOW_STRIDE);

		r->area = mmap(at, AREA, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		CHECK(r->area == at);
	}
	this_cpu = cpu;
	memset(&r->skb, 0, sizeof(r->skb));
	r->whole = p->octets;
	r->len = p->len;
	r->linear = p->linear;
	/* Two octets further, as drivers do it, so that the headers after Ethernet's 14 octets are aligned. */
	ASAN_UNPOISON_MEMORY_REGION(r->area, AREA);
	memcpy(r->area + META_ROOM + 2, p->octets, p->linear);
	ASAN_POISON_MEMORY_REGION(r->area + META_ROOM + 2 + p->linear,
				  AREA - META_ROOM - 2 - p->linear);
	return r;
}

int xdp_ingress(struct xdp_packet *p, unsigned int cpu)
{
	struct run *r = begin(p, cpu);
	uint8_t *start = r->area + META_ROOM + 2;
	int action;

	r->xdp.data = (__u32)(uintptr_t)start;
	r->xdp.data_end = (__u32)(uintptr_t)(start + p->linear);
	r->xdp.rx_queue_index = p->queue;
	action = xiw_ingress(&r->xdp);
	p->has_meta = r->xdp.data != (__u32)(uintptr_t)start;
	if (p->has_meta)
		memcpy(&p->meta, r->area, sizeof(p->meta));
	memcpy(p->octets, start, r->linear);
	return action;
}

int xdp_egress(struct xdp_packet *p, unsigned int cpu)
{
	struct run *r = begin(p, cpu);
	uint8_t *start = r->area + META_ROOM + 2;

	r->skb.data = (__u32)(uintptr_t)start;
	r->skb.data_end = (__u32)(uintptr_t)(start + p->linear);
	r->skb.len = p->len;
	return xiw_egress(&r->skb);
}
