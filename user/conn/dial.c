// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Opens the TCP connection of an Initiator, and a second one where RFC 6581 lets it try again. */
#include "conn/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn/register.h"
#include "conn/sockopts.h"
#include "core/agenda.h"
#include "core/ring.h"

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

	c->fd = socket(c->addr.remote.ss_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	if (c->fd < 0)
		return -errno;
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
	close(c->fd);
	c->opts.enhanced = false;
	c->opts.revision = 1;
	c->startup.terms = (struct xiw_mpa_terms){ .ird = XIW_DEPTH_ULP, .ord = XIW_DEPTH_ULP };
	c->startup.out_len = c->startup.out_off = 0;
	c->no_direct[0] = '\0';
	c->state = XIW_CONNECTING;
	return !xiw_connect_start(c);
}
