/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An interface that an engine uses, with the programs loaded, and its receive queues. */
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

/* One receive queue of an interface with its AF_XDP socket. */
struct xiw_rxq {
	struct xiw_xsk xsk;
	struct xiw_xsk *out; /* by which it sends: its own, or that of a queue that has a send queue */
	struct xiw_netif *netif;
	struct xiw_queue *shared; /* what XDP's watchdog reads of this queue */
	/*
	 * Most packets at once. The peer waits for their ACK meanwhile, but one that wakes another core costs as much
	 * as dozens of segments. With 64 instead of 256, the engine needed 12 % more CPU time, and 3 % more arrived.
	 */
	uint32_t batch;
	uint32_t index; /* the interface's number of the queue */
	bool polled;	/* a poll is with io_uring */
	bool kicking;	/* a TX kick is with io_uring */
} __attribute__((aligned(64)));

/* path/apart.c: does conntrack see lo as part of the interface's connections? */
struct xiw_conntracked {
	uint64_t look_ms; /* what is known holds until then */
	bool apart;	  /* it does not */
};

struct xiw_netif {
	struct xiw_netif *next;
	char ifname[IF_NAMESIZE];
	uint32_t ifindex;
	uint8_t mac[6];
	uint32_t mtu;
	uint32_t bridge; /* that it is or lies on; 0: none */
	uint32_t xdp_id, tc_id; /* IDs of xiw_ingress and xiw_egress */
	bool outgrown;		/* the MTU has become larger than the sockets were made for */
	bool strips;		/* its hardware takes VLAN tags out of frames */
	bool filtered;		/* netfilter sees its packets in the bridge below it */
	bool frames_come;	/* AF_XDP has delivered at least one frame */
	bool copy;		/* its driver has no zero-copy, or none that works */
	bool rebinds;		/* its queues are bound anew (path/rebind.c) */
	bool virtual_wire;	/* TCP checksums may be unfinished: xiw_if_virtual() */
	uint64_t overflows;	/* frames that its rings had no room for */
	uint64_t overflow_ms;	/* when that was last seen to grow */
	struct {
		uint64_t look_ms;     /* when the next look at who is in front of xiw_egress is due */
		uint64_t regained_ms; /* when xiw_egress was last put in front again, or 0 */
		bool behind;	      /* it could not be */
		bool waits;	      /* another process has the lock of the pins */
	} front;
	struct xiw_conntracked conntrack;
	struct xiw_table table;
	struct xiw_rxq *queues; /* that the engine serves (core/serve.c) */
	uint32_t nqueues;	/* of these; there is room for XIW_MAX_QUEUES */
	uint32_t shut;		/* queues whose sockets are closed, to be made anew */
	uint64_t shut_ms;	/* since when */
	uint32_t senders;	/* send queues that the interface has */
	uint32_t channels;	/* receive queues that the interface has */
	uint64_t served;	/* bit q: the engine serves queue q */
	uint64_t foreign;	/* bit q: other AF_XDP software has queue q */
	uint64_t foreign_ms;	/* when these are tried again, and after what time */
	uint32_t foreign_wait_ms;
	int refused;		   /* why no more queues are tried: a negative errno, or 0 */
	struct xiw_conn **by_flow; /* table.nflows entries: connections by slot */
};

/* Returns the entry of a list of addresses that has the address `local`, or NULL. */
const struct ifaddrs *xiw_address_of(const struct ifaddrs *all,
				     const struct sockaddr_storage *local);

/* Finds the name of the interface that has the address `local`. Returns 0, or -ENODEV if none has it. */
int xiw_netif_find(struct xiw_engine *e, const struct sockaddr_storage *local,
		   char name[IF_NAMESIZE]);
/* The same, and whether this host has the remote address, too. */
int xiw_netif_find_pair(struct xiw_engine *e, const struct sockaddr_storage *local,
			const struct sockaddr_storage *remote, char name[IF_NAMESIZE], bool *here);

/* Reads the MAC address again and gives it to all flows of the interface if it has changed. */
void xiw_netif_refresh(struct xiw_netif *p);

/* Closes the queues and maps, and frees the interface. */
void xiw_netif_free(const struct xiw_engine *e, struct xiw_netif *p);

/*
 * Has the process the privilege to open the AF_XDP sockets of an interface again? Many have given it up, and had better
 * keep the sockets that they have.
 */
bool xiw_netif_may_reopen(void);
/* Reads again whether the hardware takes VLAN tags out of frames. True if it has begun to since the last call. */
bool xiw_netif_strips_now(struct xiw_netif *p);
/* The same for netfilter of a bridge. */
bool xiw_netif_filtered_now(struct xiw_netif *p);
/* Sets `outgrown` if the MTU is larger than the AF_XDP sockets were made for. */
void xiw_netif_look_at_mtu(struct xiw_netif *p);

/*
 * True if new connections may use the interface; otherwise `why` gets the cause. Connections that it has go on, as the
 * segment size that they agreed on with their peers still fits.
 */
bool xiw_netif_usable(struct xiw_netif *p, char *why, size_t why_len);

/* Gives the interface of that name, and opens it if it is not in use yet. Returns 0 or an error, with `why`. */
int xiw_netif_by_name(struct xiw_engine *e, const char *name, struct xiw_netif **netif, char *why,
		      size_t len);

/* Frees all interfaces of an engine. */
void xiw_netifs_free(struct xiw_engine *e);

#endif
