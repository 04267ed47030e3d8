// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Interfaces in use by an engine: finding the one that has an address, checking that the programs are loaded there,
 * and opening the pinned maps and an AF_XDP socket for each receive queue that is to be served.
 */
#include "core/netif.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/caps.h"
#include "core/clock.h"
#include "core/news.h"
#include "core/queue.h"
#include "core/serve.h"
#include "core/timer.h"
#include "netif/bpffs.h"
#include "netif/bridge.h"
#include "netif/fit.h"
#include "netif/interface.h"
#include "netif/offload.h"
#include "netif/pins.h"
#include "netif/query.h"
#include "netif/trust.h"

#define REFUSED_MS 1000

const struct ifaddrs *xiw_address_of(const struct ifaddrs *all,
				     const struct sockaddr_storage *local)
{
	for (; all; all = all->ifa_next)
		if (all->ifa_addr && xiw_if_same_ip(all->ifa_addr, (const void *)local))
			break;
	return all;
}

int xiw_netif_find(struct xiw_engine *e, const struct sockaddr_storage *local,
		   char name[IF_NAMESIZE])
{
	return xiw_netif_find_pair(e, local, NULL, name, NULL);
}

int xiw_netif_find_pair(struct xiw_engine *e, const struct sockaddr_storage *local,
			const struct sockaddr_storage *remote, char name[IF_NAMESIZE], bool *here)
{
	const struct ifaddrs *all, *at;
	int err = xiw_news_addresses(e, &all);

	if (err)
		return err;
	at = xiw_address_of(all, local);
	if (remote)
		*here = xiw_address_of(all, remote);
	if (at)
		snprintf(name, IF_NAMESIZE, "%s", at->ifa_name);
	return at ? 0 : -ENODEV;
}

/* Reads the interface's address. True if it has changed. */
static bool read_mac(struct xiw_netif *p)
{
	uint8_t mac[sizeof(p->mac)];

	xiw_if_mac(p->ifname, mac);
	if (!memcmp(mac, p->mac, sizeof(mac)))
		return false;
	memcpy(p->mac, mac, sizeof(mac));
	return true;
}

/* XDP takes only frames to the MAC address in the flow, so each flow gets the new one. */
void xiw_netif_refresh(struct xiw_netif *p)
{
	if (!read_mac(p))
		return;
	for (uint32_t i = xiw_table_next(&p->table, 0); i < p->table.nflows;
	     i = xiw_table_next(&p->table, i + 1))
		if (p->by_flow[i])
			memcpy(p->table.flows[i].mac, p->mac, sizeof(p->mac));
}

static void query_interface(struct xiw_netif *p)
{
	p->mtu = 1500;
	xiw_if_mtu(p->ifname, &p->mtu);
	read_mac(p);
	p->channels = xiw_if_queues(p->ifname);
	p->senders = xiw_if_send_queues(p->ifname);
	p->virtual_wire = xiw_if_virtual(p->ifname);
	p->bridge = xiw_bridge_below(p->ifindex);
}

/*
 * Pins do not prove that the programs are attached. They may belong to an interface of the same name in another
 * network namespace, or somebody may have detached a program.
 */
static int check_attached(struct xiw_netif *p, const char *dir, char *why, size_t len)
{
	int err = xiw_pins_prog_id(dir, "xiw_ingress", &p->xdp_id), there;

	if (!err)
		err = xiw_pins_prog_id(dir, "xiw_egress", &p->tc_id);
	if (err)
		return err;
	there = xiw_query_xdp((int)p->ifindex, p->xdp_id);
	if (there <= 0)
		return there ? there : -ENOENT;
	there = xiw_query_egress_in(dir, (int)p->ifindex, p->tc_id);
	if (there)
		return there < 0 ? there : 0;
	/* This is not -ENOENT, which a process that listens on all interfaces would not report. */
	snprintf(why, len, "xiw_egress is not attached to %s: unload, load, and start this again",
		 p->ifname);
	return -EUNATCH;
}

void xiw_netif_free(const struct xiw_engine *e, struct xiw_netif *p)
{
	xiw_queues_close(e, p);
	xiw_table_close(&p->table);
	free(p->by_flow);
	free(p);
}

