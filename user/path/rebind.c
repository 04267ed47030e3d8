// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "path/rebind.h"

#include "core/agenda.h"
#include "core/clock.h"
#include "core/queue.h"
#include "core/ring.h"
#include "core/serve.h"
#include "handoff/queues.h"
#include "netif/interface.h"
#include "path/direct.h"
#include "path/fallback.h"

#define BUSY_MS 10 /* between two tries to bind a queue that the kernel has not given back yet */

/*
 * From here on XDP redirects nothing to the queues, so no stretch begins. io_uring lets go of the sockets, and streams
 * fall back at the end of the turn, after the frames that are on the rings.
 */
static void begin(struct xiw_engine *e, struct xiw_netif *p)
{
	p->rebinds = true;
	e->watch.rebinds++;
	for (uint32_t i = 0; i < p->nqueues; i++) {
		struct xiw_rxq *q = &p->queues[i];

		xiw_queue_end(&p->table, q->index);
		if (q->polled)
			io_uring_prep_cancel64(xiw_sqe(e, NULL, XIW_OP_NONE),
					       (uintptr_t)q | XIW_OP_POLL_XSK, 0);
	}
	for (struct xiw_conn *c = e->conns; c; c = c->next)
		if (c->flow && c->netif == p)
			xiw_fall_back(c, XIW_REASON_REBOUND, NULL);
}

static bool cut(const struct xiw_netif *p)
{
	for (uint32_t i = 0; i < p->nqueues; i++)
		if (__atomic_load_n(&p->queues[i].shared->cut, __ATOMIC_RELAXED))
			return true;
	return false;
}

/*
 * A process that cannot make sockets keeps those that copy: what does not fit into their frames is not redirected. In
 * zero-copy mode they are the memory of everybody's packets, so it leaves the queues for good.
 */
bool xiw_rebind_look(struct xiw_engine *e, struct xiw_netif *p)
{
	const bool zero_copy = p->nqueues && p->queues[0].xsk.zero_copy;

	if (p->rebinds)
		return true;
	if (!cut(p) && !(p->outgrown && (zero_copy || xiw_netif_may_reopen())))
		return false;
	if (p->outgrown && !xiw_if_mtu(p->ifname, &p->mtu))
		p->outgrown = false;
	begin(e, p);
	return true;
}

/* Has io_uring let go of the sockets? */
static bool let_go(const struct xiw_netif *p)
{
	for (uint32_t i = 0; i < p->nqueues; i++)
		if (p->queues[i].polled || p->queues[i].kicking)
			return false;
	return true;
}

/* Takes the frames that are left on the rings, and gives the streams that they belong to back. */
static void empty(struct xiw_engine *e, struct xiw_netif *p)
{
	for (uint32_t i = 0; i < p->nqueues; i++)
		for (uint32_t n = 0; n <= e->opts.frames; n += p->queues[i].batch)
			if (xiw_cq_room(e) <= XIW_CQ_RESERVE || !xiw_direct_poll(e, &p->queues[i]))
				break;
	for (struct xiw_conn *c = e->conns; c; c = c->next) {
		if (!c->flow || c->netif != p)
			continue;
		xiw_fall_back(c, XIW_REASON_REBOUND, NULL);
		xiw_fall_back_finish(c);
	}
}

/* Connections may go direct again, or are told why not. */
static void over(struct xiw_engine *e, struct xiw_netif *p)
{
	p->rebinds = false;
	e->watch.rebinds--;
	for (struct xiw_conn *c = e->conns; c; c = c->next) {
		if (!c->flow || c->netif != p)
			continue;
		c->reg.zero_copy = p->nqueues && p->queues[0].xsk.zero_copy;
		if (!p->nqueues)
			xiw_queues_none(e, p, c->no_direct, sizeof(c->no_direct));
		c->handoff.want_arm = true;
		xiw_dirty(c);
	}
}

static void go_on(struct xiw_engine *e, struct xiw_netif *p)
{
	if (!p->shut && let_go(p)) {
		empty(e, p);
		xiw_acks_out(e);
		if (let_go(p))
			xiw_queues_shut(e, p);
	}
	if (p->shut && xiw_queues_again(e, p))
		over(e, p);
	xiw_wake_at(e, e->now_ms + (p->rebinds ? BUSY_MS : 0));
}

void xiw_rebind_go_on(struct xiw_engine *e)
{
	for (struct xiw_netif *p = e->netifs; p; p = p->next)
		if (p->rebinds)
			go_on(e, p);
}
