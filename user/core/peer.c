// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "core/peer.h"

#include <netinet/in.h>
#include <string.h>

uint64_t xiw_peer_key(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *in = (const struct sockaddr_in *)ss;
	uint32_t v4;
	uint64_t key;

	if (ss->ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		memcpy(&key, &in6->sin6_addr, sizeof(key));
		return key;
	}
	if (ss->ss_family == AF_INET6)
		memcpy(&v4, &in6->sin6_addr.s6_addr[12], sizeof(v4));
	else
		v4 = in->sin_addr.s_addr;
	return v4;
}

uint8_t xiw_peer_place(uint64_t secret, uint64_t key)
{
	return (uint8_t)((key ^ secret) * 0x9e3779b97f4a7c15ull >> 56);
}

_Static_assert(XIW_PEER_PLACES == 1u << 8, "a place has eight bits");
