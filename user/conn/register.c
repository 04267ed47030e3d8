// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A connection is registered with XDP: its interface, its slot in the flow table, and what the slot says at first.
 * A connection that finds the table full takes the kernel's path until a slot is free: first come, first served.
 */
#include "conn/register.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/agenda.h"
#include "core/netif.h"
#include "core/timer.h"
#include "handoff/ecn.h"
#include "handoff/key.h"
#include "path/commit.h"
#include "path/fallback.h"
#include "path/progress.h"
#include "path/route.h"

#define RETRIES 16	/* in one look */
#define COLLECT_MOST 64 /* questions to the kernel in one look, of some 3 microseconds each */

/* ---- connections that wait for a slot --------------------------------------------------------------- */

static void wait_for_slot(struct xiw_conn *c)
{
	struct xiw_engine *e = c->engine;

	if (c->reg.slotless_at)
		return;
	c->reg.next_slotless = NULL;
	c->reg.slotless_at = e->agenda.slotless_end;
	*e->agenda.slotless_end = c;
	e->agenda.slotless_end = &c->reg.next_slotless;
	xiw_collect_soon(e);
}

static void wait_no_longer(struct xiw_conn *c)
{
	if (!c->reg.slotless_at)
		return;
	*c->reg.slotless_at = c->reg.next_slotless;
	if (c->reg.next_slotless)
		c->reg.next_slotless->reg.slotless_at = c->reg.slotless_at;
	else
		c->engine->agenda.slotless_end = c->reg.slotless_at;
	c->reg.slotless_at = NULL;
}

/* ---- registration ------------------------------------------------------------------------------------- */

/* From here on the socket takes nothing that came by another interface under numbers that are not the wire's. */
static int filter_socket(const struct xiw_conn *c)
{
	int prog = c->netif->table.socket_fd;

	return setsockopt(c->fd, SOL_SOCKET, SO_ATTACH_BPF, &prog, sizeof(prog)) ? -errno : 0;
}

static void remember_addresses(struct xiw_conn *c, const struct xiw_flow_key *key)
{
	bool v4 = xiw_flow_key_v4(key);

	c->reg.ip_version = v4 ? 4 : 6;
	memcpy(c->reg.local_ip, v4 ? &key->local_addr[3] : key->local_addr, v4 ? 4 : 16);
	memcpy(c->reg.remote_ip, v4 ? &key->remote_addr[3] : key->remote_addr, v4 ? 4 : 16);
}

/* Where the stream stands, in the socket's numbers: asked once, as from here on the engine counts what it reads. */
static void note_place(struct xiw_conn *c)
{
	if (c->recv.known)
		return;
	c->recv.known = true;
	c->recv.nxt = c->reg.marker_origin = c->reg.sock.copied_seq;
}

/*
 * What the socket has before XDP starts to count. Whatever arrives between the first look and the
 * publication is seen by the second. Octets beyond rcv_nxt that the socket may hold already (`ooo`)
 * are unknown: then everything the peer was allowed to send counts as passed.
 */
static int publish(struct xiw_conn *c, uint32_t skew)
{
	struct xiw_flow *f = c->flow;
	int err = xiw_sock_read(c->fd, &c->reg.sock);

	if (err)
		return err;
	f->flags = (c->reg.sock.timestamps ? XIW_FLOW_TIMESTAMPS : 0) |
		   (c->reg.sock.sack ? XIW_FLOW_SACK : 0) | (c->reg.sock.ecn ? XIW_FLOW_ECN : 0);
	f->rcv_wscale = c->reg.sock.rcv_wscale;
	/* Nothing promises, or opens the socket to, more than a window field can say (RFC 7323 section 2.3). */
	if (c->reg.window > 0xffffu << f->rcv_wscale)
		c->reg.window = 0xffffu << f->rcv_wscale;
	f->window = c->reg.window;
	f->kernel_high = c->reg.sock.rcv_nxt + skew;
	f->kernel_edge = f->direct_edge = c->reg.sock.rcv_edge + skew;
	f->snd_nxt = c->reg.sock.snd_nxt;
	f->acked = c->reg.sock.rcv_nxt + skew;
	f->ifindex = c->netif->ifindex;
	memcpy(f->mac, c->netif->mac, sizeof(f->mac));
	xiw_route_begin(c);
	xiw_flow_publish(f, skew);
	err = xiw_table_insert(&c->netif->table, c->reg.index);
	if (!err)
		err = xiw_sock_read(c->fd, &c->reg.sock);
	/* Nothing follows a FIN, and what pretends to must not find a place where a stretch begins. */
	if (!err && c->reg.sock.ended)
		err = -ENOTCONN;
	if (err)
		return err;
	xiw_flow_raise(&f->kernel_high,
		       (c->reg.sock.ooo ? c->reg.sock.rcv_edge : c->reg.sock.rcv_nxt) + skew);
	xiw_flow_raise(&f->kernel_edge, c->reg.sock.rcv_edge + skew);
	xiw_flow_raise(&f->snd_nxt, c->reg.sock.snd_nxt);
	note_place(c);
	c->recv.nxt += skew;
	c->reg.marker_origin += skew;
	return 0;
}

