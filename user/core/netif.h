/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An interface with the programs loaded, and its queues. */
#ifndef XIW_CORE_NETIF_H
#define XIW_CORE_NETIF_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "handoff/table.h"
#include "netif/xsk.h"

struct xiw_conn;
struct xiw_engine;
struct ifaddrs;

/* One RX queue of an interface with its AF_XDP socket. */
struct xiw_rxq {
	struct xiw_xsk xsk;
	struct xiw_netif *netif;
	struct xiw_queue *shared; /* beat and drained, for the watchdog */
	uint32_t batch; /* packets at once: some 100 KB, for then the peer waits for an ACK */
	bool mapped;	/* XDP finds the socket */
	bool polled;	/* a poll is with io_uring */
	bool kicking;	/* a TX kick is with io_uring */
} __attribute__((aligned(64)));

struct xiw_netif {
	struct xiw_netif *next;
	char ifname[IF_NAMESIZE];
	uint32_t ifindex;
	uint8_t mac[6];
	uint32_t mtu;
	uint32_t xdp_id, tc_id; /* of the programs that its connections need */
	bool outgrown;		/* the MTU has become larger than its frames */
	bool frames_come;	/* AF_XDP has delivered one at least */
	bool has_carried;	/* a stretch has committed something */
	bool virtual_wire;	/* veth: a sender may leave its TCP checksums unfinished */
	uint64_t overflows;	/* frames for which its rings had no room, */
	uint64_t overflow_ms;	/* when that was last seen to grow */
	struct xiw_table table;
	struct xiw_rxq *queues;
	uint32_t nqueues;
	uint32_t
		channels; /* that the interface has: of more than XIW_MAX_QUEUES only so many are served */
	struct xiw_conn **by_flow; /* XIW_MAX_FLOWS */
};

const struct ifaddrs *xiw_address_of(const struct ifaddrs *all,
				     const struct sockaddr_storage *local);
int xiw_netif_find(const struct sockaddr_storage *local, char name[IF_NAMESIZE]);
void xiw_netif_refresh(struct xiw_netif *p);
void xiw_netif_free(struct xiw_netif *p);
void xiw_netif_look_at_mtu(struct xiw_netif *p);
bool xiw_netif_usable(struct xiw_netif *p, char *why, size_t why_len);
int xiw_netif_by_name(struct xiw_engine *e, const char *name, struct xiw_netif **netif, char *why,
		      size_t len);
void xiw_netifs_free(struct xiw_engine *e);

#endif
