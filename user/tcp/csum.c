// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tcp/csum.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "tcp/wire.h"

static uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

void xiw_csum_pseudo(struct xiw_csum *c, const uint8_t *ip, uint32_t tcp_len)
{
	/* The two addresses are adjacent. */
	if (ip[0] >> 4 == 4)
		c->sum += (uint64_t)load32(ip + XIW_IP4_OFF_SRC) + load32(ip + XIW_IP4_OFF_DST);
	else
		c->sum += xiw_csum_partial_generic(ip + XIW_IP6_OFF_SRC, 32);
	c->sum += (uint64_t)htonl(tcp_len) + htons(IPPROTO_TCP);
}

bool xiw_ip4_csum_good(const uint8_t *ip)
{
	const uint8_t *end = ip + xiw_ip4_hlen(ip);
	uint64_t sum = 0;

	for (; ip < end; ip += 4)
		sum += load32(ip);
	return xiw_csum_fold(sum) == 0xffff;
}

void xiw_tcp_csum_fill(const uint8_t *ip, uint8_t *tcp, size_t len, const struct xiw_vec *pieces,
		       unsigned int n)
{
	struct xiw_csum c = {};
	uint16_t field = 0;

	xiw_csum_pseudo(&c, ip, (uint32_t)(len + xiw_vec_total(pieces, n)));
	memcpy(tcp + XIW_TCP_OFF_CSUM, &field, sizeof(field));
	xiw_csum_add(&c, tcp, len);
	for (; n; n--, pieces++)
		xiw_csum_add(&c, pieces->base, pieces->len);
	field = xiw_csum_final(&c);
	memcpy(tcp + XIW_TCP_OFF_CSUM, &field, sizeof(field));
}
