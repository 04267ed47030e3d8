// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Registers connections with XDP: finds the interface, claims a slot in the flow table, and publishes the flow.
 * A connection that finds the table full, or whose peer has its share of it, uses the kernel path until there is a slot
 * for it: first come, first served.
 */
#include "conn/register.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/agenda.h"
#include "core/netif.h"
#include "core/peer.h"
#include "core/timer.h"
#include "handoff/ecn.h"
#include "handoff/key.h"
#include "handoff/share.h"
#include "netif/interface.h"
#include "path/commit.h"
#include "path/fallback.h"
#include "path/progress.h"
#include "path/remember.h"
#include "path/route.h"

#define RETRIES 16 /* in one call */
/* Questions to the kernel in one call, which take about 3 microseconds each. */
#define COLLECT_MOST 64

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

/* The connection does not wait for a slot any more. */
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

/*
 * Attaches xiw_socket. From here on the socket takes no segment that came by another interface if the numbers
 * differ from the wire's.
 */
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
	c->keeps.peer = xiw_peer_place(c->engine->unstarted.secret,
					xiw_peer_key(&c->addr.remote));
}

/*
 * Notes the number of the next octet to be read, in the socket's numbers. The socket is asked only once,
 * because from here on the engine counts what it reads.
 */
static void note_position(struct xiw_conn *c)
{
	if (c->recv.known)
		return;
	c->recv.known = true;
	c->recv.nxt = c->reg.marker_origin = c->reg.sock.copied_seq;
}

/*
 * Publishes the flow. What arrives, or leaves, between the read of the socket and the publication is seen by nobody
 * else, and the socket is read again. If the socket holds octets beyond rcv_nxt (`ooo`), their number is unknown, so
 * everything that the peer was allowed to send counts as passed.
 */
static int publish(struct xiw_conn *c, uint32_t skew)
{
	const uint64_t before = xiw_sock_traffic(c->fd);
	struct xiw_flow *f = c->flow;
	int err = xiw_sock_read(c->fd, &c->reg.sock);

	if (err)
		return err;
	f->flags = (c->reg.sock.timestamps ? XIW_FLOW_TIMESTAMPS : 0) |
		   (c->reg.sock.sack ? XIW_FLOW_SACK : 0) | (c->reg.sock.ecn ? XIW_FLOW_ECN : 0);
	f->rcv_wscale = c->reg.sock.rcv_wscale;
	f->snd_wscale = c->reg.sock.snd_wscale;
	/* Nobody promises, or opens the socket for, more than a window field can say (RFC 7323 section 2.3). */
	if (c->reg.window > 0xffffu << f->rcv_wscale)
		c->reg.window = 0xffffu << f->rcv_wscale;
	f->window = c->reg.window;
	f->kernel_high = c->reg.sock.rcv_nxt + skew;
	f->kernel_edge = f->direct_edge = c->reg.sock.rcv_edge + skew;
	f->socket_edge = c->reg.sock.rcv_edge;
	f->snd_nxt = c->reg.sock.snd_nxt;
	f->acked = f->gap = c->reg.sock.rcv_nxt + skew;
	f->ifindex = c->netif->ifindex;
	memcpy(f->mac, c->netif->mac, sizeof(f->mac));
	xiw_route_begin(c);
	xiw_flow_publish(f, skew);
	c->handoff.since = xiw_owner_epoch(xiw_flow_owner(f));
	err = xiw_table_insert(&c->netif->table, c->reg.index);
	if (!err && xiw_sock_traffic(c->fd) != before)
		err = xiw_sock_read(c->fd, &c->reg.sock);
	/* Nothing follows a FIN, and no forged segment must find a place where a stretch begins. */
	if (!err && c->reg.sock.ended)
		err = -ENOTCONN;
	if (err)
		return err;
	xiw_flow_raise(&f->kernel_high,
		       (c->reg.sock.ooo ? c->reg.sock.rcv_edge : c->reg.sock.rcv_nxt) + skew);
	xiw_flow_raise(&f->kernel_edge, c->reg.sock.rcv_edge + skew);
	xiw_flow_raise(&f->socket_edge, c->reg.sock.rcv_edge);
	xiw_flow_raise(&f->snd_nxt, c->reg.sock.snd_nxt);
	note_position(c);
	c->recv.nxt += skew;
	c->reg.marker_origin += skew;
	return 0;
}

