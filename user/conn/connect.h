/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_CONNECT_H
#define XIW_CONN_CONNECT_H

#include "core/engine.h"

/* Called when the TCP connection is made, or has failed (`res` negative). Begins MPA startup. */
void xiw_connect_done(struct xiw_conn *c, int res);

#endif
