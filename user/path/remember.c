// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "path/remember.h"

#include "core/netif.h"
#include "handoff/obstacles.h"

/*
 * Is the next connection kept from standing still by remembering this cause? XDP finds some before anything stands
 * still. The interface shows whether tags are stripped or a bridge has netfilter, and conntrack whether lo has a zone
 * of its own: connections go direct as soon as such a cause has gone. Each connection tries injection before its first
 * stretch. A wrong CRC says nothing of the path.
 */
static bool keeps_off(enum xiw_reason reason)
{
	return reason != XIW_REASON_EGRESS && reason != XIW_REASON_HEADROOM &&
	       reason != XIW_REASON_LONG && reason != XIW_REASON_CRC &&
	       reason != XIW_REASON_TAGS && reason != XIW_REASON_INJECT &&
	       reason != XIW_REASON_BRIDGE && reason != XIW_REASON_APART;
}

void xiw_remember(struct xiw_conn *c, enum xiw_reason reason, bool stalled)
{
	struct xiw_remembers *m = &c->progress.memory;
	struct xiw_found found = {
		.peer = c->flow->key.remote_addr,
		.reason = reason,
		.stalled = stalled && keeps_off(reason),
		.tried = m->tries,
		.barred = c->flow->barred,
		.doubtful = xiw_pace_late(&c->engine->ready.pace, c->engine->now_ns),
		.now_ns = xiw_bpf_clock(c->engine),
	};
	const uint32_t acked_for_ms = (uint32_t)c->engine->now_ms - m->acked_ms;

	found.acked_ns = found.now_ns - acked_for_ms * 1000000ull;

	m->carried = false;
	if (stalled)
		m->tries = false;
	if (c->netif->table.obstacles)
		xiw_obstacle_note(c->netif->table.obstacles, &found);
}

enum xiw_reason xiw_remembered(struct xiw_conn *c)
{
	struct xiw_remembers *m = &c->progress.memory;
	struct xiw_obstacle *all = c->netif->table.obstacles, *cause;
	bool first = !m->kept_off;

	if (!all || m->tries)
		return XIW_REASON_NONE;
	m->kept_off = false;
	cause = xiw_obstacle_against(all, c->flow->key.remote_addr);
	if (!cause)
		return XIW_REASON_NONE;
	m->tries = xiw_obstacle_try(cause, first, xiw_bpf_clock(c->engine));
	m->kept_off = !m->tries;
	m->went_direct = (uint32_t)c->counts.went_direct;
	return m->tries ? XIW_REASON_NONE : (enum xiw_reason)cause->reason;
}

/* The connection was to try again, and nothing is wrong. */
static void gone(struct xiw_conn *c)
{
	c->progress.memory.tries = false;
	xiw_obstacle_gone(c->netif->table.obstacles, c->flow->key.remote_addr);
}

void xiw_remember_carries(struct xiw_conn *c)
{
	struct xiw_remembers *m = &c->progress.memory;

	m->carried = true;
	if (!c->netif->table.obstacles)
		return;
	if (m->tries)
		gone(c);
	xiw_obstacle_carries(c->netif->table.obstacles, c->flow->key.remote_addr,
			     xiw_bpf_clock(c->engine));
}

void xiw_remember_heard(struct xiw_conn *c)
{
	c->progress.memory.heard = true;
	if (c->netif->table.obstacles)
		xiw_obstacle_heard(c->netif->table.obstacles, c->flow->key.remote_addr,
				   xiw_bpf_clock(c->engine));
}

void xiw_remember_end(struct xiw_conn *c)
{
	const struct xiw_remembers *m = &c->progress.memory;

	if (m->tries && (uint32_t)c->counts.went_direct != m->went_direct) {
		gone(c);
		xiw_obstacle_carries(c->netif->table.obstacles, c->flow->key.remote_addr,
				     xiw_bpf_clock(c->engine));
	}
}
