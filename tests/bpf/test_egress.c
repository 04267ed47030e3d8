// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* xiw_egress on a table of segments: the outgoing octets, the flow's fields, the counts. */
#include <linux/pkt_cls.h>
#include "harness.h"

#define IPV4_HDR 20
#define IPV6_HDR 40

/* Destination and source; the tag has a priority, too. */
static const uint8_t LINK[12] = { 2, 0, 0, 0, 0, 0x41, 6, 0, 0, 0, 0, 0x42 };
#define TAG 0x6007

enum { FIN = 1, SYN = 2, RST = 4, ACK = 16, ECE = 64 };

/* The kernel socket's rcv_nxt is far from the wire's, so that a missing translation shows. */
#define K 0xfffffff0u
#define SKEW 0x12345u
#define WIRE (K + SKEW)
#define SND 0x7ffffff0u

struct row {
	const char *name;
	uint32_t path, value, k;
	uint32_t flags, wscale, window, ts_recent, direct_edge, kernel_edge, snd_nxt, ece;
	uint64_t egress_segs;
	/* the segment */
	uint8_t tcp_flags;
	uint32_t ack, win, len;
	uint32_t tsecr; /* 0: TSECR */
	bool ts;
	int sacks;
	/* what comes out */
	uint32_t want_ack, want_win, want_edge, want_snd, want_tsecr;
	bool sacks_shift, rewritten;
	uint8_t want_flags;   /* TCP flags, if they change */
	uint32_t want_direct; /* direct_edge, if it changes */
};

#define IN_KERNEL .path = XIW_PATH_KERNEL, .value = SKEW
#define UNSKEWED .path = XIW_PATH_KERNEL, .value = 0
#define IN_ARMED .path = XIW_PATH_ARMED, .value = SKEW, .k = K - 1
#define IN_DIRECT .path = XIW_PATH_DIRECT, .value = WIRE + 5000, .k = K
#define FLOW                                                                                       \
	.wscale = 7, .window = WINDOW, .ts_recent = 777, .snd_nxt = SND, .egress_segs = 9,         \
	.direct_edge = WIRE, .kernel_edge = WIRE, .flags = XIW_FLOW_TIMESTAMPS | XIW_FLOW_SACK
#define TSECR 4242
#define EPOCH 5
#define WINDOW (1u << 20)
#define OFFERED (WIRE + 5000 + WINDOW) /* edge of the engine's window */