/* Notes the failure. Trying is slow, so for REFUSED_MS no other connection tries this interface again. */
static int refuse(struct xiw_engine *e, const struct xiw_netif *p, int err, const char *why)
{
	snprintf(e->unready.refused, sizeof(e->unready.refused), "%s", p->ifname);
	snprintf(e->unready.refused_why, sizeof(e->unready.refused_why), "%s", why);
	e->unready.refused_err = err;
	e->unready.refused_until_ms = e->now_ms + REFUSED_MS;
	return err;
}

static bool was_refused(const struct xiw_engine *e, const char *ifname)
{
	return e->unready.refused_err && !strcmp(e->unready.refused, ifname);
}

static int open_queues(struct xiw_engine *e, struct xiw_netif *p, char *why, size_t len)
{
	int err;

	if (p->mtu > XIW_XSK_MTU_MAX) {
		snprintf(why, len,
			 "the MTU of %s is %u: a packet of more than %u octets does not fit",
			 p->ifname, p->mtu, XIW_XSK_MTU_MAX);
		return -EMSGSIZE;
	}
	err = xiw_queues_open(e, p, !was_refused(e, p->ifname), why, len);
	return err && err != -ENOMEM ? refuse(e, p, err, why) : err;
}

/* There are no pins of the interface: nobody has loaded, or they are elsewhere. */
static void say_missing(const struct xiw_netif *p, const char *dir, char *why, size_t len)
{
	const bool runs = xiw_query_loaded((int)p->ifindex, dir);
	const char *wrong = xiw_bpffs_wrong(dir);

	if (runs && xiw_bpffs_hidden(dir))
		snprintf(why, len,
			 "the pins of %s cannot be seen in 'ip netns exec': use nsenter --net",
			 p->ifname);
	else if (wrong)
		snprintf(why, len, "%s: the pin directory %.40s %s", p->ifname, dir, wrong);
	else if (runs && !xiw_bpffs_at(dir))
		snprintf(why, len,
			 "%s runs XDP, but /sys/fs/bpf is no BPF file system here: mount the "
			 "host's there",
			 p->ifname);
	else if (runs && strcmp(dir, XIW_PIN_DIR))
		snprintf(why, len, "the pins of %s are not in %.40s: name another directory",
			 p->ifname, dir);
	else if (runs)
		snprintf(why, len, "the pins of %s are gone (xiwarp unload %s, and load)",
			 p->ifname, p->ifname);
	else
		snprintf(why, len, "xiwarp is not loaded on %s (xiwarp load %s)", p->ifname,
			 p->ifname);
}

