// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* xiw_ingress finds packets that hardware has cut in two, drops both pieces, and takes nothing else for one. */
#include "harness.h"

#include <netinet/in.h>

enum { ROOM = 3500, /* of 3840, a test run takes no more in one buffer */
 ENGINE = 7, INDEX = 5, PAYLOAD = 100 };
enum { S = 1000, K = 500, EPOCH = 3 };
static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 7 };

static struct harness h;
static struct xiw_queue *q;
static unsigned int ifindex;
static uint64_t counted; /* as XIW_STAT_DROP_CUT */

static void set_up(void)
{
	uint32_t queue = 0;
	int fd;

	harness_load(&h);
	cr_assert(!system("ip link add xiwc type veth peer name xiwd && ip link set xiwc up && "
			  "ip link set xiwd up"));
	ifindex = if_nametoindex("xiwc");
	fd = harness_xsk("xiwc", queue);
	cr_assert(!bpf_map_update_elem(h.xsks_map, &queue, &fd, BPF_ANY));
	q = &h.queues[queue];
	counted = 0;
}

/* As an engine leaves it when it has bound its socket. */
static void bound(uint32_t room)
{
	*q = (struct xiw_queue){ .engine = ENGINE, .takes = ROOM, .room = room };
	q->emptied_ns = INT64_MAX;
}

/* A frame of `len` bytes, with `vlans` tags, whose IP header says that it ends at `end`. Returns where IP begins. */
static uint32_t frame(uint8_t *p, uint32_t len, uint32_t end, uint32_t vlans, bool v6,
		      uint8_t proto)
{
	uint32_t at = 12;

	memset(p, 0x55, len);
	memcpy(p, mac, 6);
	for (uint32_t i = 0; i < vlans; i++, at += 4)
		put32(p + at, 0x81000005);
	put16(p + at, v6 ? 0x86dd : 0x0800);
	at += 2;
	memset(p + at, 0, v6 ? 40 : 20);
	p[at] = v6 ? 0x60 : 0x45;
	p[at + (v6 ? 6 : 9)] = proto;
	put16(p + at + (v6 ? 4 : 2), end - at - (v6 ? 40 : 0));
	put32(p + at + (v6 ? 20 : 12), 0x0a000001);
	put32(p + at + (v6 ? 36 : 16), 0x0a000002);
	return at;
}

static int run(const uint8_t *in, uint32_t len, uint32_t linear)
{
	static uint8_t out[20000];
	struct xdp_md md = { .data_end = linear, .ingress_ifindex = ifindex };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in, .data_size_in = len, .data_out = out,
		    .data_size_out = sizeof(out), .ctx_in = &md, .ctx_size_in = sizeof(md),
		    .repeat = 1);

	cr_assert(!bpf_prog_test_run_opts(h.ingress, &opts), "%u bytes: %s", len, strerror(errno));
	return (int)opts.retval;
}

static bool taken_for_cut(const uint8_t *p, uint32_t len)
{
	const uint64_t before = counted;
	const int action = run(p, len, len);

	counted = harness_stat(&h, XIW_STAT_DROP_CUT);
	cr_expect_eq(counted - before, action != XDP_PASS, "%u bytes: action %d", len, action);
	return action != XDP_PASS;
}

Test(cut, of_any_protocol, .timeout = 60)
{
	static const uint8_t protos[] = { IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_TCP, 99 };
	static const uint32_t lens[] = { 2048, 3072, ROOM };
	uint8_t p[ROOM], rest[ROOM];
	uint32_t n = 0;

	set_up();
	for (uint32_t i = 0; i < 4 * 3 * 2 * 3; i++) {
		const uint32_t len = lens[i % 3], vlans = i / 3 % 3, more = 60 + i;
		const bool v6 = i / 9 % 2;

		bound(ROOM);
		q->cuts = n;
		frame(p, len, len + more, vlans, v6, protos[i / 18]);
		cr_assert(taken_for_cut(p, len), "case %u", i);
		cr_expect(q->cut == len && q->rest == more && q->cuts == ++n, "case %u", i);
		/* The rest looks like a packet of its own. The packet behind it is one. */
		frame(rest, more, more, 0, false, IPPROTO_UDP);
		cr_expect(taken_for_cut(rest, more), "case %u", i);
		cr_expect_not(taken_for_cut(rest, more), "case %u", i);
	}
}

/* The engine may sleep, and learns of it by the frame, which is no packet of a connection. */
Test(cut, is_told_to_the_engine, .timeout = 60)
{
	uint8_t p[2048];
	uint32_t queue = 0;

	set_up();
	bound(ROOM);
	frame(p, sizeof(p), 3000, 0, false, IPPROTO_UDP);
	cr_expect_eq(run(p, sizeof(p), sizeof(p)), XDP_REDIRECT);
	cr_assert(!bpf_map_delete_elem(h.xsks_map, &queue));
	bound(ROOM);
	cr_expect_eq(run(p, sizeof(p), sizeof(p)), XDP_DROP);
}