/* FLOW gives defaults that a row may override. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"

static const struct row rows[] = {
	{ "kernel path without skew: untouched, noted", UNSKEWED, FLOW, .kernel_edge = K,
	  .direct_edge = K, .tcp_flags = ACK, .ack = K, .win = 100, .len = 20, .ts = true,
	  .sacks = 1, .want_ack = K, .want_win = 100, .want_edge = K + 12800, .want_snd = SND + 20,
	  .want_tsecr = TSECR },
	{ "kernel path: ack and SACK shift", IN_KERNEL, FLOW, .tcp_flags = ACK, .ack = K,
	  .win = 100, .ts = true, .sacks = 3, .want_ack = WIRE, .want_win = 100,
	  .want_edge = WIRE + 12800, .want_snd = SND, .want_tsecr = TSECR, .sacks_shift = true,
	  .rewritten = true },
	{ "kernel path: four SACK blocks, no timestamp", IN_KERNEL, FLOW, .tcp_flags = ACK,
	  .ack = K, .win = 100, .sacks = 4, .len = 1, .want_ack = WIRE, .want_win = 100,
	  .want_edge = WIRE + 12800, .want_snd = SND + 1, .sacks_shift = true, .rewritten = true },
	{ "armed: as kernel", IN_ARMED, FLOW, .tcp_flags = ACK, .ack = K, .win = 100, .ts = true,
	  .want_ack = WIRE, .want_win = 100, .want_edge = WIRE + 12800, .want_snd = SND,
	  .want_tsecr = TSECR, .rewritten = true },
	{ "direct: ack, window and newer TSecr of the engine", IN_DIRECT, FLOW, .ts_recent = 4243,
	  .tcp_flags = ACK, .ack = K, .win = 100, .ts = true, .sacks = 1, .len = 9,
	  .want_ack = WIRE + 5000, .want_win = 1 << 13, .want_edge = WIRE, .want_snd = SND + 9,
	  .want_tsecr = 4243, .want_direct = OFFERED, .sacks_shift = true, .rewritten = true },
	{ "direct: the engine has published no TSval yet", IN_DIRECT, FLOW, .ts_recent = 0,
	  .tcp_flags = ACK, .ack = K, .win = 100, .ts = true, .tsecr = 0xc0000000u,
	  .want_ack = WIRE + 5000, .want_win = 1 << 13, .want_edge = WIRE, .want_snd = SND,
	  .want_tsecr = 0xc0000000u, .want_direct = OFFERED, .rewritten = true },
	{ "direct: the kernel's TSecr is newer", IN_DIRECT, FLOW, .ts_recent = 4241,
	  .tcp_flags = ACK, .ack = K, .win = 100, .ts = true, .want_ack = WIRE + 5000,
	  .want_win = 1 << 13, .want_edge = WIRE, .want_snd = SND, .want_tsecr = TSECR,
	  .want_direct = OFFERED, .rewritten = true },
	{ "direct: TSecr wraps", IN_DIRECT, FLOW, .ts_recent = 0xfffffff0u, .tcp_flags = ACK,
	  .ack = K, .win = 100, .ts = true, .want_ack = WIRE + 5000, .want_win = 1 << 13,
	  .want_edge = WIRE, .want_snd = SND, .want_tsecr = TSECR, .want_direct = OFFERED,
	  .rewritten = true },
	/* The socket does not have 700 octets yet that XDP passed before the stretch: they may be lost. */
	{ "direct: the socket is still behind K", IN_DIRECT, FLOW, .value = WIRE, .tcp_flags = ACK,
	  .ack = K - 700, .win = 100, .sacks = 2, .want_ack = WIRE - 700, .want_win = (1 << 13) + 6,
	  .want_edge = WIRE, .want_snd = SND, .want_direct = WIRE - 700 + WINDOW + 6 * 128,
	  .sacks_shift = true, .rewritten = true },
	{ "direct: and stays behind although the engine went on", IN_DIRECT, FLOW, .tcp_flags = ACK,
	  .ack = K - 700, .win = 100, .want_ack = WIRE + 4300, .want_win = (1 << 13) + 6,
	  .want_edge = WIRE, .want_snd = SND, .want_direct = WIRE + 4300 + WINDOW + 6 * 128,
	  .rewritten = true },
	{ "direct: the kernel has advertised more", IN_DIRECT, FLOW, .kernel_edge = OFFERED + 12801,
	  .tcp_flags = ACK, .ack = K, .win = 100, .want_ack = WIRE + 5000,
	  .want_win = (1 << 13) + 101, .want_edge = OFFERED + 12801, .want_snd = SND,
	  .want_direct = OFFERED + 12928, .rewritten = true },
	{ "direct: the engine has advertised more", IN_DIRECT, FLOW, .direct_edge = OFFERED + 12801,
	  .tcp_flags = ACK, .ack = K, .win = 100, .want_ack = WIRE + 5000,
	  .want_win = (1 << 13) + 101, .want_edge = WIRE, .want_snd = SND,
	  .want_direct = OFFERED + 12928, .rewritten = true },
	{ "direct: the engine more than the kernel", IN_DIRECT, FLOW, .kernel_edge = OFFERED + 128,
	  .direct_edge = OFFERED + 256, .tcp_flags = ACK, .ack = K, .win = 100,
	  .want_ack = WIRE + 5000, .want_win = (1 << 13) + 2, .want_edge = OFFERED + 128,
	  .want_snd = SND, .rewritten = true },
	{ "direct: the kernel more than the engine", IN_DIRECT, FLOW, .kernel_edge = OFFERED + 256,
	  .direct_edge = OFFERED + 128, .tcp_flags = ACK, .ack = K, .win = 100,
	  .want_ack = WIRE + 5000, .want_win = (1 << 13) + 2, .want_edge = OFFERED + 256,
	  .want_snd = SND, .want_direct = OFFERED + 256, .rewritten = true },
	{ "direct: a stale edge of the kernel", IN_DIRECT, FLOW, .kernel_edge = WIRE + 0x60000000u,
	  .tcp_flags = ACK, .ack = K, .win = 100, .want_ack = WIRE + 5000, .want_win = 1 << 13,
	  .want_edge = WIRE + 0x60000000u, .want_snd = SND, .want_direct = OFFERED,
	  .rewritten = true },
	{ "direct: the kernel's larger window is not the engine's", IN_DIRECT, FLOW,
	  .tcp_flags = ACK, .ack = K, .win = 60000, .want_ack = WIRE + 5000, .want_win = 1 << 13,
	  .want_edge = WIRE, .want_snd = SND, .want_direct = OFFERED, .rewritten = true },
	{ "direct: the window field is full", IN_DIRECT, FLOW, .window = 1 << 25, .tcp_flags = ACK,
	  .ack = K, .win = 100, .want_ack = WIRE + 5000, .want_win = 65535, .want_edge = WIRE,
	  .want_snd = SND, .want_direct = WIRE + 5000 + 65535 * 128, .rewritten = true },
	{ "direct: timestamps not negotiated", IN_DIRECT, FLOW, .flags = 0, .ts_recent = 4243,
	  .tcp_flags = ACK, .ack = K, .ts = true, .win = 100, .want_ack = WIRE + 5000,
	  .want_win = 1 << 13, .want_edge = WIRE, .want_snd = SND, .want_tsecr = TSECR,
	  .want_direct = OFFERED, .rewritten = true },
	{ "direct: no change, no rewrite, but an edge", IN_DIRECT, FLOW, .value = K,
	  .tcp_flags = ACK, .ack = K, .win = 1 << 13, .want_ack = K, .want_win = 1 << 13,
	  .want_edge = WIRE, .want_snd = SND, .want_direct = K + WINDOW },
	{ "kernel: TSecr of the last stretch, while the socket's is older", UNSKEWED, FLOW,
	  .ts_recent = 4243, .kernel_edge = K, .direct_edge = K, .tcp_flags = ACK, .ack = K,
	  .ts = true, .win = 100, .want_ack = K, .want_win = 100, .want_edge = K + 12800,
	  .want_snd = SND, .want_tsecr = 4243, .rewritten = true },
	{ "kernel: TSecr of the connection before", IN_KERNEL, FLOW, .ts_recent = 4243,
	  .flags = XIW_FLOW_TIMESTAMPS | XIW_FLOW_ANOTHER, .tcp_flags = ACK, .ack = K, .ts = true,
	  .win = 100, .want_ack = WIRE, .want_win = 100, .want_edge = WIRE, .want_snd = SND,
	  .want_tsecr = TSECR, .rewritten = true },
	{ "a reset keeps its window", IN_DIRECT, FLOW, .tcp_flags = ACK | RST, .ack = K, .win = 0,
	  .want_ack = WIRE + 5000, .want_win = 0, .want_edge = WIRE, .want_snd = SND,
	  .rewritten = true },
	{ "a reset without ACK", IN_DIRECT, FLOW, .tcp_flags = RST, .ack = 0, .win = 0,
	  .want_ack = 0, .want_win = 0, .want_edge = WIRE, .want_snd = SND },
	{ "SYN counts; its window stays and sets no edge", UNSKEWED, FLOW, .kernel_edge = K,
	  .tcp_flags = SYN | ACK, .ack = K, .win = 64000, .want_ack = K, .want_win = 64000,
	  .want_edge = K, .want_snd = SND + 1 },
	{ "SYN: the old connection's edges are void", IN_KERNEL, FLOW, .tcp_flags = SYN, .ack = 0,
	  .win = 64000, .want_ack = 0, .want_win = 64000, .want_edge = WIRE, .want_snd = SND + 1 },
	{ "SYN: the old connection's stretch ends", IN_DIRECT, FLOW, .tcp_flags = SYN | ACK,
	  .ack = K, .win = 64000, .want_ack = WIRE + 5000, .want_win = 64000, .want_edge = WIRE,
	  .want_snd = SND + 1, .rewritten = true },
	{ "SYN: the old connection is not armed any more", IN_KERNEL, FLOW, .path = XIW_PATH_ARMED,
	  .tcp_flags = SYN | ACK, .ack = K, .win = 64000, .want_ack = WIRE, .want_win = 64000,
	  .want_edge = WIRE, .want_snd = SND + 1, .rewritten = true },
	{ "and its windows and ECN are ignored", IN_KERNEL, FLOW,
	  .flags = XIW_FLOW_ANOTHER | XIW_FLOW_ECN, .ece = XIW_ECE_ON,
	  .direct_edge = WIRE + (1 << 29), .tcp_flags = ACK, .ack = K, .win = 100, .want_ack = WIRE,
	  .want_win = 100, .want_edge = WIRE, .want_snd = SND, .rewritten = true },
	{ "ECE of the flow, not of the socket: set", IN_DIRECT, FLOW, .kernel_edge = OFFERED,
	  .flags = XIW_FLOW_ECN, .ece = XIW_ECE_ON, .tcp_flags = ACK, .ack = K, .win = 100,
	  .want_ack = WIRE + 5000, .want_win = WINDOW >> 7, .want_edge = OFFERED, .want_snd = SND,
	  .rewritten = true, .want_flags = ACK | ECE, .want_direct = OFFERED },
	{ "ECE of the flow, not of the socket: cleared", UNSKEWED, FLOW, .kernel_edge = K,
	  .direct_edge = K, .flags = XIW_FLOW_ECN, .ece = XIW_ECE_OFF, .tcp_flags = ACK | ECE,
	  .ack = K, .win = 100, .want_ack = K, .want_win = 100, .want_edge = K + 12800,
	  .want_snd = SND, .rewritten = true, .want_flags = ACK },
	{ "ECE of the socket while nothing else is known", UNSKEWED, FLOW, .kernel_edge = K,
	  .direct_edge = K, .flags = XIW_FLOW_ECN, .tcp_flags = ACK | ECE, .ack = K, .win = 100,
	  .want_ack = K, .want_win = 100, .want_edge = K + 12800, .want_snd = SND },
	{ "ECE without ECN stays", UNSKEWED, FLOW, .kernel_edge = K, .direct_edge = K,
	  .ece = XIW_ECE_OFF, .tcp_flags = ACK | ECE, .ack = K, .win = 100, .want_ack = K,
	  .want_win = 100, .want_edge = K + 12800, .want_snd = SND },
	{ "FIN counts", IN_KERNEL, FLOW, .tcp_flags = FIN | ACK, .ack = K, .win = 100, .len = 3,
	  .want_ack = WIRE, .want_win = 100, .want_edge = WIRE + 12800, .want_snd = SND + 4,
	  .rewritten = true },
	{ "a retransmission does not move snd_nxt back", IN_KERNEL, FLOW, .snd_nxt = SND + 500,
	  .tcp_flags = ACK, .ack = K, .win = 100, .len = 100, .want_ack = WIRE, .want_win = 100,
	  .want_edge = WIRE + 12800, .want_snd = SND + 500, .rewritten = true },
	{ "snd_nxt wraps", IN_KERNEL, FLOW, .snd_nxt = SND - 5, .tcp_flags = ACK, .ack = K,
	  .win = 1, .len = 1000, .want_ack = WIRE, .want_win = 1, .want_edge = WIRE + 128,
	  .want_snd = SND + 1000, .rewritten = true },
	{ "a smaller window does not move the edge back", IN_KERNEL, FLOW,
	  .kernel_edge = WIRE + 9999, .tcp_flags = ACK, .ack = K, .win = 1, .want_ack = WIRE,
	  .want_win = 1, .want_edge = WIRE + 9999, .want_snd = SND, .rewritten = true },
	{ "the first segment sets the edge", IN_KERNEL, FLOW, .egress_segs = 0,
	  .kernel_edge = WIRE + (1 << 30), .tcp_flags = ACK, .ack = K, .win = 1, .want_ack = WIRE,
	  .want_win = 1, .want_edge = WIRE + 128, .want_snd = SND, .rewritten = true },
	{ "the engine's edge is kept, rounded up", IN_KERNEL, FLOW, .direct_edge = WIRE + 12929,
	  .tcp_flags = ACK, .ack = K, .win = 100, .want_ack = WIRE, .want_win = 102,
	  .want_edge = WIRE + 12800, .want_snd = SND, .want_direct = WIRE + 102 * 128,
	  .rewritten = true },
	/* The next segment continues from the window that was sent, not from the edge that was intended. */
	{ "and is kept when the stream has moved on", IN_KERNEL, FLOW,
	  .direct_edge = WIRE + 102 * 128, .tcp_flags = ACK, .ack = K + 36, .win = 100,
	  .want_ack = WIRE + 36, .want_win = 102, .want_edge = WIRE + 36 + 12800, .want_snd = SND,
	  .want_direct = WIRE + 36 + 102 * 128, .rewritten = true },
	{ "the edge alone is a reason to rewrite", UNSKEWED, FLOW, .direct_edge = K + 25600,
	  .kernel_edge = K, .tcp_flags = ACK, .ack = K, .win = 100, .want_ack = K, .want_win = 200,
	  .want_edge = K + 12800, .want_snd = SND, .rewritten = true },
	{ "an edge beyond the field", IN_KERNEL, FLOW, .direct_edge = WIRE + (1 << 29),
	  .tcp_flags = ACK, .ack = K, .win = 100, .want_ack = WIRE, .want_win = 65535,
	  .want_edge = WIRE + 12800, .want_snd = SND, .rewritten = true },
	{ "a stale edge is ignored", IN_KERNEL, FLOW, .direct_edge = WIRE + 0x60000000u,
	  .tcp_flags = ACK, .ack = K, .win = 100, .want_ack = WIRE, .want_win = 100,
	  .want_edge = WIRE + 12800, .want_snd = SND, .rewritten = true },
	{ "the engine's edge does not lag too far", IN_KERNEL, FLOW,
	  .direct_edge = WIRE - 0x10000001u, .tcp_flags = ACK, .ack = K, .win = 100,
	  .want_ack = WIRE, .want_win = 100, .want_edge = WIRE + 12800, .want_snd = SND,
	  .want_direct = WIRE, .rewritten = true },
	{ "a window scale out of range counts as 14", IN_DIRECT, FLOW, .wscale = 30,
	  .tcp_flags = ACK, .ack = K, .win = 100, .want_ack = WIRE + 5000, .want_win = 64,
	  .want_edge = WIRE, .want_snd = SND, .want_direct = OFFERED, .rewritten = true },
};

