/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an engine does where another program of tcx has come before xiw_egress and hides what sockets send. */
#ifndef XIW_PATH_FRONT_H
#define XIW_PATH_FRONT_H

#include <stdbool.h>

struct xiw_conn;
struct xiw_engine;
struct xiw_netif;

/*
 * The socket has sent, and xiw_egress has not seen it: puts xiw_egress in front if another program is there. True if
 * that has just been done, so that TCP sends again what the peer could not understand. It is done later while another
 * process has the lock of the pins (struct xiw_netif, its member `front.waits`).
 */
bool xiw_front_regain(struct xiw_conn *c);

/* Is xiw_egress on the interface? Another process may have attached it by another link, which is then this one's. */
bool xiw_front_there(const struct xiw_engine *e, struct xiw_netif *p);

#endif
