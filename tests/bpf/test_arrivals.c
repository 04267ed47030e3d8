// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* xiw_ingress notes on which queue of a group a SYN or SYN-ACK has come, and nothing else. */
#include "harness.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };
enum { QUEUE = 2, NQUEUES = 4 };

static struct harness h;
static int arrivals;
static unsigned int ifindex;

static void set_up(void)
{
	harness_load(&h);
	cr_assert(!system("ip link add xiwq numrxqueues 4 numtxqueues 4 type veth peer name xiwp "
			  "numrxqueues 4 numtxqueues 4"));
	ifindex = if_nametoindex("xiwq");
	arrivals = bpf_object__find_map_fd_by_name(h.obj, "xiw_arrivals");
	cr_assert(ifindex && arrivals >= 0);
}

/* A segment from 10.0.0.1:1000 to 10.0.0.2:2000, or between fd00::1:0:0:1 and its like. */
static uint32_t segment(uint8_t *p, bool v6, uint8_t flags)
{
	uint8_t *ip = p + 14, *tcp = ip + (v6 ? 40 : 20);

	memset(p, 0, 128);
	put16(p + 12, v6 ? 0x86dd : 0x0800);
	if (v6) {
		ip[0] = 0x60;
		put16(ip + 4, 20);
		ip[6] = IPPROTO_TCP;
		put32(ip + 8, 0xfd000000);
		put32(ip + 20, 1);
		put32(ip + 24, 0xfd000000);
		put32(ip + 36, 2);
	} else {
		ip[0] = 0x45;
		put16(ip + 2, 40);
		ip[8] = 64;
		ip[9] = IPPROTO_TCP;
		put32(ip + 12, 0x0a000001);
		put32(ip + 16, 0x0a000002);
	}
	put16(tcp, 1000);
	put16(tcp + 2, 2000);
	tcp[12] = 5 << 4;
	tcp[13] = flags;
	return (uint32_t)(tcp + 20 - p);
}

static struct xiw_flow_key key_of(bool v6)
{
	struct xiw_flow_key key = { .remote_port = htons(1000), .local_port = htons(2000) };

	if (v6) {
		key.remote_addr[0] = key.local_addr[0] = htonl(0xfd000000);
		key.remote_addr[3] = htonl(1);
		key.local_addr[3] = htonl(2);
	} else {
		key.remote_addr[2] = key.local_addr[2] = htonl(0xffff);
		key.remote_addr[3] = htonl(0x0a000001);
		key.local_addr[3] = htonl(0x0a000002);
	}
	return key;
}

/* Runs the program on a segment of this length. Returns the queue that it has noted, or -1. */
static int noted(bool v6, uint8_t flags, uint32_t cut, uint32_t queue)
{
	struct xdp_md md = { .ingress_ifindex = ifindex, .rx_queue_index = queue };
	struct xiw_flow_key key = key_of(v6);
	uint8_t in[128], out[128];
	uint32_t len = segment(in, v6, flags) - cut, found;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in, .data_size_in = len, .data_out = out,
		    .data_size_out = sizeof(out), .ctx_in = &md, .ctx_size_in = sizeof(md),
		    .repeat = 1);

	md.data_end = len;
	cr_assert(!bpf_prog_test_run_opts(h.ingress, &opts), "test run: %s", strerror(errno));
	cr_assert_eq(opts.retval, XDP_PASS);
	return bpf_map_lookup_and_delete_elem(arrivals, &key, &found) ? -1 : (int)found;
}

Test(arrivals, of_a_group, .timeout = 60)
{
	set_up();
	h.queues[QUEUE].grouped = 1;
	for (int v6 = 0; v6 < 2; v6++) {
		cr_expect_eq(noted(v6, SYN, 0, QUEUE), QUEUE);
		cr_expect_eq(noted(v6, SYN | ACK, 0, QUEUE), QUEUE);
		cr_expect_eq(noted(v6, ACK, 0, QUEUE), -1);
		cr_expect_eq(noted(v6, FIN | ACK, 0, QUEUE), -1);
		cr_expect_eq(noted(v6, RST, 0, QUEUE), -1);
		/* The octet with the flags is missing, or the first one behind it. */
		cr_expect_eq(noted(v6, SYN, 7, QUEUE), -1);
		cr_expect_eq(noted(v6, SYN, 6, QUEUE), QUEUE);
	}
}

Test(arrivals, of_others, .timeout = 60)
{
	set_up();
	h.queues[QUEUE].grouped = 1;
	for (uint32_t q = 0; q < NQUEUES; q++)
		cr_expect_eq(noted(false, SYN, 0, q), q == QUEUE ? (int)q : -1, "queue %u", q);
}

/* A flow that an earlier connection has left behind hides nothing. */
Test(arrivals, of_a_known_flow, .timeout = 60)
{
	const struct xiw_flow_key key = key_of(false);
	const uint32_t index = 0;

	set_up();
	h.queues[QUEUE].grouped = 1;
	h.flows[0].owner = xiw_owner_pack(0, 1, XIW_PATH_KERNEL);
	cr_assert(!bpf_map_update_elem(h.index_map, &key, &index, BPF_ANY));
	cr_expect_eq(noted(false, SYN, 0, QUEUE), QUEUE);
}