static int open_pins(struct xiw_netif *p, const struct xiw_pins *pins, char *why, size_t len)
{
	const char *dir = pins->dir;
	int err = xiw_trust_dir(dir, why, len);

	if (err && err != -ENOENT)
		return err;
	why[0] = '\0';
	if (!err)
		err = check_attached(p, dir, why, len);
	if (!err)
		err = xiw_table_open(&p->table, dir);
	if (!err || why[0])
		return err;
	if (err == -ENOENT)
		say_missing(p, pins->base, why, len);
	else if (err == -EPROTO)
		snprintf(why, len, "another version of xiwarp is loaded on %s", p->ifname);
	else
		snprintf(why, len, "pins of %s%s: %s", p->ifname,
			 err == -EPERM || err == -ENOSYS ? " by bpf()" : "",
			 err == -EPERM
				 ? xiw_caps_why(CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE is missing")
				 : strerror(-err));
	return err;
}

static int open_sockets(struct xiw_engine *e, char *why, size_t len)
{
	int err = xiw_sock_allowed();

	if (err) {
		if (err == -ENOPROTOOPT || err == -EOPNOTSUPP)
			snprintf(why, len, XIW_SOCK_MPTCP);
		else
			snprintf(why, len, "TCP_REPAIR: %s",
				 err == -EPERM
					 ? xiw_caps_why(CAP_NET_ADMIN, "CAP_NET_ADMIN is missing")
					 : strerror(-err));
		return err;
	}
	if (e->injector.fd4 < 0)
		err = xiw_injector_open(&e->injector);
	if (err)
		snprintf(why, len, "raw socket: %s",
			 err == -EPERM ? xiw_caps_why(CAP_NET_RAW, "CAP_NET_RAW is missing")
				       : strerror(-err));
	return err;
}

static int port_open(struct xiw_engine *e, struct xiw_netif *p, char *why, size_t len)
{
	struct xiw_pins pins;
	int err;

	xiw_table_none(&p->table);
	p->ifindex = if_nametoindex(p->ifname);
	query_interface(p);
	err = xiw_fit_name(p->ifname, why, len);
	if (!err)
		err = xiw_pins_init(&pins, e->opts.pin_dir, p->ifname);
	if (!err)
		err = open_pins(p, &pins, why, len);
	if (!err)
		err = xiw_fit(p->ifindex, p->ifname, why, len);
	if (!err)
		err = xiw_fit_tags(p->ifname, why, len);
	if (!err)
		err = open_sockets(e, why, len);
	if (err)
		return err;
	p->by_flow = calloc(p->table.nflows, sizeof(*p->by_flow));
	if (!p->by_flow)
		return -ENOMEM;
	xiw_table_collect(&p->table);
	xiw_collect_soon(e);
	err = open_queues(e, p, why, len);
	if (!err)
		xiw_table_take_over(&p->table);
	return err;
}

void xiw_netif_look_at_mtu(struct xiw_netif *p)
{
	uint32_t mtu;

	/* The AF_XDP sockets were made for one frame per packet, and never get a larger one. */
	if (p->mtu <= 1500 && !xiw_if_mtu(p->ifname, &mtu))
		p->outgrown = mtu > 1500;
}

bool xiw_netif_strips_now(struct xiw_netif *p)
{
	bool before = p->strips;

	p->strips = xiw_offloads_strip(p->ifname);
	return p->strips && !before;
}

bool xiw_netif_filtered_now(struct xiw_netif *p)
{
	char why[96];
	bool before = p->filtered;

	p->filtered = p->bridge && xiw_bridge_filters(p->ifindex, p->ifname, why, sizeof(why));
	return p->filtered && !before;
}

bool xiw_netif_may_reopen(void)
{
	return !xiw_sock_allowed() && xiw_caps_have(CAP_NET_RAW);
}

bool xiw_netif_usable(struct xiw_netif *p, char *why, size_t why_len)
{
	if (p->strips)
		return !xiw_fit_tags(p->ifname, why, why_len);
	if (p->bridge && xiw_bridge_filters(p->ifindex, p->ifname, why, why_len))
		return false;
	xiw_netif_look_at_mtu(p);
	if (p->outgrown && !xiw_netif_may_reopen())
		snprintf(why, why_len,
			 "the MTU of %s has grown beyond 1500 since the start: start this process "
			 "again",
			 p->ifname);
	return !p->outgrown || xiw_netif_may_reopen();
}

int xiw_netif_by_name(struct xiw_engine *e, const char *name, struct xiw_netif **netif, char *why,
		      size_t len)
{
	struct xiw_netif *p;
	int err;

	for (p = e->netifs; p; p = p->next) {
		if (!strcmp(p->ifname, name)) {
			*netif = p;
			if (!p->nqueues && !p->shut)
				return xiw_queues_none(e, p, why, len);
			return xiw_netif_usable(p, why, len) ? 0 : -EMSGSIZE;
		}
	}
	if (was_refused(e, name) && e->now_ms < e->unready.refused_until_ms) {
		snprintf(why, len, "%s", e->unready.refused_why);
		return e->unready.refused_err;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	snprintf(p->ifname, sizeof(p->ifname), "%s", name);
	err = port_open(e, p, why, len);
	if (err) {
		if (!why[0])
			snprintf(why, len, "%s: %s", name, strerror(-err));
		xiw_netif_free(e, p);
		/* The process may have given up the privilege for a raw socket, so none stays open unused. */
		if (!e->netifs && !e->retired)
			xiw_injector_close(&e->injector);
		return err;
	}
	e->unready.refused_err = 0;
	p->next = e->netifs;
	e->netifs = p;
	*netif = p;
	xiw_news_begin(e);
	for (uint32_t i = 0; i < p->nqueues; i++)
		xiw_queue_poll(e, &p->queues[i]);
	return p->nqueues ? 0 : xiw_queues_none(e, p, why, len);
}

static void free_all(const struct xiw_engine *e, struct xiw_netif **list)
{
	while (*list) {
		struct xiw_netif *p = *list;

		*list = p->next;
		xiw_netif_free(e, p);
	}
}

void xiw_netifs_free(struct xiw_engine *e)
{
	xiw_clock_update(e);
	free_all(e, &e->netifs);
	free_all(e, &e->retired);
}
