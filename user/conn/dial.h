/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_DIAL_H
#define XIW_CONN_DIAL_H

#include "core/engine.h"

/* Makes a socket and starts to connect it. Returns 0 or -errno. */
int xiw_connect_start(struct xiw_conn *c);

/* The socket can be written to: how the connect has ended. Returns 0 or errno. */
int xiw_connect_result(struct xiw_conn *c);

/*
 * Connects once more, without Rev 2, if the options allow it and the peer has closed without an answer (RFC
 * 6581 section 10). Returns whether a new attempt has begun.
 */
bool xiw_connect_again(struct xiw_conn *c);

/*
 * The peer's segments of that second TCP connection come on a queue that the engine does not serve: opens it once more
 * from another port. To be called while startup.redials is not 0.
 */
void xiw_connect_elsewhere(struct xiw_conn *c);

#endif
