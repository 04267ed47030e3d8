// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Makes connections for the application: it connects to a peer, or hands over a socket that is connected
 * already.
 */
#include "conn/connect.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/opts.h"
#include "conn/arrive.h"
#include "conn/conn.h"
#include "conn/dial.h"
#include "conn/sockopts.h"
#include "conn/startup.h"
#include "core/agenda.h"

int xiw_connect(struct xiw_engine *e, const struct sockaddr *addr, socklen_t len,
		const struct xiw_conn_opts *opts, struct xiw_conn **conn)
{
	struct xiw_conn *c;
	int err;

	if (len > sizeof(c->addr.remote))
		return -EINVAL;
	err = xiw_conn_new_equipped(e, true, opts, &c);
	if (err)
		return err;
	memcpy(&c->addr.remote, addr, len);
	c->addr.remote_len = len;
	err = xiw_connect_start(c);
	if (err) {
		c->state = XIW_DEAD;
		xiw_conn_free(c);
		return err;
	}
	*conn = c;
	return 0;
}

void xiw_connect_done(struct xiw_conn *c, int res)
{
	if (c->state == XIW_DEAD)
		return;
	res = res < 0 ? -res : xiw_connect_result(c);
	if (res) {
		xiw_conn_ask_end(c, res, true);
		return;
	}
	if (c->startup.dial) {
		xiw_arrival_hand_on(c);
		return;
	}
	if (c->startup.redials && xiw_arrival_astray(c)) {
		xiw_connect_elsewhere(c);
		return;
	}
	c->state = XIW_REQUESTED;
	xiw_startup_begin(c, NULL);
}

/* ---- delayed startup ----------------------------------------------------------------------------- */

/* Returns 0 if `fd` is an established TCP connection. */
static int check_socket(int fd)
{
	struct tcp_info info = {};
	int protocol = 0;
	socklen_t len = sizeof(protocol);

	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len))
		return -errno;
	if (protocol != IPPROTO_TCP)
		return -EINVAL;
	len = sizeof(info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return -errno;
	return info.tcpi_state == TCP_ESTABLISHED ? 0 : -ENOTCONN;
}

/* The size of struct xiw_upgrade in the first release. */
#define UPGRADE_FIRST 40

XIW_OPTS_WHOLE(struct xiw_upgrade, last_len);

static int take_upgrade(struct xiw_upgrade *u, const struct xiw_upgrade *theirs)
{
	int err = xiw_opts_take(u, sizeof(*u), UPGRADE_FIRST, theirs);

	if (err)
		return err;
	if ((u->prefix_len && !u->prefix) || (u->last_len && !u->last) || u->last_len > INT32_MAX)
		return -EINVAL;
	return 0;
}

int xiw_conn_from_fd(struct xiw_engine *e, int fd, bool initiator, const struct xiw_conn_opts *opts,
		     const struct xiw_upgrade *upgrade, struct xiw_conn **conn)
{
	struct xiw_upgrade u;
	struct xiw_conn *c;
	int err = take_upgrade(&u, upgrade);

	if (!err)
		err = check_socket(fd);
	if (!err)
		err = xiw_conn_new_equipped(e, initiator, opts, &c);
	if (err)
		return err;
	if (u.last_len) {
		if (xiw_conn_charge(c, u.last_len))
			c->startup.streaming = malloc(u.last_len);
		if (!c->startup.streaming) {
			c->state = XIW_DEAD;
			xiw_conn_free(c);
			return -ENOMEM;
		}
		memcpy(c->startup.streaming, u.last, u.last_len);
		c->startup.streaming_len = (uint32_t)u.last_len;
	}
	c->fd = fd;
	c->startup.upgraded = c->end.known = true;
	xiw_sock_prepare(fd, e, c->opts.path, &c->sock_was);
	c->state = initiator ? XIW_REQUESTED : XIW_LISTENING;
	*conn = c;
	xiw_startup_begin(c, &u);
	return 0;
}
