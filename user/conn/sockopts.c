// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sets the options of a connection's socket as the library needs them, and restores them. */
#include "conn/sockopts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72 /* since Linux 5.14 */
#endif

#define KEEPIDLE_MAX_S 32767u /* the kernel's MAX_TCP_KEEPIDLE */

int xiw_sock_raised(int fd)
{
	int raised = fd < 0 || fd >= FD_SETSIZE ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FD_SETSIZE);

	if (raised < 0)
		return fd;
	close(fd);
	return raised;
}

static int get(int fd, int level, int option)
{
	socklen_t len = sizeof(int);
	int value = 0;

	return getsockopt(fd, level, option, &value, &len) ? 0 : value;
}

static int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

/*
 * Enlarges the receive buffer, so that it takes the whole window at a fall-back; the kernel counts its own
 * overhead, several times the payload for small segments. This is done at the start, because the buffer decides
 * the window scale. It needs the privilege that the direct path needs anyway. Without it the kernel's own
 * tuning is better.
 *
 * The kernel takes half of a buffer for payload until it has measured its overhead, and since Linux 6.10 offers that
 * much at once. On the direct path it measures nothing, so the clamp keeps the offer to a quarter of the buffer.
 */
static void enlarge(int fd, const struct xiw_engine *e, struct xiw_sock_was *was)
{
	int size = xiw_sock_buffer(e->opts.window);
	int locks = get(fd, SOL_SOCKET, SO_BUF_LOCK), rcvbuf = get(fd, SOL_SOCKET, SO_RCVBUF);

	if (set(fd, SOL_SOCKET, SO_RCVBUFFORCE, size))
		return;
	set(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, size / 2); /* the kernel doubles a buffer's size */
	was->rcvbuf = rcvbuf;
	was->locks = locks;
}

void xiw_sock_blocks(int fd, bool blocks)
{
	int flags = fcntl(fd, F_GETFL), wanted = blocks ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;

	if (flags >= 0 && flags != wanted)
		fcntl(fd, F_SETFL, wanted);
}

void xiw_sock_prepare(int fd, const struct xiw_engine *e, enum xiw_use_path path,
		      struct xiw_sock_was *was)
{
	*was = (struct xiw_sock_was){
		.nodelay = get(fd, IPPROTO_TCP, TCP_NODELAY),
		.oobinline = get(fd, SOL_SOCKET, SO_OOBINLINE),
		.nonblock = fcntl(fd, F_GETFL) & O_NONBLOCK,
	};
	/* io_uring would not wait for such a socket. */
	xiw_sock_blocks(fd, true);
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	/*
	 * Urgent data is only a pointer: the octet belongs to the stream (RFC 9293 section 3.8.5). Without this
	 * option it would be missing from an FPDU.
	 */
	set(fd, SOL_SOCKET, SO_OOBINLINE, 1);
	if (path != XIW_USE_KERNEL && e->opts.path != XIW_USE_KERNEL)
		enlarge(fd, e, was);
}

static const struct {
	int level, option;
} limits[] = {
	{ SOL_SOCKET, SO_KEEPALIVE },	   { IPPROTO_TCP, TCP_KEEPIDLE },
	{ IPPROTO_TCP, TCP_KEEPINTVL },	   { IPPROTO_TCP, TCP_KEEPCNT },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT },
};

#define LIMITS (sizeof(limits) / sizeof(limits[0]))

_Static_assert(LIMITS == sizeof(((struct xiw_sock_was *)0)->limits) / sizeof(int),
	       "a place for each option");

/*
 * The time between keepalive probes is a quarter of the idle time, and the fourth probe is the last. If
 * TCP_USER_TIMEOUT is set, Linux does not count probes: it ends the connection when nothing has come for that
 * time and a probe is unanswered.
 */
