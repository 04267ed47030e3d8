// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xiw_egress on any packet that a kernel's TCP may send, in any state of the flow. Numbers are translated by the skew,
 * the window's right edge does not move back, checksums stay right, and nothing else in the packet changes.
 */
#include <linux/pkt_cls.h>

#include "tcp/csum.h"
#include "base/seq.h"
#include "tcp/wire.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/xdp.h"

#define SEGMENTS 16
#define ETH 14u
#define IP 20u

static uint8_t pkt[256], old[256];
static uint32_t edge; /* right edge that the peer knows */
static bool any_edge;
static uint32_t
	own_edge; /* right edge of the kernel, in kernel numbers: the kernel does not move it back */

static struct xiw_flow_key make_key(void)
{
	struct xiw_flow_key key = { .remote_port = 3, .local_port = 4 };

	key.remote_addr[2] = key.local_addr[2] = __builtin_bswap32(0xffff);
	key.remote_addr[3] = 1;
	key.local_addr[3] = 2;
	return key;
}

static bool good(const uint8_t *p, uint32_t len)
{
	struct xiw_csum sum = {};

	xiw_csum_pseudo(&sum, p + ETH, len);
	xiw_csum_add(&sum, p + ETH + IP, len);
	return xiw_csum_good(&sum);
}

/* Random options, among them SACK blocks. They are well-formed, as the kernel's are. */
static uint32_t make_options(struct fuzz_in *in, uint8_t *th, uint32_t ack)
{
	uint32_t at = 20, n;

	if (fuzz_u8(in) & 1) {
		xiw_put_be32(th + at, 0x0101080a);
		xiw_put_be32(th + at + 4, fuzz_u32(in));
		xiw_put_be32(th + at + 8, fuzz_u16(in));
		at += 12;
	}
	n = fuzz_below(in, at > 20 ? 4 : 5);
	if (n) {
		xiw_put_be32(th + at, 0x01010500 | (2 + 8 * n));
		at += 4;
		for (; n; n--, at += 8) {
			xiw_put_be32(th + at, ack + fuzz_u16(in));
			xiw_put_be32(th + at + 4, ack + fuzz_u16(in));
		}
	}
	th[12] = (uint8_t)(at / 4 << 4);
	return at;
}

static void check_options(const struct xiw_flow *f, bool direct, uint32_t skew, uint32_t hlen)
{
	struct xiw_tcp_seg was = {}, is = {};

	CHECK(!xiw_tcp_parse_options(old + ETH + IP + 20, hlen - 20, &was));
	CHECK(!xiw_tcp_parse_options(pkt + ETH + IP + 20, hlen - 20, &is));
	CHECK(is.nsack == was.nsack && is.has_ts == was.has_ts && is.tsval == was.tsval);
	REACHES(skew && is.nsack == 4, "four SACK blocks that are translated");
	REACHES(direct && is.tsecr != was.tsecr, "a timestamp echo of the direct path");
	for (int i = 0; i < is.nsack; i++) {
		CHECK(is.sack[i].start == was.sack[i].start + skew);
		CHECK(is.sack[i].end == was.sack[i].end + skew);
	}
	if (direct && was.has_ts && f->flags & XIW_FLOW_TIMESTAMPS)
		CHECK(is.tsecr == xiw_seq_max(was.tsecr, f->ts_recent));
	else
		CHECK(is.tsecr == was.tsecr);
}