/* The oldest slot that only TIME-WAIT needs is given up before anybody goes without. */
static int claim(struct xiw_table *t, const struct xiw_flow_key *key, uint32_t *skew)
{
	int slot = xiw_table_claim(t, key, skew);

	return slot == -ENOSPC && xiw_table_make_room(t) ? xiw_table_claim(t, key, skew) : slot;
}

/* The table is full. What the connection needs for a later try is noted, before it has read on. */
static int no_slot(struct xiw_conn *c, int err)
{
	snprintf(c->no_direct, sizeof(c->no_direct), "flow table of %s: %s", c->netif->ifname,
		 err == -ENOSPC ? "full; tried again when a connection has ended" : strerror(-err));
	c->netif = NULL;
	if (err == -ENOSPC &&
	    (c->recv.known || (!xiw_sock_read(c->fd, &c->reg.sock) && !c->reg.sock.ended))) {
		note_place(c);
		wait_for_slot(c);
	}
	return err;
}

static int port_of(struct xiw_engine *e, const struct sockaddr_storage *local,
		   struct xiw_netif **port, char *why, size_t len)
{
	char name[IF_NAMESIZE];
	int err;

	why[0] = '\0';
	err = xiw_netif_find(local, name);
	if (err) {
		if (err == -ENODEV)
			snprintf(why, len, "no interface has the local address");
		else
			snprintf(why, len, "interfaces cannot be asked: %s", strerror(-err));
		return err;
	}
	err = xiw_netif_by_name(e, name, port, why, len);
	/* The privilege may be gone by now: what was in the way then is what counts. */
	if (err == -EPERM && e->unready.ifname[0] &&
	    (!strcmp(name, e->unready.ifname) || !e->netifs))
		snprintf(why, len, "%s", e->unready.why);
	else if (err == -EPERM && e->unready.prepared)
		snprintf(why, len, "%s can be opened at the start only: start this process again",
			 name);
	return err;
}

/* The interface that the connection would go direct on. On failure c->no_direct says why there is none. */
int xiw_conn_netif(struct xiw_conn *c, struct xiw_netif **port)
{
	if (c->opts.path == XIW_USE_KERNEL) {
		snprintf(c->no_direct, sizeof(c->no_direct), "the kernel path was asked for");
		return -ENOTSUP;
	}
	return port_of(c->engine, &c->addr.local, port, c->no_direct, sizeof(c->no_direct));
}

/* ECN as the engine and xiw_egress do not do it is the socket's own affair, and stays that. */
static int check_ecn(struct xiw_conn *c)
{
	int ecn = xiw_ecn_of(c->fd);

	if (ecn == XIW_ECN_PLAIN)
		return 0;
	snprintf(c->no_direct, sizeof(c->no_direct), "%s",
		 ecn < 0 ? strerror(-ecn) : xiw_ecn_why((enum xiw_ecn)ecn));
	c->netif = NULL;
	return ecn < 0 ? ecn : -EOPNOTSUPP;
}

/*
 * Registers with XDP, when the startup frames have been read and before an octet behind them is. On failure
 * c->no_direct says why, and the connection is the kernel's alone: for now, if the table is full (-ENOSPC).
 */