void xiw_sock_limit(int fd, const struct xiw_conn_opts *o, struct xiw_sock_was *was)
{
	unsigned int idle = o->keepalive_ms / 1000 + !!(o->keepalive_ms % 1000);

	for (unsigned int i = 0; i < LIMITS; i++)
		was->limits[i] = get(fd, limits[i].level, limits[i].option);
	was->limited = true;
	if (o->user_timeout_ms != XIW_NO_LIMIT)
		set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
		    o->user_timeout_ms > INT_MAX ? INT_MAX : (int)o->user_timeout_ms);
	if (o->keepalive_ms == XIW_NO_LIMIT)
		return;
	if (idle > KEEPIDLE_MAX_S)
		idle = KEEPIDLE_MAX_S;
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, (int)idle);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, (int)(idle + 3) / 4);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

/* Window and window scale stay as the peer was told. */
void xiw_sock_restore(int fd, const struct xiw_sock_was *was)
{
	set(fd, IPPROTO_TCP, TCP_NODELAY, was->nodelay);
	set(fd, SOL_SOCKET, SO_OOBINLINE, was->oobinline);
	xiw_sock_blocks(fd, !was->nonblock);
	for (unsigned int i = 0; was->limited && i < LIMITS; i++)
		set(fd, limits[i].level, limits[i].option, was->limits[i]);
	if (!was->rcvbuf)
		return;
	/* The kernel doubles the value that is set, and reports the double. */
	if (set(fd, SOL_SOCKET, SO_RCVBUFFORCE, was->rcvbuf / 2))
		set(fd, SOL_SOCKET, SO_RCVBUF, was->rcvbuf / 2);
	set(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, INT_MAX);
	/* If the application had not set the buffer size, the kernel tunes it again. */
	set(fd, SOL_SOCKET, SO_BUF_LOCK, was->locks);
}

void xiw_sock_reset(int fd)
{
	const struct linger reset = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
}

/* ---- the application's -------------------------------------------------------------------------------- */

static const struct {
	int level, option;
	uint8_t ip_version; /* whose packets it is about; 0: neither */
	bool class;	    /* the traffic class, or else the hop limit */
} settable[] = {
	{ IPPROTO_IP, IP_TOS, 4, true },	{ IPPROTO_IP, IP_TTL, 4, false },
	{ IPPROTO_IPV6, IPV6_TCLASS, 6, true }, { IPPROTO_IPV6, IPV6_UNICAST_HOPS, 6, false },
	{ SOL_SOCKET, SO_PRIORITY, 0, false },
};

#define ECN_BITS 3u
#define CLASS_SHIFT 20 /* as in the first word of an IPv6 header */

/*
 * The socket may send nothing for long while the engine acknowledges, so that xiw_egress would not see the change.
 * Negative values choose the system's default, which the socket's next packet shows.
 */
static void tell_flow(struct xiw_flow *f, bool class, int value)
{
	const uint32_t label = xiw_flow_get(&f->out_class) & ((1u << CLASS_SHIFT) - 1);

	if (value < 0 || !__atomic_load_n(&f->out_hops, __ATOMIC_RELAXED))
		return;
	if (class)
		__atomic_store_n(&f->out_class,
				 ((uint32_t)value & ~ECN_BITS) << CLASS_SHIFT | label,
				 __ATOMIC_RELAXED);
	else
		__atomic_store_n(&f->out_hops, (uint8_t)value, __ATOMIC_RELAXED);
}

int xiw_conn_setsockopt(struct xiw_conn *c, int level, int option, int value)
{
	for (unsigned int i = 0; i < sizeof(settable) / sizeof(settable[0]); i++) {
		if (settable[i].level != level || settable[i].option != option)
			continue;
		if (c->fd < 0 || c->state == XIW_DEAD)
			return -ENOTCONN;
		if (set(c->fd, level, option, value))
			return -errno;
		if (c->flow && settable[i].ip_version == c->reg.ip_version)
			tell_flow(c->flow, settable[i].class, value);
		return 0;
	}
	return -EINVAL;
}
