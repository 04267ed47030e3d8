// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>

#include "tcp/wire.h"

static void take_ts(const uint8_t *p, struct xiw_tcp_seg *seg)
{
	seg->has_ts = true;
	seg->tsval = xiw_get_be32(p);
	seg->tsecr = xiw_get_be32(p + 4);
}

static int take_sack(const uint8_t *p, size_t len, struct xiw_tcp_seg *seg)
{
	if (!len || len % XIW_TCPOPT_SACK_BLOCK || len / XIW_TCPOPT_SACK_BLOCK > XIW_TCP_MAX_SACK)
		return -EBADMSG;
	seg->nsack = 0;
	for (; len; p += XIW_TCPOPT_SACK_BLOCK, len -= XIW_TCPOPT_SACK_BLOCK) {
		seg->sack[seg->nsack].start = xiw_get_be32(p);
		seg->sack[seg->nsack].end = xiw_get_be32(p + 4);
		seg->nsack++;
	}
	return 0;
}

static int parse_list(const uint8_t *p, const uint8_t *end, struct xiw_tcp_seg *seg)
{
	uint8_t kind, olen;

	while (p < end) {
		kind = *p;
		if (kind == XIW_TCPOPT_EOL)
			return 0;
		if (kind == XIW_TCPOPT_NOP) {
			p++;
			continue;
		}
		if (end - p < 2)
			return -EBADMSG;
		olen = p[1];
		if (olen < 2 || olen > end - p)
			return -EBADMSG;
		if (kind == XIW_TCPOPT_TS) {
			if (olen != XIW_TCPOPT_TS_LEN)
				return -EBADMSG;
			take_ts(p + 2, seg);
		} else if (kind == XIW_TCPOPT_SACK) {
			if (take_sack(p + 2, olen - 2, seg))
				return -EBADMSG;
		}
		p += olen;
	}
	return 0;
}

int xiw_tcp_parse_options(const uint8_t *opt, size_t len, struct xiw_tcp_seg *seg)
{
	seg->has_ts = false;
	seg->tsval = seg->tsecr = 0;
	seg->nsack = 0;
	if (len >= XIW_TCPOPT_TS_ALIGNED && xiw_get_be32(opt) == XIW_TCPOPT_TS_ALIGNED_HEAD) {
		take_ts(opt + 4, seg);
		if (len == XIW_TCPOPT_TS_ALIGNED)
			return 0;
		return parse_list(opt + XIW_TCPOPT_TS_ALIGNED, opt + len, seg);
	}
	return parse_list(opt, opt + len, seg);
}

int xiw_tcp_parse(const uint8_t *tcp, size_t avail, size_t tcp_len, struct xiw_tcp_seg *seg)
{
	unsigned int hlen;

	if (avail < XIW_TCP_MIN || tcp_len < XIW_TCP_MIN)
		return -EBADMSG;
	hlen = xiw_tcp_hlen(tcp);
	if (hlen < XIW_TCP_MIN || hlen > avail || hlen > tcp_len)
		return -EBADMSG;
	seg->seq = xiw_get_be32(tcp + XIW_TCP_OFF_SEQ);
	seg->ack = xiw_get_be32(tcp + XIW_TCP_OFF_ACK);
	seg->len = (uint32_t)(tcp_len - hlen);
	seg->wnd = xiw_get_be16(tcp + XIW_TCP_OFF_WND);
	seg->flags = tcp[XIW_TCP_OFF_FLAGS];
	xiw_tcp_parse_options(tcp + XIW_TCP_MIN, hlen - XIW_TCP_MIN, seg);
	return (int)hlen;
}
