// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <linux/if_xdp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <xiwarp/abi.h>

#include "netif/xsk.h"

/* Constants of Linux 6.6, which older headers lack. */
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif

/* 2 KiB holds a 1514-byte frame behind the kernel's headroom and XDP's struct xiw_meta. */
#define FRAME_SMALL 2048
#define FRAME_PAGE 4096

#define BUSY_WAIT_MS 10

#define LEND_FIRST 128 /* the first refill finds no frame lent, and doubles it */

static int make_umem(struct xiw_xsk *x, uint32_t ring)
{
	struct xsk_umem_config config = {
		.fill_size = ring,
		.comp_size = XIW_XSK_TX_FRAMES,
		.frame_size = x->frame_size,
	};
	size_t len = (size_t)(x->frames + XIW_XSK_TX_FRAMES) * x->frame_size;

	x->area = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (x->area == MAP_FAILED) {
		x->area = NULL;
		return -ENOMEM;
	}
	x->free = calloc(x->frames, sizeof(*x->free));
	x->tx_free = calloc(XIW_XSK_TX_FRAMES, sizeof(*x->tx_free));
	if (!x->free || !x->tx_free)
		return -ENOMEM;
	/* Last in, first out: the frame that is handed out next is the one most likely to be in the cache. */
	for (uint32_t i = 0; i < x->frames; i++)
		x->free[x->nfree++] = (uint64_t)i * x->frame_size;
	for (uint32_t i = 0; i < XIW_XSK_TX_FRAMES; i++)
		x->tx_free[x->ntx_free++] = (uint64_t)(x->frames + i) * x->frame_size;
	return xsk_umem__create(&x->umem, x->area, len, &x->fill, &x->comp, &config);
}

static int make_socket(struct xiw_xsk *x, const struct xiw_xsk_opts *opts, uint16_t mode)
{
	struct xsk_socket_config config = {
		.rx_size = xiw_xsk_rx_entries(opts->frames),
		.tx_size = XIW_XSK_TX_FRAMES,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = XDP_USE_NEED_WAKEUP | mode | (opts->jumbo ? XDP_USE_SG : 0),
	};
	uint32_t waited = 0;
	int err;

	/* The kernel releases a queue some time after the process that had it has ended. */
	while ((err = xsk_socket__create(&x->xsk, opts->ifname, opts->queue, x->umem, &x->rx,
					 &x->tx, &config)) == -EBUSY &&
	       waited < opts->busy_ms) {
		usleep(BUSY_WAIT_MS * 1000);
		waited += BUSY_WAIT_MS;
	}
	if (err)
		return err;
	x->fd = xsk_socket__fd(x->xsk);
	x->zero_copy = mode == XDP_ZEROCOPY;
	/* libxdp does not close it in programs that the process executes. */
	return fcntl(x->fd, F_SETFD, FD_CLOEXEC) ? -errno : 0;
}

static void not_for_children(void *ring, const struct xdp_ring_offset *off, size_t len)
{
	uint8_t *map = (uint8_t *)ring - off->desc;

	madvise(map, off->desc + len, MADV_DONTFORK);
}

/* A child's mapping of a ring would keep the queue busy after this process has ended. */
static void keep_from_children(struct xiw_xsk *x)
{
	struct xdp_mmap_offsets off;
	socklen_t len = sizeof(off);

	madvise(x->area, (size_t)(x->frames + XIW_XSK_TX_FRAMES) * x->frame_size, MADV_DONTFORK);
	if (getsockopt(x->fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &len) || len != sizeof(off))
		return;
	not_for_children(x->rx.ring, &off.rx, x->rx.size * sizeof(struct xdp_desc));
	not_for_children(x->tx.ring, &off.tx, x->tx.size * sizeof(struct xdp_desc));
	not_for_children(x->fill.ring, &off.fr, x->fill.size * sizeof(uint64_t));
	not_for_children(x->comp.ring, &off.cr, x->comp.size * sizeof(uint64_t));
}

static int bind_as(struct xiw_xsk *x, const struct xiw_xsk_opts *opts, uint16_t mode,
		   uint32_t frame_size)
{
	/* At most half of the frames are lent, since the other half may be kept. */
	uint32_t ring = opts->frames / 2;
	int err;

	memset(x, 0, sizeof(*x));
	x->fd = -1;
	x->frames = opts->frames;
	x->frame_size = frame_size;
	x->frags_max = opts->jumbo ? XIW_XSK_FRAGS_MAX : 1;
	/* In copy mode few frames are best, as they stay in the cache. A NIC gets as many as there are. */
	x->lend = mode == XDP_ZEROCOPY || ring < LEND_FIRST ? ring : LEND_FIRST;
	err = make_umem(x, ring);
	if (!err)
		err = make_socket(x, opts, mode);
	if (err)
		xiw_xsk_destroy(x);
	return err;
}

/* Would copy mode fail of the same? The queue is taken, the privilege is missing, or the interface is down or gone. */
static bool fails_anyhow(int err)
{
	return err == -EBUSY || err == -EPERM || err == -ENETDOWN || err == -ENODEV;
}

/*
 * In zero-copy mode a driver tells its hardware how long a frame is, in the hardware's own unit. Where that is a KiB, a
 * frame of 2 KiB without its headroom counts as one, and the hardware cuts every longer packet in two. A page leaves
 * room for a packet of 1500 bytes whatever the unit is. In copy mode the kernel knows the length, and small frames keep
 * more packets in the cache.
 */
