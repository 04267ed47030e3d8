// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tcp/segment.h"

#include <string.h>

#include "tcp/csum.h"

struct xiw_ip_header xiw_ip_read(const uint8_t *ip)
{
	if (ip[0] >> 4 == 4)
		return (struct xiw_ip_header){
			.version = 4,
			.hops = ip[XIW_IP4_OFF_TTL],
			.class_label = (uint32_t)ip[XIW_IP4_OFF_TOS] << 20,
			.src = ip + XIW_IP4_OFF_SRC,
			.dst = ip + XIW_IP4_OFF_DST,
		};
	return (struct xiw_ip_header){
		.version = 6,
		.hops = ip[XIW_IP6_OFF_HOPS],
		.class_label = xiw_get_be32(ip) & 0x0fffffff,
		.src = ip + XIW_IP6_OFF_SRC,
		.dst = ip + XIW_IP6_OFF_DST,
	};
}

static uint32_t build_ip4(uint8_t *out, const struct xiw_ip_header *h, uint32_t tcp_len)
{
	uint16_t sum;

	memset(out, 0, XIW_IP4_MIN);
	out[XIW_IP4_OFF_VER_IHL] = 0x45;
	out[XIW_IP4_OFF_TOS] = (uint8_t)(h->class_label >> 20);
	xiw_put_be16(out + XIW_IP4_OFF_LEN, (uint16_t)(XIW_IP4_MIN + tcp_len));
	xiw_put_be16(out + XIW_IP4_OFF_FRAG, XIW_IP4_DF);
	out[XIW_IP4_OFF_TTL] = h->hops;
	out[XIW_IP4_OFF_PROTO] = XIW_IP_PROTO_TCP;
	memcpy(out + XIW_IP4_OFF_SRC, h->src, 4);
	memcpy(out + XIW_IP4_OFF_DST, h->dst, 4);
	sum = (uint16_t)~xiw_csum_fold(xiw_csum_partial(out, XIW_IP4_MIN));
	memcpy(out + XIW_IP4_OFF_CSUM, &sum, 2);
	return XIW_IP4_MIN;
}

uint32_t xiw_ip_build(uint8_t *out, const struct xiw_ip_header *h, uint32_t tcp_len)
{
	if (h->version == 4)
		return build_ip4(out, h, tcp_len);
	xiw_put_be32(out, 6u << 28 | h->class_label);
	xiw_put_be16(out + XIW_IP6_OFF_LEN, (uint16_t)tcp_len);
	out[XIW_IP6_OFF_NEXT] = XIW_IP_PROTO_TCP;
	out[XIW_IP6_OFF_HOPS] = h->hops;
	memcpy(out + XIW_IP6_OFF_SRC, h->src, 16);
	memcpy(out + XIW_IP6_OFF_DST, h->dst, 16);
	return XIW_IP6_LEN;
}

static unsigned int blocks(const struct xiw_tcp_seg *seg)
{
	return seg->has_ts && seg->nsack > 3 ? 3 : seg->nsack;
}

uint32_t xiw_tcp_build_len(const struct xiw_tcp_seg *seg)
{
	return XIW_TCP_MIN + (seg->has_ts ? XIW_TCPOPT_TS_ALIGNED : 0) +
	       (seg->nsack ? 4 + blocks(seg) * XIW_TCPOPT_SACK_BLOCK : 0);
}

static uint8_t *put_ts(uint8_t *p, uint32_t tsval, uint32_t tsecr)
{
	p[0] = p[1] = XIW_TCPOPT_NOP;
	p[2] = XIW_TCPOPT_TS;
	p[3] = XIW_TCPOPT_TS_LEN;
	xiw_put_be32(p + 4, tsval);
	xiw_put_be32(p + 8, tsecr);
	return p + XIW_TCPOPT_TS_ALIGNED;
}

static void put_sack(uint8_t *p, const struct xiw_tcp_sack *block, unsigned int n)
{
	p[0] = p[1] = XIW_TCPOPT_NOP;
	p[2] = XIW_TCPOPT_SACK;
	p[3] = (uint8_t)(2 + n * XIW_TCPOPT_SACK_BLOCK);
	for (p += 4; n; n--, block++, p += XIW_TCPOPT_SACK_BLOCK) {
		xiw_put_be32(p, block->start);
		xiw_put_be32(p + 4, block->end);
	}
}

uint32_t xiw_tcp_build(uint8_t *out, uint16_t sport, uint16_t dport, const struct xiw_tcp_seg *seg)
{
	const uint32_t len = xiw_tcp_build_len(seg);
	uint8_t *options = out + XIW_TCP_MIN;

	xiw_put_be16(out + XIW_TCP_OFF_SPORT, sport);
	xiw_put_be16(out + XIW_TCP_OFF_DPORT, dport);
	xiw_put_be32(out + XIW_TCP_OFF_SEQ, seg->seq);
	xiw_put_be32(out + XIW_TCP_OFF_ACK, seg->ack);
	out[XIW_TCP_OFF_DOFF] = (uint8_t)(len / 4 << 4);
	out[XIW_TCP_OFF_FLAGS] = seg->flags;
	xiw_put_be16(out + XIW_TCP_OFF_WND, seg->wnd);
	xiw_put_be16(out + XIW_TCP_OFF_CSUM, 0);
	xiw_put_be16(out + XIW_TCP_OFF_URG, 0);
	if (seg->has_ts)
		options = put_ts(options, seg->tsval, seg->tsecr);
	if (seg->nsack)
		put_sack(options, seg->sack, blocks(seg));
	return len;
}
