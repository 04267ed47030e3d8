// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Compares TCP headers, options, and the Internet checksum in pieces with their definitions. */
#include <errno.h>

#include "tcp/csum.h"
#include "tcp/wire.h"
#include "tests/fuzz/fuzz.h"

static uint32_t be(const uint8_t *p, int n)
{
	uint32_t v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

/* RFC 9293 section 3.2: a malformed option ends the list, and the options before it count. */
static void reference_options(const uint8_t *opt, uint32_t len, struct xiw_tcp_seg *seg)
{
	for (uint32_t i = 0; i < len && opt[i] != 0;) {
		uint32_t olen;

		if (opt[i] == 1) {
			i++;
			continue;
		}
		olen = i + 1 < len ? opt[i + 1] : 0;
		if (olen < 2 || i + olen > len)
			return;
		if (opt[i] == 8) {
			if (olen != 10)
				return;
			seg->has_ts = true;
			seg->tsval = be(opt + i + 2, 4);
			seg->tsecr = be(opt + i + 6, 4);
		} else if (opt[i] == 5) {
			if (olen < 10 || (olen - 2) % 8 || olen > 34)
				return;
			seg->nsack = (uint8_t)((olen - 2) / 8);
			for (uint32_t k = 0; k < seg->nsack; k++) {
				seg->sack[k].start = be(opt + i + 2 + 8 * k, 4);
				seg->sack[k].end = be(opt + i + 6 + 8 * k, 4);
			}
		}
		i += olen;
	}
}

static void check_header(struct fuzz_in *in)
{
	uint32_t avail = fuzz_below(in, 80), tcp_len = fuzz_u16(in), hlen;
	uint8_t *tcp = fuzz_take(in, avail);
	struct xiw_tcp_seg seg, want;
	int ret;

	memset(&seg, 0, sizeof(seg));
	ret = xiw_tcp_parse(tcp, avail, tcp_len, &seg);
	hlen = avail > 12 ? (uint32_t)(tcp[12] >> 4) * 4 : 0;
	if (avail < 20 || hlen < 20 || hlen > avail || hlen > tcp_len) {
		CHECK(ret == -EBADMSG);
	} else {
		CHECK(ret == (int)hlen);
		memset(&want, 0, sizeof(want));
		reference_options(tcp + 20, hlen - 20, &want);
		CHECK(seg.seq == be(tcp + 4, 4) && seg.ack == be(tcp + 8, 4));
		CHECK(seg.len == tcp_len - hlen && seg.wnd == be(tcp + 14, 2));
		CHECK(seg.flags == tcp[13]);
		CHECK(seg.has_ts == want.has_ts && seg.tsval == want.tsval &&
		      seg.tsecr == want.tsecr);
		CHECK(seg.nsack == want.nsack);
		for (int i = 0; i < want.nsack; i++)
			CHECK(seg.sack[i].start == want.sack[i].start &&
			      seg.sack[i].end == want.sack[i].end);
	}
	free(tcp);
}

/* RFC 1071: the one's complement sum of 16-bit words, big endian; 0 and 0xffff are the same number. */
static uint32_t reference_sum(const uint8_t *p, size_t len)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint32_t)sum % 0xffff;
}

static uint32_t be_folded(uint64_t sum)
{
	return __builtin_bswap16(xiw_csum_fold(sum)) % 0xffff;
}

static void check_sum(struct fuzz_in *in)
{
	uint32_t shift = fuzz_below(in, 32), cut1 = fuzz_u16(in), cut2 = fuzz_u16(in), len, at;
	struct xiw_csum sum = {};
	uint8_t *block, *p, *tcp, ip[XIW_IP6_LEN];
	bool v6 = cut1 & 1;

	len = (uint32_t)in->left;
	block = malloc(shift + len + 1);
	CHECK(block);
	p = block + shift;
	if (len)
		memcpy(p, in->p, len);
	CHECK(be_folded(xiw_csum_partial(p, len)) == reference_sum(p, len));
	CHECK(be_folded(xiw_csum_partial_generic(p, len)) == reference_sum(p, len));
	cut1 %= len + 1;
	cut2 %= len - cut1 + 1;
	xiw_csum_add(&sum, p, cut1);
	xiw_csum_add(&sum, p + cut1, cut2);
	xiw_csum_add(&sum, p + cut1 + cut2, len - cut1 - cut2);
	CHECK(be_folded(sum.sum) == reference_sum(p, len));

	/* A filled-in checksum is right. */
	if (len >= sizeof(ip) + 20) {
		memcpy(ip, p, sizeof(ip));
		ip[0] = v6 ? 0x60 : 0x45;
		tcp = p + sizeof(ip);
		at = len - sizeof(ip);
		xiw_tcp_csum_fill(ip, tcp, at, NULL, 0);
		sum = (struct xiw_csum){};
		xiw_csum_pseudo(&sum, ip, at);
		xiw_csum_add(&sum, tcp, at);
		CHECK(xiw_csum_good(&sum));
	}
	free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };

	if (fuzz_u8(&in) & 1)
		check_sum(&in);
	else
		check_header(&in);
	return 0;
}
