// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tcp/wire.h"

struct opt_case {
	const char *name;
	uint8_t opt[40];
	size_t len;
	int ret;
	bool has_ts;
	uint32_t tsval, tsecr;
	uint8_t nsack;
	uint32_t first_start, last_end;
};

#define TS 8, 10, 0, 0, 0, 1, 0xff, 0, 0, 2
#define TS_IS .has_ts = true, .tsval = 1, .tsecr = 0xff000002
#define BLK(n) 0, 0, n, 0, 0, 0, n, 9

static const struct opt_case opt_cases[] = {
	{ "none", { 0 }, 0, .ret = 0 },
	{ "aligned timestamp", { 1, 1, TS }, 12, .ret = 0, TS_IS },
	{ "timestamp first", { TS, 1, 1 }, 12, .ret = 0, TS_IS },
	{ "timestamp, end", { TS, 0, 0 }, 12, .ret = 0, TS_IS },
	{ "timestamp unaligned", { 1, TS, 0 }, 12, .ret = 0, TS_IS },
	{ "aligned timestamp, one block",
	  { 1, 1, TS, 1, 1, 5, 10, BLK(3) },
	  24,
	  .ret = 0,
	  TS_IS,
	  .nsack = 1,
	  .first_start = 0x300,
	  .last_end = 0x309 },
	{ "aligned timestamp, three blocks",
	  { 1, 1, TS, 1, 1, 5, 26, BLK(3), BLK(4), BLK(5) },
	  40,
	  .ret = 0,
	  TS_IS,
	  .nsack = 3,
	  .first_start = 0x300,
	  .last_end = 0x509 },
	{ "four blocks",
	  { 1, 1, 5, 34, BLK(3), BLK(4), BLK(5), BLK(6) },
	  36,
	  .ret = 0,
	  .nsack = 4,
	  .first_start = 0x300,
	  .last_end = 0x609 },
	{ "options after the end do not count", { 0, TS, 1 }, 12, .ret = 0 },
	{ "unknown skipped", { 254, 4, 8, 10, TS, 1, 1 }, 16, .ret = 0, TS_IS },
	{ "unknown of two octets", { 254, 2, TS }, 12, .ret = 0, TS_IS },
	{ "no-operations", { 1, 1, 1, 1 }, 4, .ret = 0 },
	{ "length 0", { 254, 0, TS }, 12, .ret = -EBADMSG },
	{ "length 1", { 254, 1, TS }, 12, .ret = -EBADMSG },
	{ "length past the end", { 254, 5, 1, 1 }, 4, .ret = -EBADMSG },
	{ "kind without length", { 1, 1, 1, 8 }, 4, .ret = -EBADMSG },
	{ "timestamp cut", { 1, 1, 8, 10, 0, 0, 0, 1 }, 8, .ret = -EBADMSG },
	{ "timestamp too short", { 8, 8, 0, 0, 0, 1, 0, 0 }, 8, .ret = -EBADMSG },
	{ "timestamp too long", { 8, 12, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0 }, 12, .ret = -EBADMSG },
	{ "block cut", { 5, 9, 0, 0, 0, 0, 0, 0, 0 }, 9, .ret = -EBADMSG },
	{ "no block", { 5, 2, TS }, 12, .ret = -EBADMSG },
	{ "block past the end", { 1, 1, 5, 18, BLK(3) }, 12, .ret = -EBADMSG },
	{ "earlier options count", { 1, 1, TS, 254, 0, 1, 1 }, 16, .ret = -EBADMSG, TS_IS },
	{ "blocks before stay",
	  { 5, 10, BLK(3), 5, 3, 1 },
	  13,
	  .ret = -EBADMSG,
	  .nsack = 1,
	  .first_start = 0x300,
	  .last_end = 0x309 },
	{ "last of two sets counts",
	  { 5, 18, BLK(3), BLK(4), 5, 10, BLK(7) },
	  28,
	  .ret = 0,
	  .nsack = 1,
	  .first_start = 0x700,
	  .last_end = 0x709 },
};