#pragma GCC diagnostic pop

static struct harness h;

struct packet {
	uint8_t octets[1514];
	uint32_t l4, len;
	uint32_t ts, sack; /* offsets of TSecr and of the first SACK edge, or 0 */
};

static void make_key(struct xiw_flow_key *key, bool ip6)
{
	memset(key, ip6 ? 0x20 : 0, 32);
	if (!ip6)
		key->remote_addr[2] = key->local_addr[2] = __builtin_bswap32(0xffff);
	key->remote_addr[3] = __builtin_bswap32(0x0a000001);
	key->local_addr[3] = __builtin_bswap32(0x0a000002);
	key->remote_port = __builtin_bswap16(1111);
	key->local_port = __builtin_bswap16(2222);
}

static void build_link(uint8_t *eth, uint32_t len, bool ip6)
{
	memcpy(eth, LINK, sizeof(LINK));
	put16(eth + 12, 0x8100);
	put16(eth + 14, TAG);
	put16(eth + len - 2, ip6 ? 0x86dd : 0x0800);
}

/* As the kernel sends it, from the local end. */
static void build(struct packet *p, const struct row *r, const struct xiw_flow_key *key, bool ip6,
		  bool vlan)
{
	uint32_t l3 = vlan ? 18 : 14, hdr = 20, i;
	uint8_t *ip = p->octets + l3, *th;

	memset(p, 0, sizeof(*p));
	build_link(p->octets, l3, ip6);
	p->l4 = l3 + (ip6 ? IPV6_HDR : IPV4_HDR);
	th = p->octets + p->l4;
	memcpy(th, &key->local_port, 2);
	memcpy(th + 2, &key->remote_port, 2);
	put32(th + 4, SND);
	put32(th + 8, r->ack);
	th[13] = r->tcp_flags;
	put16(th + 14, r->win);
	/* A NOP and the timestamp come first, so that SACK edges are at odd offsets. */
	if (r->ts) {
		th[hdr] = 1;
		th[hdr + 1] = 8;
		th[hdr + 2] = 10;
		put32(th + hdr + 3, 0x1000);
		put32(th + hdr + 7, r->tsecr ? r->tsecr : TSECR);
		p->ts = p->l4 + hdr + 7;
		hdr += 11;
	}
	if (r->sacks) {
		th[hdr] = 5;
		th[hdr + 1] = 2 + 8 * r->sacks;
		p->sack = p->l4 + hdr + 2;
		for (i = 0; i < 2 * r->sacks; i++)
			put32(th + hdr + 2 + 4 * i, K + 1000 * (i + 1));
		hdr += 2 + 8 * r->sacks;
	}
	while (hdr % 4)
		th[hdr++] = 1;
	th[12] = hdr / 4 << 4;
	for (i = 0; i < r->len; i++)
		th[hdr + i] = i;
	p->len = p->l4 + hdr + r->len;
	if (ip6) {
		put32(ip, 0x6d612345);
		ip[7] = 63;
		put16(ip + 4, hdr + r->len);
		ip[6] = 6;
		memcpy(ip + 8, key->local_addr, 16);
		memcpy(ip + 24, key->remote_addr, 16);
	} else {
		ip[0] = 0x45;
		ip[1] = 0xd6;
		ip[8] = 63;
		put16(ip + 2, p->len - l3);
		ip[9] = 6;
		memcpy(ip + 12, &key->local_addr[3], 4);
		memcpy(ip + 16, &key->remote_addr[3], 4);
	}
	put16(th + 16, harness_tcp_sum(key, th, hdr + r->len));
}

