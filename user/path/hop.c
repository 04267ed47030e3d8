// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "path/hop.h"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "core/agenda.h"
#include "core/netif.h"
#include "netif/hop.h"
#include "path/inject.h"
#include "path/output.h"

/* Time between two looks. It doubles up to the longest while news keep coming, as from a routing daemon. */
#define SOON_MS 50
#define LATE_MS 1000
#define AT_ONCE 32 /* connections that one turn looks at: each costs some system calls */

void xiw_hop_note(struct xiw_engine *e, const struct nlmsghdr *n)
{
	switch (n->nlmsg_type) {
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
	case RTM_NEWRULE:
	case RTM_DELRULE:
		xiw_hop_news(e);
	}
}

void xiw_hop_news(struct xiw_engine *e)
{
	struct xiw_hops *h = &e->watch.hops;

	if (h->due)
		return;
	if (e->now_ms - h->look_ms >= LATE_MS)
		h->wait_ms = 0;
	h->due = true;
	h->look_ms += h->wait_ms;
	if (h->look_ms < e->now_ms)
		h->look_ms = e->now_ms;
}

/* Says whether the socket's next frame would go elsewhere than its last one, as far as the kernel says. */
static bool changed(const struct xiw_conn *c)
{
	uint8_t mac[XIW_ETH_ADDR_LEN];
	const struct xiw_hop_of of = {
		.version = c->reg.ip_version,
		.ifindex = c->netif->ifindex,
		.src = c->reg.local_ip,
		.dst = c->reg.remote_ip,
	};

	return xiw_hop_mac(&of, mac) || memcmp(c->flow->out_mac, mac, sizeof(mac)) != 0;
}

/* Looks at the connection, if the engine acknowledges for it. Returns whether it does. */
static bool look(struct xiw_conn *c)
{
	if (!c->flow || c->stretch.state != XIW_STRETCH_RUNS)
		return false;
	if (changed(c)) {
		xiw_output_answer(c);
		xiw_inject_question(c);
	}
	return true;
}

static void begin(struct xiw_engine *e)
{
	struct xiw_hops *h = &e->watch.hops;

	h->due = false;
	h->wait_ms = h->wait_ms ? 2 * h->wait_ms : SOON_MS;
	if (h->wait_ms > LATE_MS)
		h->wait_ms = LATE_MS;
	h->next = e->conns;
}

void xiw_hop_scan(struct xiw_engine *e)
{
	struct xiw_hops *h = &e->watch.hops;

	if (h->due && h->look_ms <= e->now_ms && !h->next)
		begin(e);
	for (uint32_t n = 0; h->next && n < AT_ONCE; h->next = h->next->next)
		n += look(h->next);
	if (h->next)
		xiw_wake_at(e, e->now_ms);
	else if (h->due)
		xiw_wake_at(e, h->look_ms);
}
