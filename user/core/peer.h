/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who a peer is, where a share of something is a peer's, however many connections it has. */
#ifndef XIW_CORE_PEER_H
#define XIW_CORE_PEER_H

#include "core/engine.h"

/* Returns what identifies a peer: its IPv4 address, or its IPv6 /64 network, which belongs to one owner. */
uint64_t xiw_peer_key(const struct sockaddr_storage *ss);

/* Its place in a table of XIW_PEER_PLACES. A secret prevents peers from choosing addresses that share one. */
uint8_t xiw_peer_place(uint64_t secret, uint64_t key);

#endif