static void expect_packet(struct packet *p, const struct row *r, const struct xiw_flow_key *key)
{
	uint32_t skew = r->path == XIW_PATH_DIRECT ? r->value - r->k : r->value;
	uint8_t *th = p->octets + p->l4;
	int i;

	put32(th + 8, r->want_ack);
	put16(th + 14, r->want_win);
	if (r->want_flags)
		th[13] = r->want_flags;
	if (p->ts)
		put32(p->octets + p->ts, r->want_tsecr);
	for (i = 0; r->sacks_shift && i < 2 * r->sacks; i++)
		put32(p->octets + p->sack + 4 * i, K + 1000 * (i + 1) + skew);
	put16(th + 16, 0);
	put16(th + 16, harness_tcp_sum(key, th, p->len - p->l4));
}

static int run(const struct packet *p, uint8_t *out, uint32_t *len)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = p->octets, .data_size_in = p->len,
		    .data_out = out, .data_size_out = sizeof(p->octets), .repeat = 1);

	cr_assert(!bpf_prog_test_run_opts(h.egress, &opts), "%s", strerror(errno));
	*len = opts.data_size_out;
	return (int32_t)opts.retval;
}

static void expect_another(struct xiw_flow *want, const struct row *r)
{
	want->flags |= XIW_FLOW_ANOTHER;
	if (r->path == XIW_PATH_KERNEL)
		return;
	want->owner = xiw_owner_pack(xiw_owner_skew(want->owner, want->kernel_nxt), EPOCH + 1,
				     XIW_PATH_KERNEL);
	want->reasons[XIW_REASON_CLOSE]++;
	if (r->path == XIW_PATH_DIRECT)
		want->kernel_high = r->value;
}

