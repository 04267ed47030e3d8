/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host/listen.h - listeners: whose a new connection is. */
#ifndef XIW_HOST_LISTEN_H
#define XIW_HOST_LISTEN_H

#include <ifaddrs.h>

#include "host/host.h"

/* Options that all connections have; those of a queue pair and of the application are added. */
void xiw_host_conn_opts(struct xiw_conn_opts *opts);

/*
 * The user data of a connection that was accepted is odd until its Request has come, and tells the listener by a number
 * that no other one has had.
 */
static inline bool xiw_host_is_new(uint64_t user_data)
{
	return user_data & 1;
}

/* Where the events of that listener go. False: it was freed. With xiw_host_lock. */
bool xiw_host_listener_find(uint64_t user_data, struct xiw_host_eq **eq, void **context);

/*
 * What of the front's a Request to this local address, one of `all`, is for, asked in the engine's thread before the
 * program may hear of it: its channel would be readable. NULL: it is refused, and the front has said why. Not set:
 * nothing is asked.
 */
extern void *(*xiw_host_target)(const struct sockaddr *local, const struct ifaddrs *all);
/* What xiw_host_target() has answered. */
void *xiw_host_request_target(const struct xiw_host_request *request);

/* Has the Request's local address a target of the front's, which is noted? In the engine's thread. */
bool xiw_host_listener_wants(struct xiw_host_request *request);

#endif
