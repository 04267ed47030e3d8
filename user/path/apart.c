// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "path/apart.h"

#include <string.h>

#include "core/netif.h"
#include "netif/conntrack.h"
#include "path/progress.h"

#define TOGETHER_MS 10000 /* what was found holds for all connections of the interface, for so long */
#define APART_MS 60000

/* Conntrack that knows the connection only by what is injected has seen one direction of it. */
static bool parted(const struct xiw_conn *c)
{
	const struct xiw_flow_key *key = &c->flow->key;
	struct xiw_conntrack_tuple t = {
		.ip_version = c->reg.ip_version,
		.local_port = key->local_port,
		.remote_port = key->remote_port,
	};

	memcpy(t.local, key->local_addr, sizeof(t.local));
	memcpy(t.remote, key->remote_addr, sizeof(t.remote));
	return xiw_conntrack_ask(&t) == XIW_CONNTRACK_ONE_WAY;
}

static uint32_t left(const struct xiw_conn *c)
{
	return (uint32_t)__atomic_load_n(&c->flow->egress_segs, __ATOMIC_RELAXED);
}

/*
 * After `conntrack -F` the peer's next segment makes an entry that has seen one direction, until the socket answers. So
 * it counts if it is so again, and xiw_egress has seen a packet of the socket in between.
 */
static bool look(struct xiw_conn *c)
{
	struct xiw_conntracked *known = &c->netif->conntrack;
	const uint64_t now_ms = c->engine->now_ms;
	struct xiw_route *p = &c->route;
	const bool again = p->one_way;

	if (again && left(c) == p->one_way_left)
		return false;
	p->one_way = parted(c);
	p->one_way_left = left(c);
	if (!p->one_way)
		*known = (struct xiw_conntracked){ .look_ms = now_ms + TOGETHER_MS };
	else if (again)
		*known = (struct xiw_conntracked){ .look_ms = now_ms + APART_MS, .apart = true };
	return !p->one_way;
}

bool xiw_apart_may_arm(struct xiw_conn *c)
{
	const struct xiw_conntracked *known = &c->netif->conntrack;
	bool may = !known->apart;

	if (!c->engine->watch.forgets_ms) /* there is no conntrack, and asking would load its module */
		return true;
	if (c->engine->now_ms >= known->look_ms)
		may = look(c);
	if (known->apart && !may)
		xiw_conn_bar(c, XIW_REASON_APART);
	return may;
}
