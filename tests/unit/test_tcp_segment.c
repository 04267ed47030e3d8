// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <criterion/criterion.h>
#include <string.h>

#include "tcp/csum.h"
#include "tcp/segment.h"

static const uint8_t addresses[32] = { 10,   0, 0, 1, 10, 0, 0, 2, 9, 8, 7,  6,	 5,  4,	 3,  2,
				       0xfd, 1, 2, 3, 4,  5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

static void ip_header(uint8_t version, uint32_t class_label)
{
	const struct xiw_ip_header in = {
		.version = version,
		.hops = 63,
		.class_label = class_label,
		.src = addresses,
		.dst = addresses + 16,
	};
	const uint32_t len = version == 4 ? 20 : 40, alen = version == 4 ? 4 : 16;
	uint8_t wire[40];
	struct xiw_ip_header out;

	memset(wire, 0xff, sizeof(wire));
	cr_assert_eq(xiw_ip_build(wire, &in, 1000), len);
	out = xiw_ip_read(wire);
	cr_expect_eq(out.version, version);
	cr_expect_eq(out.hops, 63);
	cr_expect_eq(out.class_label, class_label);
	cr_expect_arr_eq(out.src, addresses, alen);
	cr_expect_arr_eq(out.dst, addresses + 16, alen);
	if (version == 4) {
		cr_expect_eq(xiw_get_be16(wire + XIW_IP4_OFF_LEN), 1020);
		cr_expect_eq(xiw_csum_fold(xiw_csum_partial(wire, 20)), 0xffff);
	} else {
		cr_expect_eq(xiw_get_be16(wire + XIW_IP6_OFF_LEN), 1000);
		cr_expect_eq(wire[XIW_IP6_OFF_NEXT], XIW_IP_PROTO_TCP);
	}
}

Test(tcp_segment, ip_headers)
{
	ip_header(4, 0xabu << 20);
	ip_header(6, 0x0abcdef1);
}

Test(tcp_segment, tcp_header_parses_as_what_was_built)
{
	for (unsigned int options = 0; options < 10; options++) {
		struct xiw_tcp_seg in = {
			.seq = 1, .ack = 0xfffffff0, .wnd = 77, .flags = XIW_TCP_ACK
		};
		const unsigned int wanted = options / 2;
		struct xiw_tcp_seg out = {};
		uint8_t wire[XIW_TCP_MAX];
		uint32_t len;

		in.has_ts = options & 1;
		in.tsval = in.has_ts ? 5 : 0;
		in.tsecr = in.has_ts ? 6 : 0;
		in.nsack = (uint8_t)wanted;
		for (uint32_t i = 0; i < wanted; i++)
			in.sack[i] = (struct xiw_tcp_sack){ 100 * i + 10, 100 * i + 20 };
		memset(wire, 0xff, sizeof(wire));
		len = xiw_tcp_build(wire, 1234, 4321, &in);
		cr_expect_eq(len, xiw_tcp_build_len(&in));
		cr_expect_eq(xiw_tcp_parse(wire, sizeof(wire), len, &out), (int)len);
		cr_expect_eq(xiw_get_be16(wire + XIW_TCP_OFF_SPORT), 1234);
		cr_expect_eq(xiw_get_be16(wire + XIW_TCP_OFF_DPORT), 4321);
		cr_expect_eq(xiw_get_be16(wire + XIW_TCP_OFF_CSUM), 0);
		cr_expect_eq(xiw_get_be16(wire + XIW_TCP_OFF_URG), 0);
		cr_expect_eq(out.seq, in.seq);
		cr_expect_eq(out.ack, in.ack);
		cr_expect_eq(out.wnd, in.wnd);
		cr_expect_eq(out.flags, in.flags);
		cr_expect_eq(out.has_ts, in.has_ts);
		cr_expect_eq(out.tsval, in.tsval);
		cr_expect_eq(out.tsecr, in.tsecr);
		/* Beside a Timestamps option there is room for three blocks. */
		cr_expect_eq(out.nsack, in.has_ts && wanted == 4 ? 3 : wanted);
		cr_expect_arr_eq(out.sack, in.sack, out.nsack * sizeof(in.sack[0]));
	}
}
