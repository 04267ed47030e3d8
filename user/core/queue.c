// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Waiting for frames on AF_XDP sockets, and making the kernel send the packets in their TX rings. */
#include "core/queue.h"

#include <errno.h>
#include <linux/if_xdp.h>
#include <poll.h>
#include <sys/socket.h>

#include "core/ring.h"

#define OVERFLOW_MS 1000 /* a stretch that stood still ends within this time */
#define KICKS 8		 /* most tries to send a TX ring; each sends about 32 packets */

/* The poll reports once, so a busy engine gets no completion for each frame. */
void xiw_queue_poll(struct xiw_engine *e, struct xiw_rxq *q)
{
	if (q->polled)
		return;
	io_uring_prep_poll_add(xiw_sqe(e, q, XIW_OP_POLL_XSK), q->xsk.fd, POLLIN);
	q->polled = true;
}

void xiw_queue_kick(struct xiw_engine *e, struct xiw_rxq *q)
{
	if (!q->xsk.kick || q->kicking)
		return;
	q->xsk.kick = false;
	if (!xsk_ring_prod__needs_wakeup(&q->xsk.tx))
		return;
	io_uring_prep_send(xiw_sqe(e, q, XIW_OP_KICK_XSK), q->xsk.fd, NULL, 0, MSG_DONTWAIT);
	q->kicking = true;
}

/* Asks the kernel to send the TX ring now. True: packets are left, and it has to be asked again. */
static bool kick_now(struct xiw_xsk *x)
{
	if (!xsk_ring_prod__needs_wakeup(&x->tx))
		return false;
	return sendto(x->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 &&
	       (errno == EAGAIN || errno == EBUSY || errno == ENOBUFS);
}

void xiw_acks_out(struct xiw_engine *e)
{
	for (struct xiw_netif *p = e->netifs; p; p = p->next)
		for (uint32_t i = 0; i < p->nqueues; i++) {
			struct xiw_xsk *x = &p->queues[i].xsk;

			for (int tries = 0; x->kick && tries < KICKS; tries++)
				x->kick = kick_now(x);
		}
}

/* A stretch that missed a segment for this says nothing about the way of frames. Callers ask a few times a second. */
bool xiw_queues_overflowed(struct xiw_netif *p, uint64_t now_ms)
{
	struct xdp_statistics x;
	uint64_t count = 0;

	for (uint32_t i = 0; i < p->nqueues; i++) {
		socklen_t len = sizeof(x);

		if (!getsockopt(p->queues[i].xsk.fd, SOL_XDP, XDP_STATISTICS, &x, &len))
			count += x.rx_ring_full + x.rx_fill_ring_empty_descs;
	}
	if (count != p->overflows) {
		p->overflows = count;
		p->overflow_ms = now_ms;
	}
	return p->overflow_ms && now_ms - p->overflow_ms < OVERFLOW_MS;
}