Test(tcp_wire, options)
{
	for (size_t i = 0; i < sizeof(opt_cases) / sizeof(*opt_cases); i++) {
		const struct opt_case *c = &opt_cases[i];
		/* On the heap with its exact length, so that a sanitizer sees a read beyond it. */
		uint8_t *opt = malloc(c->len + !c->len);
		struct xiw_tcp_seg seg;

		memset(&seg, 0xa5, sizeof(seg));
		memcpy(opt, c->opt, c->len);
		cr_expect_eq(xiw_tcp_parse_options(opt, c->len, &seg), c->ret, "%s", c->name);
		cr_expect_eq(seg.has_ts, c->has_ts, "%s", c->name);
		cr_expect_eq(seg.tsval, c->tsval, "%s", c->name);
		cr_expect_eq(seg.tsecr, c->tsecr, "%s", c->name);
		cr_expect_eq(seg.nsack, c->nsack, "%s", c->name);
		if (seg.nsack && seg.nsack == c->nsack) {
			cr_expect_eq(seg.sack[0].start, c->first_start, "%s", c->name);
			cr_expect_eq(seg.sack[seg.nsack - 1].end, c->last_end, "%s", c->name);
		}
		free(opt);
	}
}

/* For any octets, the parser stays within them, and the counts stay within the arrays. */
Test(tcp_wire, options_random)
{
	static const uint8_t likely[] = { 0, 1, 1, 2, 5, 8, 10, 18, 26, 34 };
	uint32_t r = 77;

	for (int round = 0; round < 200000; round++) {
		size_t len = (r >> 8) % 41;
		uint8_t *opt = malloc(len + !len);
		struct xiw_tcp_seg seg;
		int ret;

		for (size_t i = 0; i < len; i++) {
			r = r * 1664525 + 1013904223;
			opt[i] = r >> 30 ? likely[(r >> 8) % 10] : (uint8_t)(r >> 8);
		}
		r = r * 1664525 + 1013904223;
		ret = xiw_tcp_parse_options(opt, len, &seg);
		cr_assert(ret == 0 || ret == -EBADMSG);
		cr_assert_leq(seg.nsack, XIW_TCP_MAX_SACK);
		free(opt);
	}
}

Test(tcp_wire, header)
{
	uint8_t tcp[64] = { 0x12, 0x34, 0x56, 0x78, 0xff, 0xfe,	  0xfd,
			    0xfc, 1,	2,    3,    4,	  8 << 4, XIW_TCP_ACK | XIW_TCP_PSH,
			    0xab, 0xcd, 0,    0,    0,	  0,	  1,
			    1,	  TS };
	struct xiw_tcp_seg seg;

	memset(&seg, 0, sizeof(seg));
	seg.ecn = XIW_ECN_CE;
	cr_assert_eq(xiw_tcp_parse(tcp, sizeof(tcp), 1480, &seg), 32);
	cr_assert_eq(seg.seq, 0xfffefdfc);
	cr_assert_eq(seg.ack, 0x01020304);
	cr_assert_eq(seg.len, 1448);
	cr_assert_eq(seg.wnd, 0xabcd);
	cr_assert_eq(seg.flags, XIW_TCP_ACK | XIW_TCP_PSH);
	cr_assert(seg.has_ts);
	cr_assert_eq(seg.tsval, 1);
	cr_assert_eq(seg.ecn, XIW_ECN_CE);
	cr_assert_eq(xiw_tcp_parse(tcp, 32, 32, &seg), 32);
	cr_assert_eq(seg.len, 0);

	cr_assert_eq(xiw_tcp_parse(tcp, 31, 1480, &seg), -EBADMSG);
	cr_assert_eq(xiw_tcp_parse(tcp, 64, 31, &seg), -EBADMSG);
	cr_assert_eq(xiw_tcp_parse(tcp, 19, 1480, &seg), -EBADMSG);
	cr_assert_eq(xiw_tcp_parse(tcp, 64, 19, &seg), -EBADMSG);
	tcp[12] = 4 << 4;
	cr_assert_eq(xiw_tcp_parse(tcp, 64, 1480, &seg), -EBADMSG);
	tcp[12] = 5 << 4;
	cr_assert_eq(xiw_tcp_parse(tcp, 64, 1480, &seg), 20);
	cr_assert_not(seg.has_ts);
}

Test(tcp_wire, accessors)
{
	uint8_t ip4[20] = { 0x4f, 0x03 }, ip6[40] = { 0x60, 0x20 };

	cr_assert_eq(xiw_ip4_hlen(ip4), 60);
	cr_assert_eq(xiw_ip4_ecn(ip4), XIW_ECN_CE);
	cr_assert_eq(xiw_ip6_ecn(ip6), XIW_ECN_ECT0);
	ip6[1] = 0xf5;
	cr_assert_eq(xiw_ip6_ecn(ip6), XIW_ECN_CE);
	ip6[1] = 0xc5;
	cr_assert_eq(xiw_ip6_ecn(ip6), XIW_ECN_NOT_ECT);
}
