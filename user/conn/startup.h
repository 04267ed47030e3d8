/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_STARTUP_H
#define XIW_CONN_STARTUP_H

#include "core/engine.h"

/* Called when a send of startup has ended. */
void xiw_startup_sent(struct xiw_conn *c, int res);

/* Called when a receive or the poll of startup has ended. */
void xiw_startup_received(struct xiw_conn *c, int res);

/*
 * Begins startup on a connected socket: an Initiator sends its Request, a Responder waits for one. `upgrade`
 * (or NULL) has what the application has read of the peer's frame already.
 */
void xiw_startup_begin(struct xiw_conn *c, const struct xiw_upgrade *upgrade);

/* Called when startup_timeout_ms has passed: asks for the end (RFC 5044 section 7.1.2 rules 8 and 10). */
void xiw_startup_timeout(struct xiw_conn *c);

#endif
