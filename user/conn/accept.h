/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_ACCEPT_H
#define XIW_CONN_ACCEPT_H

#include "core/engine.h"

/*
 * Handles a completion of the listener's accept: begins the startup of a new connection, and posts the accept
 * again if it has ended.
 */
void xiw_accept_done(struct xiw_listener *l, int res, uint32_t flags);

/* Takes a connection that was accepted for this listener. */
void xiw_accepted(struct xiw_listener *l, int fd);

#endif
