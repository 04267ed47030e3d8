// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What xiw_egress notes of the TSecr that the kernel socket sends: its TS.Recent. */
#include <time.h>

#include "harness.h"

enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };

static struct harness h;
static const uint32_t slot = 3;

/* A segment with a timestamp as Linux builds it. */
static void segment(uint8_t flags, uint32_t tsecr, uint8_t pkt[66], const struct xiw_flow_key *key)
{
	uint8_t *ip = pkt + 14, *th = ip + 20;

	memset(pkt, 0, 66);
	put16(pkt + 12, 0x0800);
	ip[0] = 0x45;
	put16(ip + 2, 52);
	ip[8] = 64;
	ip[9] = 6;
	memcpy(ip + 12, &key->local_addr[3], 4);
	memcpy(ip + 16, &key->remote_addr[3], 4);
	memcpy(th, &key->local_port, 2);
	memcpy(th + 2, &key->remote_port, 2);
	put32(th + 8, 1000);
	th[12] = 8 << 4;
	th[13] = flags;
	put32(th + 20, 0x0101080a);
	put32(th + 24, 77);
	put32(th + 28, tsecr);
}

static uint64_t second(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec + 1;
}

/* Sends it, and returns what is noted then. */
static uint64_t sent(uint8_t flags, uint32_t tsecr, bool options)
{
	struct xiw_flow_key key = { .remote_port = 1, .local_port = 2 };
	uint8_t pkt[66], out[66];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = pkt, .data_size_in = sizeof(pkt),
		    .data_out = out, .data_size_out = sizeof(out), .repeat = 1);

	key.remote_addr[2] = key.local_addr[2] = __builtin_bswap32(0xffff);
	key.remote_addr[3] = 0x0100000a;
	key.local_addr[3] = 0x0200000a;
	cr_assert(!bpf_map_update_elem(h.index_map, &key, &slot, BPF_ANY));
	segment(flags, tsecr, pkt, &key);
	if (!options)
		pkt[14 + 20 + 12] = 5 << 4;
	cr_assert(!bpf_prog_test_run_opts(h.egress, &opts), "%s", strerror(errno));
	return h.flows[slot].echoed;
}

static void flow(uint32_t flags, uint32_t path)
{
	h.flows[slot] = (struct xiw_flow){ .owner = xiw_owner_pack(5000, 7, path),
					   .kernel_nxt = xiw_kernel_nxt_pack(4000, 7),
					   .flags = flags,
					   .ts_recent = 4000000000u };
}

/* It is noted on each path, as the socket wrote it, with the time when it became that. */
Test(timestamps, echoed)
{
	static const uint32_t paths[] = { XIW_PATH_KERNEL, XIW_PATH_ARMED, XIW_PATH_DIRECT };
	uint64_t from, got, until;

	harness_load(&h);
	for (int i = 0; i < 3; i++) {
		flow(XIW_FLOW_TIMESTAMPS, paths[i]);
		from = second();
		got = sent(ACK, 4242, true);
		until = second();
		cr_expect_eq((uint32_t)got, 4242);
		cr_expect(got >> 32 >= from && got >> 32 <= until);
		/* The first time counts, however often it is sent. */
		h.flows[slot].echoed = got = 5ull << 32 | 4242;
		cr_expect_eq(sent(ACK | FIN, 4242, true), got);
		got = sent(ACK, 4241, true);
		cr_expect_eq((uint32_t)got, 4241);
		cr_expect(got >> 32 >= from);
		/* 0 is a timestamp like any other. */
		got = sent(ACK, 0, true);
		cr_expect(!(uint32_t)got && got >> 32 >= from);
	}
}

/* Nothing else says what TS.Recent is. */
Test(timestamps, not_echoed)
{
	harness_load(&h);
	flow(XIW_FLOW_TIMESTAMPS, XIW_PATH_KERNEL);
	cr_expect_eq(sent(SYN | ACK, 1, true), 0);
	flow(XIW_FLOW_TIMESTAMPS, XIW_PATH_KERNEL);
	cr_expect_eq(sent(RST | ACK, 1, true), 0);
	cr_expect_eq(sent(FIN, 1, true), 0, "without ACK there is no echo");
	cr_expect_eq(sent(ACK, 1, false), 0);
	flow(0, XIW_PATH_KERNEL);
	cr_expect_eq(sent(ACK, 1, true), 0, "not negotiated");
	flow(XIW_FLOW_TIMESTAMPS | XIW_FLOW_ANOTHER, XIW_PATH_KERNEL);
	cr_expect_eq(sent(ACK, 1, true), 0, "of another connection");
}