static void expect_link(struct xiw_flow *want, bool ip6, bool vlan)
{
	want->out_class = ip6 ? 0x0d412345 : 0x0d400000;
	want->out_hops = 63;
	want->out_tag = vlan ? TAG : 0;
	memcpy(want->out_mac, LINK, sizeof(LINK));
}

static void one_row(const struct row *r, bool ip6, bool vlan)
{
	struct xiw_flow_key key;
	struct xiw_flow *f, want;
	struct packet p;
	uint8_t out[sizeof(p.octets)];
	uint32_t index = 3, len;
	uint64_t seen = harness_stat(&h, XIW_STAT_EGRESS);
	uint64_t rewritten = harness_stat(&h, XIW_STAT_EGRESS_REWRITTEN);

	make_key(&key, ip6);
	cr_assert(!bpf_map_update_elem(h.index_map, &key, &index, BPF_ANY));
	f = &h.flows[index];
	*f = (struct xiw_flow){
		.owner = xiw_owner_pack(r->value, EPOCH, r->path),
		.kernel_nxt = xiw_kernel_nxt_pack(r->k, EPOCH),
		.flags = r->flags,
		.rcv_wscale = r->wscale,
		.window = r->window,
		.ts_recent = r->ts_recent,
		.direct_edge = r->direct_edge,
		.kernel_edge = r->kernel_edge,
		.snd_nxt = r->snd_nxt,
		.ece = r->ece,
		.egress_segs = r->egress_segs,
	};
	want = *f;
	if (r->tcp_flags & SYN)
		expect_another(&want, r);
	expect_link(&want, ip6, vlan);
	want.egress_segs++;
	want.egress_rewritten += r->rewritten;
	want.snd_nxt = r->want_snd;
	want.resent = !(r->tcp_flags & RST) && r->len && r->want_snd == r->snd_nxt;
	want.kernel_edge = r->want_edge;
	if (r->path != XIW_PATH_DIRECT && r->flags == (XIW_FLOW_TIMESTAMPS | XIW_FLOW_SACK) &&
	    r->ts && r->ts_recent == 777)
		want.ts_recent = 0; /* the socket's is newer */
	if (r->tcp_flags & ACK)
		want.acked = r->want_ack;
	if ((r->tcp_flags & (ACK | SYN | RST)) == ACK && !(r->flags & XIW_FLOW_ANOTHER))
		want.socket_edge = r->ack + (r->win << (r->wscale < 14 ? r->wscale : 14));
	if (r->want_direct)
		want.direct_edge = r->want_direct;
	build(&p, r, &key, ip6, vlan);
	cr_assert_eq(harness_tcp_sum(&key, p.octets + p.l4, p.len - p.l4), 0);

	cr_expect_eq(run(&p, out, &len), TC_ACT_UNSPEC, "%s: verdict", r->name);
	expect_packet(&p, r, &key);
	cr_expect_eq(len, p.len, "%s: length", r->name);
	cr_expect(!memcmp(out, p.octets, len),
		  "%s: octets; ack %x not %x, window %u not %u, sum %x not %x", r->name,
		  get32(out + p.l4 + 8), r->want_ack, get16(out + p.l4 + 14), r->want_win,
		  get16(out + p.l4 + 16), get16(p.octets + p.l4 + 16));
	cr_expect(!memcmp(f, &want, sizeof(want)), "%s: flow; edge %x not %x, snd_nxt %x not %x",
		  r->name, f->kernel_edge, r->want_edge, f->snd_nxt, r->want_snd);
	cr_expect_eq(harness_stat(&h, XIW_STAT_EGRESS), seen + 1, "%s: count", r->name);
	cr_expect_eq(harness_stat(&h, XIW_STAT_EGRESS_REWRITTEN), rewritten + r->rewritten,
		     "%s: count of rewrites", r->name);
}

