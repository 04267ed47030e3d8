/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_GROUP_LISTEN_H
#define XIW_GROUP_LISTEN_H

#include "group/group.h"

/*
 * The engine is being destroyed: other engines accept from its sockets from now on. The caller holds the group's lock,
 * and has taken the engine out of the group.
 */
void xiw_group_listeners_leave(struct xiw_group *g, struct xiw_engine *e);

/* What struct xiw_group_ops says. */
bool xiw_group_accepted(struct xiw_listener *l, int fd);

/* Closes the descriptors of all listeners, in a child process. */
void xiw_group_listeners_forked(struct xiw_group *g);

/* Closes all listeners of a group that is destroyed. The application still has to free them. */
void xiw_group_listeners_detach(struct xiw_group *g);

#endif