static void segment(struct fuzz_in *in, struct xiw_flow *f, uint32_t wire_ack)
{
	bool direct = xiw_owner_path(f->owner) == XIW_PATH_DIRECT;
	uint32_t skew = xiw_owner_skew(f->owner, f->kernel_nxt), scale = f->rcv_wscale, hlen, len;
	uint8_t *th = pkt + ETH + IP, flags = fuzz_u8(in);
	uint32_t window = fuzz_u16(in), ack = wire_ack - skew, now, end;
	struct xdp_packet p = { .octets = pkt };

	if (!xiw_seq_before(own_edge, ack) && (ack + (window << scale) - own_edge) >> 31)
		window = (own_edge - ack + (1u << scale) - 1) >> scale;
	if (window > 0xffff)
		window = 0xffff;

	memset(pkt, 0, sizeof(pkt));
	xiw_put_be16(pkt + 12, 0x0800);
	pkt[ETH] = 0x45;
	pkt[ETH + 9] = 6;
	pkt[ETH + 12] = 2; /* ours */
	pkt[ETH + 16] = 1;
	xiw_put_be16(th, 0x0400);
	xiw_put_be16(th + 2, 0x0300);
	xiw_put_be32(th + 4, f->snd_nxt + (uint32_t)(int32_t)(int8_t)fuzz_u8(in));
	xiw_put_be32(th + 8, ack);
	th[13] = flags & 0x10 ? flags & 0x1d : 0x10;
	xiw_put_be16(th + 14, (uint16_t)window);
	hlen = make_options(in, th, ack);
	len = hlen + fuzz_u8(in) % 64;
	xiw_put_be16(pkt + ETH + 2, (uint16_t)(IP + len));
	xiw_tcp_csum_fill(pkt + ETH, th, len, NULL, 0);
	p.len = ETH + IP + len;
	p.linear = fuzz_u8(in) & 1 ? p.len : ETH + IP;
	memcpy(old, pkt, sizeof(old));
	end = xiw_seq_max(f->snd_nxt, xiw_get_be32(th + 4) + len - hlen + (th[13] & 1));

	CHECK(xdp_egress(&p, 0) == TC_ACT_UNSPEC);
	CHECK(good(pkt, len), "checksum");
	CHECK(xiw_get_be32(th + 8) == wire_ack);
	check_options(f, direct, skew, hlen);
	if (!(th[13] & XIW_TCP_RST))
		CHECK(f->snd_nxt == end);
	/* Everything but ack, window, checksum and options is unchanged. */
	memcpy(old + ETH + IP + 8, th + 8, 4);
	memcpy(old + ETH + IP + 14, th + 14, 4);
	memcpy(old + ETH + IP + 20, th + 20, hlen - 20);
	CHECK(!memcmp(pkt, old, sizeof(pkt)));
	if (th[13] & XIW_TCP_RST)
		return;
	own_edge = xiw_seq_max(own_edge, ack + (window << scale));
	now = wire_ack + ((uint32_t)xiw_get_be16(th + 14) << scale);
	/*
	 * The window field cannot express a more distant edge, and scaling may move the edge by less than one unit
	 * (RFC 7323 section 2.4).
	 */
	if (any_edge && edge - wire_ack <= 0xffffu << scale)
		CHECK(xiw_seq_before(edge, now + (1u << scale)), "the right edge moved back by %u",
		      edge - now);
	edge = any_edge ? xiw_seq_max(edge, now) : now;
	any_edge = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t starts[] = { 1000, 0xffffff00, 0x7fffff00 };
	struct fuzz_in in = { data, size };
	struct xiw_flow *f = &xdp_flows[2];
	uint32_t skew = 0, ack = starts[fuzz_below(&in, 3)], k = 0, epoch = 1;
	bool direct = false;

	xdp_reset();
	xdp_index[2] = f->key = make_key();
	f->rcv_wscale = fuzz_below(&in, 15);
	f->flags = fuzz_u8(&in) & 0xf;
	f->window = fuzz_u16(&in) * 4u;
	f->direct_edge = f->kernel_edge = ack;
	f->owner = xiw_owner_pack(0, epoch, XIW_PATH_KERNEL);
	any_edge = false;
	own_edge = ack;
	for (int i = 0; i < SEGMENTS && in.left; i++) {
		uint8_t how = fuzz_u8(&in);

		/* The owner of the stream acknowledges what the peer sends. */
		ack += how & 1 ? fuzz_u16(&in) : 0;
		if (how & 2 && !direct) {
			k = ack - skew;
			f->kernel_nxt = xiw_kernel_nxt_pack(k, ++epoch);
			f->owner = xiw_owner_pack(ack, epoch, XIW_PATH_DIRECT);
			direct = true;
		} else if (how & 2) {
			skew = ack - k;
			f->owner = xiw_owner_pack(skew, ++epoch, XIW_PATH_KERNEL);
			direct = false;
		} else if (direct) {
			f->owner = xiw_owner_pack(ack, epoch, XIW_PATH_DIRECT);
		}
		if (how & 4)
			f->ts_recent += fuzz_u8(&in);
		segment(&in, f, ack);
	}
	return 0;
}