Test(egress, table)
{
	int i, how;

	harness_load(&h);
	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (how = 0; how < 4; how++)
			one_row(&rows[i], how & 1, how & 2);
}

/* Where the kernel sends the connection's frames may change at any time; what cannot be recorded changes nothing. */
Test(egress, link)
{
	static const struct row row = { "link", UNSKEWED, FLOW, .tcp_flags = ACK, .ack = K,
					.win = 100 };
	static const struct {
		uint8_t mac;  /* an octet of the destination that differs */
		uint16_t tag; /* 0: none */
		uint16_t type;
		bool noted;
	} steps[] = {
		{ 1, 0, 0, true },	    { 1, 0, 0, true },	   { 2, 0, 0, true },
		{ 2, 5, 0x8100, true },	    { 2, 6, 0x8100, true }, { 3, 0, 0, true },
		{ 4, 7, 0x88a8, false },    { 5, 0, 0, true },
	};
	struct xiw_flow_key key;
	struct packet p;
	uint8_t out[sizeof(p.octets)], mac[12] = {};
	uint32_t index = 3, len, i;
	uint16_t tag = 0;

	harness_load(&h);
	make_key(&key, false);
	cr_assert(!bpf_map_update_elem(h.index_map, &key, &index, BPF_ANY));
	h.flows[index] = (struct xiw_flow){ .owner = xiw_owner_pack(0, EPOCH, XIW_PATH_KERNEL) };
	for (i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		build(&p, &row, &key, false, steps[i].type);
		p.octets[3] = steps[i].mac;
		if (steps[i].type) {
			put16(p.octets + 12, steps[i].type);
			put16(p.octets + 14, steps[i].tag);
		}
		if (steps[i].noted) {
			memcpy(mac, p.octets, sizeof(mac));
			tag = steps[i].tag;
		}
		cr_expect_eq(run(&p, out, &len), TC_ACT_UNSPEC, "step %u", i);
		cr_expect(!memcmp(h.flows[index].out_mac, mac, sizeof(mac)), "step %u", i);
		cr_expect_eq(h.flows[index].out_tag, tag, "step %u", i);
		cr_expect_eq(h.flows[index].egress_segs, i + 1, "step %u", i);
	}
}