/*
 * Claims a slot. If the table is full, the oldest slot that only TIME-WAIT needs is given up for it. A peer that has
 * its share gets no more by connecting to us (-EDQUOT). Our own application may connect as often as it likes.
 */
static int claim(const struct xiw_conn *c, const struct xiw_flow_key *key, uint32_t *skew)
{
	struct xiw_table *t = &c->netif->table;
	const uint64_t now_ms = c->engine->now_ms;
	int slot;

	if (!c->initiator && xiw_table_share_used(t, key))
		return -EDQUOT;
	slot = xiw_table_claim(t, key, skew);
	return slot == -ENOSPC && xiw_table_make_room(t, now_ms) ? xiw_table_claim(t, key, skew)
								 : slot;
}

/*
 * Handles a claim that has failed. If there is no slot for it, the connection waits for one. What it needs for a
 * later attempt is noted before it reads on.
 */
static int no_slot(struct xiw_conn *c, int err)
{
	const bool waits = err == -ENOSPC || err == -EDQUOT;
	const char *why = err == -ENOSPC ? "full" : "this peer has its share";

	snprintf(c->no_direct, sizeof(c->no_direct), "flow table of %s: %s%s", c->netif->ifname,
		 waits ? why : strerror(-err),
		 waits ? "; tried again when a connection has ended" : "");
	c->netif = NULL;
	if (waits &&
	    (c->recv.known || (!xiw_sock_read(c->fd, &c->reg.sock) && !c->reg.sock.ended))) {
		note_position(c);
		wait_for_slot(c);
	}
	return err;
}

#define IP_MTU_MAX 65535u /* of lo's 65536 IPv4 uses no more */

/* Rules of routing may send packets to an address of this host by a wire. The socket knows their MTU. */
static bool goes_by_lo(const struct xiw_conn *c)
{
	const bool v6 = c->addr.local.ss_family == AF_INET6;
	socklen_t len = sizeof(int);
	uint32_t lo, mtu;

	if (getsockopt(c->fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, &mtu, &len) ||
	    xiw_if_mtu("lo", &lo))
		return false;
	return mtu == lo || (mtu == IP_MTU_MAX && lo > mtu);
}

static int netif_of(struct xiw_conn *c, struct xiw_netif **netif, char *text, size_t len)
{
	struct xiw_engine *e = c->engine;
	char name[IF_NAMESIZE];
	bool here;
	int err;

	text[0] = '\0';
	err = xiw_netif_find_pair(e, &c->addr.local, &c->addr.remote, name, &here);
	if (!err && here && goes_by_lo(c)) {
		snprintf(text, len, "both ends are on this host: its packets go by lo, all by TCP");
		return -EOPNOTSUPP;
	}
	if (err) {
		if (err == -ENODEV)
			snprintf(text, len, "no interface has the local address");
		else
			snprintf(text, len, "interfaces cannot be asked: %s", strerror(-err));
		return err;
	}
	e->unready.waited_ms = 0; /* that was another time */
	err = xiw_netif_by_name(e, name, netif, text, len);
	/* The process may have dropped its privilege since. Then the first failure counts. */
	if (err == -EPERM && e->unready.ifname[0] &&
	    (!strcmp(name, e->unready.ifname) || !e->netifs))
		snprintf(text, len, "%s", e->unready.why);
	else if (err == -EPERM && e->unready.prepared)
		snprintf(text, len, "%s can be opened at the start only: start this process again",
			 name);
	return err;
}

int xiw_conn_netif(struct xiw_conn *c, struct xiw_netif **netif)
{
	if (c->opts.path == XIW_USE_KERNEL) {
		snprintf(c->no_direct, sizeof(c->no_direct), "the kernel path was asked for");
		return -ENOTSUP;
	}
	return netif_of(c, netif, c->no_direct, sizeof(c->no_direct));
}

