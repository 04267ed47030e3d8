// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "path/front.h"

#include <errno.h>

#include "core/agenda.h"
#include "core/netif.h"
#include "netif/front.h"
#include "netif/query.h"

#define LOOK_MS 200	 /* between two looks at who is in front */
#define REGAINED_MS 1000 /* TCP may take so long to send again what was hidden */

/* The pins may have another interface's name by now, or be of another load. */
static bool find_pins(const struct xiw_engine *e, const struct xiw_netif *p, struct xiw_pins *pins)
{
	uint32_t id;

	return p->table.egress_fd >= 0 && !xiw_pins_init(pins, e->opts.pin_dir, p->ifname) &&
	       !xiw_pins_prog_id(pins->dir, "xiw_egress", &id) && id == p->tc_id;
}

static int take(const struct xiw_engine *e, struct xiw_netif *p)
{
	struct xiw_pins pins;

	if (p->table.egress_fd < 0)
		return 0;
	if (find_pins(e, p, &pins))
		return xiw_front_take(&pins, (int)p->ifindex, p->tc_id, &p->table.egress_fd);
	/* Without the right to open them, this process may still ask. */
	return xiw_query_egress_first((int)p->ifindex, p->tc_id, NULL) ? 0 : -EBUSY;
}

bool xiw_front_regain(struct xiw_conn *c)
{
	struct xiw_netif *p = c->netif;
	const uint64_t now = c->engine->now_ms;
	int taken;

	if (now >= p->front.look_ms) {
		p->front.look_ms = now + LOOK_MS;
		taken = take(c->engine, p);
		p->front.behind = taken == -EBUSY;
		/* Nobody has that for long. */
		p->front.waits = taken == -EAGAIN;
		if (taken > 0)
			p->front.regained_ms = now;
	}
	if (p->front.waits && c->engine->watch.look_ms > p->front.look_ms) {
		c->engine->watch.look_ms = p->front.look_ms;
		xiw_wake_at(c->engine, p->front.look_ms);
	}
	return p->front.regained_ms && now - p->front.regained_ms < REGAINED_MS;
}

bool xiw_front_there(const struct xiw_engine *e, struct xiw_netif *p)
{
	int there = xiw_query_egress_by(p->table.egress_fd, (int)p->ifindex, p->tc_id);
	struct xiw_pins pins;

	if (there || p->table.egress_fd < 0)
		return there;
	return find_pins(e, p, &pins) &&
	       xiw_front_follow(&pins, (int)p->ifindex, p->tc_id, &p->table.egress_fd);
}