/* K belongs to another stretch: the segment must not leave with a wrong translation, and changes nothing. */
Test(egress, torn)
{
	static const struct row row = { "torn",	  IN_DIRECT,  FLOW,	.tcp_flags = ACK,
					.ack = K, .win = 100, .len = 10 };
	static const uint32_t epochs[] = { EPOCH - 1, EPOCH + 1, EPOCH | 1 << 23 };
	struct xiw_flow_key key;
	struct xiw_flow before;
	struct packet p;
	uint8_t out[sizeof(p.octets)];
	uint32_t index = 3, len, i;

	harness_load(&h);
	make_key(&key, false);
	cr_assert(!bpf_map_update_elem(h.index_map, &key, &index, BPF_ANY));
	build(&p, &row, &key, false, false);
	for (i = 0; i < 3; i++) {
		h.flows[index] = (struct xiw_flow){
			.owner = xiw_owner_pack(row.value, EPOCH, row.path),
			.kernel_nxt = xiw_kernel_nxt_pack(K, epochs[i]),
			.kernel_edge = WIRE,
			.snd_nxt = SND,
		};
		before = h.flows[index];
		cr_expect_eq(run(&p, out, &len), TC_ACT_SHOT, "epoch %u", epochs[i]);
		cr_expect(!memcmp(&before, &h.flows[index], sizeof(before)), "epoch %u", epochs[i]);
		cr_expect_eq(harness_stat(&h, XIW_STAT_DROP_EPOCH), i + 1);
	}
	cr_expect_eq(harness_stat(&h, XIW_STAT_EGRESS), 0);
}

/* The window field of a socket that acknowledges `k` and never moves its right edge back; updates `edge`. */
static uint32_t kernel_window(uint32_t k, uint32_t *edge, uint32_t unit)
{
	uint32_t window;

	if (chance(30) && (int32_t)(k + 100000 - *edge) > 0)
		*edge = k + rnd(1 << 20);
	if ((int32_t)(k - *edge) > 0)
		*edge = k;
	window = (*edge - k + unit - 1) / unit;
	*edge = k + window * unit;
	return window;
}