/*
 * Refuses connections with an ECN variant that the engine and xiw_egress do not implement. The socket handles
 * it on the kernel path.
 */
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

static bool is_mptcp(int fd)
{
	socklen_t len = sizeof(int);
	int protocol;

	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) &&
	       protocol == IPPROTO_MPTCP;
}

int xiw_conn_register(struct xiw_conn *c)
{
	char *text = c->no_direct;
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
	slot = claim(c, &key, &skew);
	if (slot < 0)
		return no_slot(c, slot);
	c->reg.index = (uint32_t)slot;
	c->flow = &c->netif->table.flows[slot];
	err = filter_socket(c);
	if (!err)
		err = publish(c, skew);
	if (err) {
		if (is_mptcp(c->fd))
			snprintf(text, len, XIW_SOCK_MPTCP);
		else
			snprintf(text, len, "socket of the connection: %s%s", strerror(-err),
				 err == -EPERM ? " (needs CAP_NET_ADMIN)" : "");
		/* An earlier connection still needs the translation of the slot that was adopted. */
		if (skew)
			xiw_table_abandon(&c->netif->table, c->reg.index);
		else
			xiw_table_remove(&c->netif->table, c->reg.index);
		/* Without XDP the connection's segments may come by any interface, under wire numbers. */
		if (!skew)
			setsockopt(c->fd, SOL_SOCKET, SO_DETACH_FILTER, NULL, 0);
		c->flow = NULL;
		c->netif = NULL;
		return err;
	}
	c->netif->by_flow[slot] = c;
	xiw_counts_publish(c); /* an adopted slot has the last connection's counters */
	c->reg.zero_copy = c->netif->nqueues && c->netif->queues[0].xsk.zero_copy;
	text[0] = '\0';
	return 0;
}

/*
 * The kernel's socket may live on for a while (FIN-WAIT, TIME-WAIT). If its numbers differ from the wire's,
 * they must be translated until then, so the slot is abandoned and collected later.
 */
void xiw_conn_unregister(struct xiw_conn *c)
{
	uint32_t skew;

	wait_no_longer(c);
	if (!c->flow)
		return;
	xiw_fall_back(c, XIW_REASON_CLOSE, NULL);
	xiw_fall_back_finish(c);
	/* The owner word may be DIRECT although no frame has shown it yet. */
	skew = xiw_flow_to_kernel(c->flow);
	xiw_route_end(c);
	xiw_progress_end(c);
	xiw_remember_end(c);
	c->netif->by_flow[c->reg.index] = NULL;
	xiw_counts_publish(c);
	xiw_flow_report(c->flow, &c->reg.last);
	if (skew)
		xiw_table_abandon(&c->netif->table, c->reg.index);
	else
		xiw_table_retire(&c->netif->table, c->reg.index);
	c->flow = NULL;
	xiw_collect_soon(c->engine);
}

/* ---- slots that become free ----------------------------------------------------------------------------- */

void xiw_slot_describe(struct xiw_conn *c)
{
	if (!c->flow)
		return;
	c->flow->marker_origin = c->reg.marker_origin;
	c->flow->flags |= (c->opts.markers ? XIW_FLOW_MARKERS : 0) | (c->crc ? XIW_FLOW_CRC : 0);
}

/* Tries to register a connection that waits for a slot. Returns false if the table is still full for everybody. */
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

/* A connection that tries in vain goes to the end of the list. One of another interface may succeed. */
static void retry_all(struct xiw_engine *e)
{
	struct xiw_conn *waits_on = NULL; /* the first of those that have been tried */

	for (int i = 0; e->agenda.slotless != waits_on && i < RETRIES; i++) {
		struct xiw_conn *c = e->agenda.slotless;

		if (!retry(c))
			break;
		if (c->reg.slotless_at && !waits_on)
			waits_on = c;
	}
}

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
