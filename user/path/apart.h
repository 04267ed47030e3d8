/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_APART_H
#define XIW_PATH_APART_H

#include "core/engine.h"

/*
 * Says whether conntrack sees what is injected over lo as part of the connection, whose injected segments have reached
 * the socket before. It does not where lo has another conntrack zone than the wire: then it would take the socket's
 * segments, or the peer's, for invalid. Such a connection is barred. False may also mean: not known yet.
 */
bool xiw_apart_may_arm(struct xiw_conn *c);

#endif
