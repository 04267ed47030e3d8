// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "obstacles.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>

#include <xiwarp/load.h>
#include <xiwarp/xiwarp.h>

#include "json.h"
#include "text.h"

#define PEERS_SHOWN 4

struct shown {
	struct xiw_obstacle all[XIW_OBSTACLES];
	uint64_t now_ns;
};

static int take(uint32_t index, const struct xiw_obstacle *obstacle, void *ctx)
{
	((struct shown *)ctx)->all[index] = *obstacle;
	return 0;
}

static uint64_t seconds_since(const struct shown *s, uint64_t ns)
{
	return s->now_ns > ns ? (s->now_ns - ns) / 1000000000 : 0;
}

static const char *peer_of(const struct xiw_obstacle *o, char buf[INET6_ADDRSTRLEN])
{
	const struct in6_addr *ip = (const void *)o->peer;
	bool v4 = IN6_IS_ADDR_V4MAPPED(ip);

	return inet_ntop(v4 ? AF_INET : AF_INET6, &ip->s6_addr[v4 ? 12 : 0], buf, INET6_ADDRSTRLEN);
}

/* The peers whose connections a reason keeps off. */
static void print_peers(const struct shown *s, uint32_t reason)
{
	unsigned int n = 0;
	char peer[INET6_ADDRSTRLEN];

	for (uint32_t i = XIW_REASON_MAX; i < XIW_OBSTACLES; i++) {
		const struct xiw_obstacle *o = &s->all[i];

		if (o->reason == reason && o->holds && n++ < PEERS_SHOWN)
			printf("%s%s", n == 1 ? "; keeps off " : ", ", peer_of(o, peer));
	}
	if (n > PEERS_SHOWN)
		printf(" and %u more", n - PEERS_SHOWN);
}

static void print(const struct shown *s)
{
	for (uint32_t i = 1; i < XIW_REASON_MAX; i++) {
		const struct xiw_obstacle *o = &s->all[i];

		if (!o->reason)
			continue;
		printf("  against the direct path: %s, %u time%s, last %" PRIu64 " s ago",
		       xiw_reason_name(i), o->count, o->count == 1 ? "" : "s",
		       seconds_since(s, o->last_ns));
		if (o->holds)
			printf("; keeps off all peers");
		else
			print_peers(s, i);
		putchar('\n');
	}
}

static void add(const struct shown *s, struct json_object *interface)
{
	struct json_object *all = json_object_new_array(), *one;
	char peer[INET6_ADDRSTRLEN];

	for (uint32_t i = 1; i < XIW_OBSTACLES; i++) {
		const struct xiw_obstacle *o = &s->all[i];

		if (!o->reason)
			continue;
		one = json_object_new_object();
		xiw_json_str(one, "reason", xiw_reason_name(o->reason));
		if (i >= XIW_REASON_MAX)
			xiw_json_str(one, "peer", peer_of(o, peer));
		xiw_json_u64(one, "count", o->count);
		xiw_json_u64(one, "seconds_ago", seconds_since(s, o->last_ns));
		xiw_json_bool(one, "holds", o->holds);
		xiw_json_u64(one, "kept_off", o->kept_off);
		json_object_array_add(all, one);
	}
	json_object_object_add(interface, "obstacles", all);
}

int xiw_show_obstacles(const char *ifname, const char *pin_dir, struct json_object *interface)
{
	struct shown s = {};
	int err = xiw_obstacles_each(ifname, pin_dir, take, &s);

	if (err)
		return err;
	s.now_ns = xiw_now_ns();
	if (interface)
		add(&s, interface);
	else
		print(&s);
	return 0;
}
