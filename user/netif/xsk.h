/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One AF_XDP socket with its UMEM: frames in, kept as long as the owner likes, and built packets out.
 * One thread. Nothing here allocates or enters the kernel per packet.
 */
#ifndef XIW_NETIF_XSK_H
#define XIW_NETIF_XSK_H

#include <stdbool.h>
#include <stdint.h>
#include <xdp/xsk.h>

#include "base/vec.h"

#define XIW_XSK_FRAGS_MAX 4 /* frames of one packet: 9000 octets take 3 */
#define XIW_XSK_TX_FRAMES 256
/* A page each, less the kernel's headroom in every one, XDP's struct xiw_meta, and Ethernet with two VLAN tags. */
#define XIW_XSK_MTU_MAX (XIW_XSK_FRAGS_MAX * (4096u - 256) - 20 - 22)

/*
 * Entries of the RX ring. Without a copy the frames lent are all the memory that the queue has, for the traffic of
 * everybody: were there room for them all on the ring, then an engine that stands still would leave none in which a
 * packet can arrive, and XDP, which takes the streams away from such an engine, would never run again. So the ring,
 * half of the frames, which may be kept, and a batch are less than all.
 */
#define XIW_XSK_BATCH_FRAMES 64
static inline uint32_t xiw_xsk_rx_entries(uint32_t frames)
{
	return frames > 4 * XIW_XSK_BATCH_FRAMES ? frames / 4 : frames / 8;
}

/* A received packet: the frames are the caller's until it gives them back. */
struct xiw_packet {
	struct xiw_vec frag
		[XIW_XSK_FRAGS_MAX]; /* the first starts at the Ethernet header, behind a struct xiw_meta */
	uint64_t addr[XIW_XSK_FRAGS_MAX]; /* as xiw_xsk_release() wants them */
	uint32_t len;
	uint8_t frags;
};

struct xiw_xsk {
	struct xsk_ring_cons rx;
	struct xsk_ring_prod fill;
	uint8_t *area;
	uint64_t *free; /* stack of frames not lent to the kernel or to a caller */
	uint32_t nfree;
	uint32_t frames, frame_size;
	/*
	 * Frames to lend to the kernel. It takes them in turn, so each one lent is memory in rotation:
	 * few enough, and the kernel's copy finds its frame in the cache. Doubled when they run out.
	 */
	uint32_t lend;
	int fd;
	bool skipping; /* in the middle of a packet with too many frames */

	struct xsk_ring_prod tx;
	struct xsk_ring_cons comp;
	uint64_t *tx_free;
	uint32_t ntx_free;
	bool kick; /* the TX ring has news for the kernel */

	bool zero_copy;
	uint64_t too_long; /* packets given up: more than XIW_XSK_FRAGS_MAX frames */
	uint64_t tx_full;  /* packets not sent for want of a frame */

	struct xsk_socket *xsk;
	struct xsk_umem *umem;
};

struct xiw_xsk_opts {
	const char *ifname;
	uint32_t queue;
	uint32_t frames; /* power of two */
	bool jumbo;	 /* packets may take more than one frame */
	bool patient;	 /* wait a moment for a queue that is in use */
};

/* Negative errno of the kernel; -ENOMEM. */
int xiw_xsk_create(struct xiw_xsk *x, const struct xiw_xsk_opts *opts);
void xiw_xsk_destroy(struct xiw_xsk *x);

/* Takes up to @max packets from the ring. */
unsigned int xiw_xsk_receive(struct xiw_xsk *x, struct xiw_packet *packets, unsigned int max);

/* Gives a packet's frames back. */
static inline void xiw_xsk_release(struct xiw_xsk *x, const uint64_t *addr, unsigned int frags)
{
	while (frags--)
		x->free[x->nfree++] = *addr++;
}

/* Lends free frames to the kernel again; once per batch. */
void xiw_xsk_refill(struct xiw_xsk *x);

/* Room for one packet to send, or NULL; then xiw_xsk_send() with its length. Kernel is told by ->kick. */
uint8_t *xiw_xsk_tx_room(struct xiw_xsk *x);
void xiw_xsk_send(struct xiw_xsk *x, const uint8_t *packet, uint32_t len);

#endif
