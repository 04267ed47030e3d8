/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The key of a flow: the addresses and ports of its connection, with IPv4 addresses mapped into IPv6. */
#ifndef XIW_HANDOFF_KEY_H
#define XIW_HANDOFF_KEY_H

#include <stdbool.h>
#include <sys/socket.h>

#include <xiwarp/abi.h>

/* Fills a key from two socket addresses of one family. */
void xiw_flow_key_set(struct xiw_flow_key *key, const struct sockaddr_storage *remote,
		      const struct sockaddr_storage *local);
/* Is the connection's family IPv4? */
bool xiw_flow_key_v4(const struct xiw_flow_key *key);
/* Are the peers one, as far as we can tell? An IPv6 host has its whole /64. An IPv4 address is taken for a host. */
bool xiw_flow_key_same_peer(const struct xiw_flow_key *a, const struct xiw_flow_key *b);

#endif
