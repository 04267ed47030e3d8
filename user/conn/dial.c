// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Opens the TCP connection of an Initiator, and a second one where RFC 6581 lets it try again. */
#include "conn/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/socket.h"
#include "conn/register.h"
#include "conn/sockopts.h"
#include "core/agenda.h"
#include "core/netif.h"
#include "core/ring.h"
#include "netif/interface.h"

#define MTU_MS 1000 /* for so long the largest MTU is taken to be what it was */
#define REDIALS 64  /* TCP connections until the peer's segments come on a queue of the engine */

/* One that limits a connection for its life is never an old one. */
static uint32_t largest_mtu(struct xiw_engine *e)
{
	if (e->now_ms >= e->watch.mtu_ms || e->watch.largest_mtu & 3) {
		e->watch.mtu_ms = e->now_ms + MTU_MS;
		e->watch.largest_mtu = xiw_if_largest_mtu();
	}
	return e->watch.largest_mtu;
}

/* Says whether the peer is another host, which no loopback leads to. */
static bool elsewhere(struct xiw_engine *e, const struct sockaddr_storage *peer)
{
	const struct sockaddr_in *v4 = (const void *)peer;
	char name[IF_NAMESIZE];

	if (v4->sin_family == AF_INET && ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET)
		return false;
	return xiw_netif_find(e, peer, name) == -ENODEV;
}

/*
 * An FPDU's length is a multiple of 4 (RFC 5044 section 4.1), and so is that of all TCP options. Were the MSS none,
 * every segment would be some octets short, for both ends, and TCP would have to be given each by itself: that costs
 * several times as much as segments that it cuts. So where the largest MTU leaves no such MSS, TCP is to use one that
 * is rounded down. Which path TCP takes is not known before it has sent its MSS, but no path loses more than 3 octets.
 */
static void align_mss(const struct xiw_conn *c)
{
	const struct sockaddr_storage *peer = &c->addr.remote;
	const struct sockaddr_in6 *v6 = (const void *)peer;
	const bool long_header =
		peer->ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
	const uint32_t mtu = largest_mtu(c->engine);
	int mss = (int)(mtu & ~3u) - (long_header ? 60 : 40);

	if (mtu & 3 && mss > 0 && elsewhere(c->engine, peer))
		setsockopt(c->fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss));
}

/*
 * The connect itself is made here, because from then on the local address is known. io_uring waits for its result. An
 * error is told as one that comes later.
 */
static void begin(struct xiw_conn *c)
{
	socklen_t len = sizeof(c->addr.local);
	int err;

	xiw_sock_blocks(c->fd, false);
	err = connect(c->fd, (struct sockaddr *)&c->addr.remote, c->addr.remote_len) ? errno : 0;
	getsockname(c->fd, (struct sockaddr *)&c->addr.local, &len);
	if (err && err != EINPROGRESS) {
		xiw_conn_ask_end(c, err, true);
		return;
	}
	io_uring_prep_poll_add(xiw_sqe(c->engine, c, XIW_OP_CONNECT), c->fd, POLLOUT);
	c->ops++;
}

int xiw_connect_start(struct xiw_conn *c)
{
	int err;

	c->fd = xiw_sock_raised(xiw_socket_tcp(c->addr.remote.ss_family));
	if (c->fd < 0)
		return -errno;
	align_mss(c); /* unless the application sets another one */
	err = c->opts.prepare ? c->opts.prepare(c->fd, c->opts.prepare_ctx) : 0;
	if (err)
		return err;
	xiw_sock_prepare(c->fd, c->engine, c->opts.path, &c->sock_was);
	begin(c);
	return 0;
}

int xiw_connect_result(struct xiw_conn *c)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &len))
		err = errno;
	xiw_sock_blocks(c->fd, true);
	return err;
}

/* A connection that has begun to close, or is to be given up, is replaced by a new one. Returns 0 or -errno. */
static int replace(struct xiw_conn *c)
{
	xiw_ring_forget(c->engine, c->fd);
	xiw_sock_reset(c->fd);
	c->startup.connected = false;
	c->state = XIW_CONNECTING;
	return xiw_connect_start(c);
}

/*
 * RFC 6581 section 10: a Responder that does not know Rev 2 may have closed for that reason. The new TCP
 * connection shares the startup deadline of the first.
 */
bool xiw_connect_again(struct xiw_conn *c)
{
	if (!c->opts.fall_back || !c->opts.enhanced || c->startup.upgraded || c->ops ||
	    c->startup.in_len)
		return false;
	xiw_conn_unregister(c);
	c->opts.enhanced = false;
	c->opts.revision = 1;
	c->startup.terms = (struct xiw_mpa_terms){ .ird = XIW_DEPTH_ULP, .ord = XIW_DEPTH_ULP };
	c->startup.out_len = c->startup.out_off = 0;
	c->startup.redials = REDIALS;
	c->no_direct[0] = '\0';
	return !replace(c);
}

void xiw_connect_elsewhere(struct xiw_conn *c)
{
	/* It is at the same place in a struct sockaddr_in6. */
	const in_port_t *port = &((const struct sockaddr_in *)&c->addr.local)->sin_port;
	const in_port_t was = *port;
	const int err = replace(c);

	if (err)
		xiw_conn_ask_end(c, -err, true);
	/* If the application has bound the port, the queue stays the same. */
	c->startup.redials = *port == was ? 0 : c->startup.redials - 1;
}
