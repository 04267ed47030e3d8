// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "handoff/key.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

bool xiw_flow_key_v4(const struct xiw_flow_key *key)
{
	const __be32 *a = key->local_addr;

	return !a[0] && !a[1] && a[2] == htonl(0xffff);
}

bool xiw_flow_key_same_peer(const struct xiw_flow_key *a, const struct xiw_flow_key *b)
{
	const bool v4 = xiw_flow_key_v4(a);

	return v4 == xiw_flow_key_v4(b) &&
	       !memcmp(a->remote_addr, b->remote_addr, v4 ? sizeof(a->remote_addr) : 8);
}

static void set_addr(__be32 addr[4], __be16 *port, const struct sockaddr_storage *ss)
{
	if (ss->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)ss;

		addr[0] = addr[1] = 0;
		addr[2] = htonl(0xffff);
		addr[3] = in->sin_addr.s_addr;
		*port = in->sin_port;
	} else {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;

		memcpy(addr, &in6->sin6_addr, 16);
		*port = in6->sin6_port;
	}
}

void xiw_flow_key_set(struct xiw_flow_key *key, const struct sockaddr_storage *remote,
		      const struct sockaddr_storage *local)
{
	set_addr(key->remote_addr, &key->remote_port, remote);
	set_addr(key->local_addr, &key->local_port, local);
}