Test(cut, rest_in_several_pieces, .timeout = 60)
{
	uint8_t p[2048], piece[2048];

	set_up();
	bound(2048);
	frame(p, 2048, 9000, 0, true, IPPROTO_UDP);
	memset(piece, 0, sizeof(piece));
	cr_expect(taken_for_cut(p, 2048));
	for (int i = 0; i < 3; i++)
		cr_expect(taken_for_cut(piece, 2048), "piece %d", i);
	cr_expect(taken_for_cut(piece, 9000 - 4 * 2048));
	cr_expect_not(taken_for_cut(piece, 100));
}

Test(cut, other_packets_are_not, .timeout = 60)
{
	static const struct {
		uint32_t room, longest, len, end;
		const char *why;
	} cases[] = {
		{ 0, 0, 2048, 3000, "frames are copied" },
		{ ROOM, 0, 2048, 2048, "it ends where it should" },
		{ ROOM, 0, 2048, 100, "it is padded" },
		{ ROOM, 0, 2047, 3000, "no buffer is so long" },
		{ ROOM, 0, ROOM - 1, 4000, "no buffer is so long" },
		{ ROOM, 0, 1024, 1500, "no unit takes half of the room" },
		{ 1792, 0, 2048, 3000, "it is longer than the buffer" },
		{ ROOM, 2049, 2048, 3000, "a longer one has come" },
		{ ROOM, 0, 2048, 40000, "no interface has such a packet" },
	};
	uint8_t p[ROOM];

	set_up();
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bound(cases[i].room);
		q->longest = cases[i].longest;
		frame(p, cases[i].len, cases[i].end, 0, false, IPPROTO_UDP);
		cr_expect_not(taken_for_cut(p, cases[i].len), "%s", cases[i].why);
		cr_expect(!q->cut && !q->rest && !q->cuts, "%s", cases[i].why);
	}
	bound(ROOM);
	memset(p, 0, sizeof(p));
	put16(p + 12, 0x0806);
	cr_expect_not(taken_for_cut(p, 2048), "no IP packet");
}

/* A driver that takes several buffers for a packet has brought one that is longer than the buffer. */
Test(cut, long_packets_in_several_buffers_are_not, .timeout = 60)
{
	static uint8_t p[9014];

	set_up();
	bound(ROOM);
	frame(p, sizeof(p), sizeof(p), 0, false, IPPROTO_UDP);
	cr_expect_eq(run(p, sizeof(p), 3072), XDP_PASS);
	cr_expect_eq(q->longest, sizeof(p));
	frame(p, 3072, 4000, 0, false, IPPROTO_UDP);
	cr_expect_not(taken_for_cut(p, 3072));
}

/* A segment that continues a stretch. */
static uint32_t segment(uint8_t *p)
{
	const uint32_t at = frame(p, 54 + PAYLOAD, 54 + PAYLOAD, 0, false, IPPROTO_TCP) + 20;

	put16(p + at, 1000);
	put16(p + at + 2, 2000);
	put32(p + at + 4, S);
	p[at + 12] = 5 << 4;
	p[at + 13] = 16;
	return 54 + PAYLOAD;
}

static void flow_is_direct(void)
{
	struct xiw_flow *f = &h.flows[INDEX];
	struct xiw_flow_key key = { .remote_port = htons(1000), .local_port = htons(2000) };
	uint32_t index = INDEX;

	key.remote_addr[2] = key.local_addr[2] = htonl(0xffff);
	key.remote_addr[3] = htonl(0x0a000001);
	key.local_addr[3] = htonl(0x0a000002);
	f->key = key;
	f->served_by = ENGINE;
	f->kernel_edge = f->direct_edge = S + 65536;
	f->kernel_high = S;
	f->owner = xiw_owner_pack(S, EPOCH, XIW_PATH_DIRECT);
	f->kernel_nxt = xiw_kernel_nxt_pack(K, EPOCH);
	cr_assert(!bpf_map_update_elem(h.index_map, &key, &index, BPF_ANY));
}

/* Whoever chooses the bytes of a packet cannot put a segment into a stretch either, whose segments are not parsed. */
Test(cut, rest_is_no_segment_of_a_stretch, .timeout = 60)
{
	uint8_t p[2048], s[54 + PAYLOAD];
	const uint32_t len = segment(s);

	set_up();
	bound(ROOM);
	flow_is_direct();
	for (int i = 0; i < 2; i++)
		cr_assert_eq(run(s, len, len), XDP_REDIRECT, "the queue remembers the stretch");
	cr_assert_eq(h.flows[INDEX].direct_segs, 2);
	frame(p, sizeof(p), sizeof(p) + len, 0, false, IPPROTO_UDP);
	cr_expect(taken_for_cut(p, sizeof(p)));
	cr_expect(taken_for_cut(s, len));
	cr_expect_eq(h.flows[INDEX].direct_segs, 2);
	cr_expect_eq(run(s, len, len), XDP_REDIRECT);
	cr_expect_eq(h.flows[INDEX].direct_segs, 3);
}