int xiw_conn_register(struct xiw_conn *c)
{
	char *why = c->no_direct;
	size_t len = sizeof(c->no_direct);
	struct xiw_flow_key key;
	uint32_t skew;
	int err, slot;

	err = xiw_conn_netif(c, &c->netif);
	if (!err)
		err = check_ecn(c);
	if (err)
		return err;
	xiw_flow_key_set(&key, &c->addr.remote, &c->addr.local);
	remember_addresses(c, &key);
	slot = claim(&c->netif->table, &key, &skew);
	if (slot < 0)
		return no_slot(c, slot);
	c->reg.index = (uint32_t)slot;
	c->flow = &c->netif->table.flows[slot];
	err = filter_socket(c);
	if (!err)
		err = publish(c, skew);
	if (err) {
		snprintf(why, len, "socket of the connection: %s%s", strerror(-err),
			 err == -EPERM ? " (needs CAP_NET_ADMIN)" : "");
		/* The connection that this slot was adopted for needs its translation on. */
		if (skew)
			xiw_table_abandon(&c->netif->table, c->reg.index);
		else
			xiw_table_remove(&c->netif->table, c->reg.index);
		/* Without XDP its segments may come by any interface, under the wire's numbers. */
		if (!skew)
			setsockopt(c->fd, SOL_SOCKET, SO_DETACH_FILTER, NULL, 0);
		c->flow = NULL;
		c->netif = NULL;
		return err;
	}
	c->netif->by_flow[slot] = c;
	xiw_counts_publish(c); /* an adopted slot has that of the last connection */
	c->reg.zero_copy = c->netif->nqueues && c->netif->queues[0].xsk.zero_copy;
	why[0] = '\0';
	return 0;
}

/*
 * The connection leaves the engine, but the kernel's socket may live on for a while (FIN-WAIT, TIME-WAIT)
 * and needs its numbers translated until then, if they differ from the wire's. The slot is left to be collected.
 */
void xiw_conn_unregister(struct xiw_conn *c)
{
	uint32_t skew;

	wait_no_longer(c);
	if (!c->flow)
		return;
	xiw_fall_back(c, XIW_REASON_CLOSE, NULL);
	xiw_fall_back_finish(c);
	/* It may be DIRECT without a frame having told. */
	skew = xiw_flow_to_kernel(c->flow);
	xiw_progress_end(c);
	c->netif->by_flow[c->reg.index] = NULL;
	xiw_counts_publish(c);
	c->reg.last = *c->flow;
	if (skew)
		xiw_table_abandon(&c->netif->table, c->reg.index);
	else
		xiw_table_retire(&c->netif->table, c->reg.index);
	c->flow = NULL;
	xiw_collect_soon(c->engine);
}

/* ---- slots that become free ----------------------------------------------------------------------------- */

/* What XDP is to know of the stream besides its numbers. */
void xiw_slot_describe(struct xiw_conn *c)
{
	if (!c->flow)
		return;
	c->flow->marker_origin = c->reg.marker_origin;
	c->flow->flags |= (c->opts.markers ? XIW_FLOW_MARKERS : 0) | (c->crc ? XIW_FLOW_CRC : 0);
}

/* False: the table is still full. */
static bool retry(struct xiw_conn *c)
{
	int err;

	wait_no_longer(c);
	if (c->state != XIW_OPEN || c->end.closing || c->end.eof || c->rx_dead)
		return true;
	err = xiw_conn_register(c);
	if (err)
		return err != -ENOSPC;
	xiw_slot_describe(c);
	c->handoff.want_arm = true;
	xiw_dirty(c);
	return true;
}

/* Those that try in vain stand at the end again: one of another interface may have more luck. */
static void retry_all(struct xiw_engine *e)
{
	for (int i = 0; e->agenda.slotless && i < RETRIES; i++)
		if (!retry(e->agenda.slotless))
			break;
}

/* Abandoned slots whose sockets are gone; connections that wait for one may have it. */
void xiw_slots_collect(struct xiw_engine *e)
{
	if (e->wheel.collect_ms > e->now_ms)
		return;
	e->wheel.collect_ms = XIW_NEVER;
	for (struct xiw_netif *p = e->netifs; p; p = p->next)
		if (xiw_table_collect_some(&p->table, COLLECT_MOST))
			e->wheel.collect_ms = e->now_ms + XIW_COLLECT_MS;
	retry_all(e);
	if (e->agenda.slotless)
		e->wheel.collect_ms = e->now_ms + XIW_COLLECT_MS;
}