/*
 * The right edge that the peer sees, over both paths, while the engine does not record the edges that it advertises.
 * It moves back by less than one unit of the window, which scaling allows (RFC 7323 section 2.4), and within a stretch
 * not at all.
 */
Test(egress, edge_does_not_move_back)
{
	struct row r = { "edge", FLOW, .tcp_flags = ACK };
	uint32_t rcv_nxt = WIRE, k = K, kernel_edge = K, edge = 0, seen, n, i, index = 3, len;
	uint32_t path = XIW_PATH_KERNEL, last = XIW_PATH_NONE, epoch = 0, unit = 1 << r.wscale;
	uint8_t out[1514];
	struct xiw_flow_key key;
	struct xiw_flow *f;
	struct packet p;

	harness_load(&h);
	f = &h.flows[index];
	make_key(&key, false);
	cr_assert(!bpf_map_update_elem(h.index_map, &key, &index, BPF_ANY));
	*f = (struct xiw_flow){ .rcv_wscale = r.wscale, .direct_edge = WIRE, .kernel_edge = WIRE };
	for (i = 0; i < 100000; i++) {
		if (chance(5)) {
			path = path == XIW_PATH_DIRECT ? XIW_PATH_KERNEL : XIW_PATH_DIRECT;
			f->window = rnd(1 << 20);
			epoch++;
		}
		n = chance(50) ? rnd(300) : rnd(5000);
		rcv_nxt += n;
		if (path == XIW_PATH_KERNEL)
			k += n;
		f->kernel_nxt = xiw_kernel_nxt_pack(k, epoch);
		f->owner = path == XIW_PATH_DIRECT ? xiw_owner_pack(rcv_nxt, epoch, path)
						   : xiw_owner_pack(rcv_nxt - k, epoch, path);
		r.ack = k;
		r.win = kernel_window(k, &kernel_edge, unit);
		build(&p, &r, &key, false, false);
		cr_assert_eq(run(&p, out, &len), TC_ACT_UNSPEC);
		seen = get32(out + p.l4 + 8) + (get16(out + p.l4 + 14) << r.wscale);
		cr_assert_eq(get32(out + p.l4 + 8), rcv_nxt, "segment %u", i);
		n = path == XIW_PATH_DIRECT && last == path ? 0 : unit - 1;
		cr_assert(!i || (int32_t)(seen - edge) >= -(int32_t)n,
			  "seed %llx, segment %u, path %u: edge from %x back to %x", HARNESS_SEED,
			  i, path, edge, seen);
		edge = seen;
		last = path;
	}
}

/* Not translated: the other direction, another port, an unpublished flow, UDP, half a header. */
Test(egress, not_a_flow)
{
	static const struct row row = { "unknown", .tcp_flags = ACK, .ack = K, .win = 1,
					.ts = true };
	struct xiw_flow_key key;
	struct xiw_flow before;
	struct packet p, odd;
	uint8_t out[sizeof(p.octets)];
	uint32_t index = 3, len, what;

	harness_load(&h);
	make_key(&key, false);
	cr_assert(!bpf_map_update_elem(h.index_map, &key, &index, BPF_ANY));
	build(&p, &row, &key, false, false);
	for (what = 0; what < 6; what++) {
		odd = p;
		h.flows[index] = (struct xiw_flow){
			.owner = xiw_owner_pack(SKEW, EPOCH,
						what == 0 ? XIW_PATH_NONE : XIW_PATH_KERNEL)
		};
		before = h.flows[index];
		if (what == 1) {
			memcpy(odd.octets + 26, &key.remote_addr[3], 4);
			memcpy(odd.octets + 30, &key.local_addr[3], 4);
		} else if (what == 2) {
			odd.octets[odd.l4 + 3] ^= 1;
		} else if (what == 3) {
			odd.octets[14 + 9] = 17;
		} else if (what == 4) {
			odd.len = odd.l4 + 18;
		} else if (what == 5) {
			odd.octets[odd.l4 + 12] = 0x40;
		}
		cr_expect_eq(run(&odd, out, &len), TC_ACT_UNSPEC, "case %u", what);
		cr_expect(len == odd.len && !memcmp(out, odd.octets, len), "case %u: octets", what);
		cr_expect(!memcmp(&before, &h.flows[index], sizeof(before)), "case %u: flow", what);
	}
	cr_expect_eq(harness_stat(&h, XIW_STAT_EGRESS), 0);
}
