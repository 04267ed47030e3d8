/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Several sockets that listen on one address, and the choice among them by receive queue. */
#ifndef XIW_GROUP_REUSEPORT_H
#define XIW_GROUP_REUSEPORT_H

#include "group/group.h"

/*
 * fds[0] is bound, and the others are -1. It begins to listen, and a socket for each other engine on its address. A SYN
 * that came on queue q goes to the socket of the engine that serves q if the driver records queues; else to one by its
 * hash. Returns 0 or an error, with which some may be open.
 */
int xiw_reuseport_open(const struct xiw_group *g, const struct xiw_engine *e,
		       const struct xiw_conn_opts *opts, int fds[XIW_GROUP_ENGINES_MAX],
		       struct xiw_sock_was *was);

/* After an error: fds[0] is bound, and the others are -1, as before. */
void xiw_reuseport_take_back(int fds[XIW_GROUP_ENGINES_MAX], uint32_t n);

/* Closes those that are open: nothing is accepted any more, even if copies of the descriptors are still in use. */
void xiw_reuseport_close(int fds[XIW_GROUP_ENGINES_MAX], uint32_t n);

#endif
