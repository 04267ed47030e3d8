// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Opens the TCP connection of an Initiator, and a second one where RFC 6581 lets it try again. */
#include "conn/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn/register.h"
#include "conn/sockopts.h"
#include "core/ring.h"

int xiw_connect_start(struct xiw_conn *c)
{
	c->fd = socket(c->addr.remote.ss_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	if (c->fd < 0)
		return -errno;
	xiw_sock_prepare(c->fd, c->engine, c->opts.path, &c->sock_was);
	io_uring_prep_connect(xiw_sqe(c->engine, c, XIW_OP_CONNECT), c->fd,
			      (struct sockaddr *)&c->addr.remote, c->addr.remote_len);
	c->ops++;
	return 0;
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
