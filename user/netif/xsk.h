/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One AF_XDP socket with its UMEM. Received frames stay with the caller as long as it likes, and packets that it builds
 * are sent. For one thread. Nothing here allocates or enters the kernel per packet.
 */
#ifndef XIW_NETIF_XSK_H
#define XIW_NETIF_XSK_H

#include <stdbool.h>
#include <stdint.h>
#include <xdp/xsk.h>

#include "base/vec.h"

#define XIW_XSK_FRAGS_MAX 4 /* frames of one packet: 9000 octets take 3 */
#define XIW_XSK_TX_FRAMES 256
#define XIW_XSK_POLL 64 /* most packets that the kernel takes from a driver at once */
/*
 * A page for each frame, without the kernel's headroom in each, XDP's struct xiw_meta, and Ethernet with two VLAN tags.
 */
#define XIW_XSK_HEADROOM 256u /* the kernel's, in each frame */
#define XIW_XSK_MTU_MAX (XIW_XSK_FRAGS_MAX * (4096u - XIW_XSK_HEADROOM) - 16 - 22)

/*
 * Entries of the RX ring. In zero-copy mode the frames lent are all the memory that the queue has, for everybody's
 * traffic. If the ring had room for all of them, an engine that stands still would leave no frame in which a packet can
 * arrive, and XDP, which takes the streams away from such an engine, would never run again. So the ring, the half of
 * the frames that may be kept, and a batch are together fewer than all frames.
 */
#define XIW_XSK_BATCH_FRAMES 256
static inline uint32_t xiw_xsk_batch_frames(uint32_t frames)
{
	return frames > 4 * XIW_XSK_BATCH_FRAMES ? XIW_XSK_BATCH_FRAMES : frames / 4;
}
static inline uint32_t xiw_xsk_rx_entries(uint32_t frames)
{
	return frames > 4 * XIW_XSK_BATCH_FRAMES ? frames / 4 : frames / 8;
}

/* A received packet. Its frames are the caller's until the caller releases them. */
struct xiw_packet {
	struct xiw_vec frag
		[XIW_XSK_FRAGS_MAX]; /* the first starts at the Ethernet header, behind a struct xiw_meta */
	uint64_t addr[XIW_XSK_FRAGS_MAX]; /* for xiw_xsk_release() */
	uint32_t len;
	uint8_t frags;
};

struct xiw_xsk {
	struct xsk_ring_cons rx;
	struct xsk_ring_prod fill;
	uint8_t *area;
	uint64_t *free; /* stack of the frames lent neither to the kernel nor to a caller */
	uint32_t nfree;
	uint32_t frames, frame_size, frags_max; /* frames of one packet, at most */
	/*
	 * How many frames to lend to the kernel, which uses them in turn. The fewer they are, the more likely the
	 * kernel copies into a frame that is in the cache. Doubled when they nearly run out.
	 */
	uint32_t lend;
	int fd;
	bool skipping; /* in the middle of a packet with too many frames */

	struct xsk_ring_prod tx;
	struct xsk_ring_cons comp;
	uint64_t *tx_free;
	uint32_t ntx_free;
	bool kick; /* the kernel is to be told of packets in the TX ring */

	bool zero_copy;
	uint64_t
		too_long; /* packets dropped because they have more than XIW_XSK_FRAGS_MAX frames */
	uint64_t tx_full; /* packets not sent because no frame was free */

	struct xsk_socket *xsk;
	struct xsk_umem *umem;
};

struct xiw_xsk_opts {
	const char *ifname;
	uint32_t queue;
	uint32_t frames; /* power of two */
	bool jumbo;	 /* packets may take more than one frame */
	bool copy;	 /* in copy mode, also where the driver has zero-copy */
	uint32_t busy_ms; /* how long to wait if the queue is in use */
};

/*
 * Makes the socket, in zero-copy mode with frames of a page if the driver has that, else in copy mode. Returns the
 * kernel's negative errno, or -ENOMEM.
 */
int xiw_xsk_create(struct xiw_xsk *x, const struct xiw_xsk_opts *opts);
void xiw_xsk_destroy(struct xiw_xsk *x);

/* Bytes that it locks at least, which the memlock limit bounds for all processes of a user together. */
size_t xiw_xsk_locks(uint32_t frames, bool jumbo);
/* Bytes of the longest packet that the socket takes, without XDP's struct xiw_meta. */
uint32_t xiw_xsk_takes(const struct xiw_xsk *x);
/* Bytes of a packet that the hardware has room for in one frame; 0 if frames are copied. */
uint32_t xiw_xsk_room(const struct xiw_xsk *x);

/* Takes up to @max packets from the ring. */
unsigned int xiw_xsk_receive(struct xiw_xsk *x, struct xiw_packet *packets, unsigned int max);

/* Releases a packet's frames. */
static inline void xiw_xsk_release(struct xiw_xsk *x, const uint64_t *addr, unsigned int frags)
{
	while (frags--)
		x->free[x->nfree++] = *addr++;
}

/*
 * Lends free frames to the kernel again, so that it has @at_least so many if possible. Called whenever XIW_XSK_POLL
 * packets have been processed, or all that there were.
 */
void xiw_xsk_refill(struct xiw_xsk *x, uint32_t at_least);

/* Room for one packet, or NULL; xiw_xsk_send() then sends it. Afterwards ->kick says that the kernel is to be told. */
uint8_t *xiw_xsk_tx_room(struct xiw_xsk *x);
void xiw_xsk_send(struct xiw_xsk *x, const uint8_t *packet, uint32_t len);

#endif
