/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_UNSTARTED_H
#define XIW_CONN_UNSTARTED_H

#include "core/engine.h"

/*
 * unstarted.c. admit: a connection of this peer may be taken: 0; -EUSERS: for another one's place, which was reset;
 * -EBUSY: not even so, as all wait for the application.
 */
unsigned int xiw_unstarted_default(void);
void xiw_unstarted_add(struct xiw_conn *c, struct xiw_listener *l);
void xiw_unstarted_remove(struct xiw_conn *c);
void xiw_unstarted_orphan(struct xiw_listener *l);
int xiw_unstarted_admit(struct xiw_listener *l, const struct sockaddr_storage *peer);
bool xiw_unstarted_make_way(struct xiw_engine *e);

#endif
