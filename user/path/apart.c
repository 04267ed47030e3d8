// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "path/apart.h"

#include <string.h>

#include "core/netif.h"
#include "netif/conntrack.h"
#include "path/progress.h"

#define TOGETHER_MS 10000 /* what was found holds for all connections of the interface, for so long */
#define APART_MS 60000
#define UNSURE_MS 50   /* between two looks at a connection that seems to be parted */
#define FLUSHED_MS 300 /* after `conntrack -F`, a connection may lack one direction for so long */

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

static void look(const struct xiw_conn *c)
{
	struct xiw_conntracked *p = &c->netif->conntrack;
	const uint64_t now_ms = c->engine->now_ms;

	if (!parted(c)) {
		*p = (struct xiw_conntracked){ .look_ms = now_ms + TOGETHER_MS };
		return;
	}
	if (!p->parted_ms)
		p->parted_ms = now_ms;
	p->apart = now_ms - p->parted_ms >= FLUSHED_MS;
	p->look_ms = now_ms + (p->apart ? APART_MS : UNSURE_MS);
}

bool xiw_apart_may_arm(struct xiw_conn *c)
{
	const struct xiw_conntracked *p = &c->netif->conntrack;

	if (!c->engine->watch.forgets_ms) /* there is no conntrack, and asking would load its module */
		return true;
	if (c->engine->now_ms >= p->look_ms)
		look(c);
	if (p->apart)
		xiw_conn_bar(c, XIW_REASON_APART);
	return !p->parted_ms;
}