int xiw_xsk_create(struct xiw_xsk *x, const struct xiw_xsk_opts *opts)
{
	int err = opts->copy ? -EOPNOTSUPP : bind_as(x, opts, XDP_ZEROCOPY, FRAME_PAGE);

	if (err && !fails_anyhow(err))
		err = bind_as(x, opts, XDP_COPY, opts->jumbo ? FRAME_PAGE : FRAME_SMALL);
	if (err)
		return err;
	keep_from_children(x);
	xiw_xsk_refill(x, 0);
	return 0;
}

size_t xiw_xsk_locks(uint32_t frames, bool jumbo)
{
	return (size_t)(frames + XIW_XSK_TX_FRAMES) * (jumbo ? FRAME_PAGE : FRAME_SMALL);
}

uint32_t xiw_xsk_takes(const struct xiw_xsk *x)
{
	const uint32_t frame = x->frame_size - XIW_XSK_HEADROOM;

	return x->frags_max * frame - (uint32_t)sizeof(struct xiw_meta);
}

uint32_t xiw_xsk_room(const struct xiw_xsk *x)
{
	return x->zero_copy ? x->frame_size - XIW_XSK_HEADROOM : 0;
}

void xiw_xsk_destroy(struct xiw_xsk *x)
{
	if (x->xsk)
		xsk_socket__delete(x->xsk);
	if (x->umem)
		xsk_umem__delete(x->umem);
	if (x->area)
		munmap(x->area, (size_t)(x->frames + XIW_XSK_TX_FRAMES) * x->frame_size);
	free(x->free);
	free(x->tx_free);
	memset(x, 0, sizeof(*x));
	x->fd = -1;
}

/* Room for the packet in progress is at `p`, and what is known of it is in registers until it is whole. */
unsigned int xiw_xsk_receive(struct xiw_xsk *x, struct xiw_packet *packets, unsigned int max)
{
	struct xiw_packet *p = packets, *const end = packets + max;
	uint32_t idx = 0, n, used = 0, i, frags = 0, len = 0;

	n = xsk_ring_cons__peek(&x->rx, max * XIW_XSK_FRAGS_MAX, &idx);
	for (i = 0; i < n && p < end; i++) {
		const struct xdp_desc *desc = xsk_ring_cons__rx_desc(&x->rx, idx + i);
		/* The packet's first frame begins with XDP's struct xiw_meta. */
		const uint32_t prefix = frags ? 0 : sizeof(struct xiw_meta);
		const bool more = desc->options & XDP_PKT_CONTD;

		if (x->skipping || frags == XIW_XSK_FRAGS_MAX || desc->len < prefix) {
			xiw_xsk_release(x, p->addr, frags);
			x->free[x->nfree++] = desc->addr;
			x->too_long += !more;
			x->skipping = more;
		} else {
			p->addr[frags] = desc->addr;
			p->frag[frags].base = x->area + desc->addr + prefix;
			p->frag[frags++].len = desc->len - prefix;
			len += desc->len - prefix;
			if (more)
				continue;
			p->len = len;
			p++->frags = (uint8_t)frags;
		}
		used = i + 1;
		frags = len = 0;
	}
	/* What lies behind `used` belongs to a packet that does not end within n, and is left to the next call. */
	xsk_ring_cons__cancel(&x->rx, n - used);
	xsk_ring_cons__release(&x->rx, used);
	return (unsigned int)(p - packets);
}

void xiw_xsk_refill(struct xiw_xsk *x, uint32_t at_least)
{
	uint32_t room = xsk_prod_nb_free(&x->fill, x->fill.size), lent = x->fill.size - room, n,
		 idx = 0;

	/* The kernel drops packets when it has no frame left, and one poll of a driver may take these. */
	if (lent < XIW_XSK_POLL)
		x->lend *= 2;
	if (x->lend < at_least)
		x->lend = at_least;
	/* The ring takes all of them or none. */
	if (x->lend > x->fill.size)
		x->lend = x->fill.size;
	n = lent < x->lend ? x->lend - lent : 0;
	if (n > x->nfree)
		n = x->nfree;
	if (!n || xsk_ring_prod__reserve(&x->fill, n, &idx) != n)
		return;
	for (uint32_t i = 0; i < n; i++)
		*xsk_ring_prod__fill_addr(&x->fill, idx + i) = x->free[--x->nfree];
	xsk_ring_prod__submit(&x->fill, n);
}

static void reap_sent(struct xiw_xsk *x)
{
	uint32_t idx = 0, n = xsk_ring_cons__peek(&x->comp, XIW_XSK_TX_FRAMES, &idx);

	for (uint32_t i = 0; i < n; i++)
		x->tx_free[x->ntx_free++] = *xsk_ring_cons__comp_addr(&x->comp, idx + i);
	xsk_ring_cons__release(&x->comp, n);
}

uint8_t *xiw_xsk_tx_room(struct xiw_xsk *x)
{
	if (!x->ntx_free)
		reap_sent(x);
	if (!x->ntx_free) {
		x->tx_full++;
		x->kick =
			true; /* an interface that was down did not send when it was told of the ring */
		return NULL;
	}
	return x->area + x->tx_free[x->ntx_free - 1];
}

void xiw_xsk_send(struct xiw_xsk *x, const uint8_t *packet, uint32_t len)
{
	struct xdp_desc *desc;
	uint32_t idx = 0;

	/* There are as many ring entries as frames, so whoever has a frame finds a free entry. */
	if (xsk_ring_prod__reserve(&x->tx, 1, &idx) != 1)
		return;
	x->ntx_free--;
	desc = xsk_ring_prod__tx_desc(&x->tx, idx);
	*desc = (struct xdp_desc){ .addr = (uint64_t)(packet - x->area), .len = len };
	xsk_ring_prod__submit(&x->tx, 1);
	x->kick = true;
}
