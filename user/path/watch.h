/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_WATCH_H
#define XIW_PATH_WATCH_H

#include "core/engine.h"

/* Frees retired interfaces whose sockets io_uring has let go of. */
void xiw_watch_sweep(struct xiw_engine *e);

/* Reads the rtnetlink messages that have come. Must be called before octets from a socket are looked at. */
void xiw_watch_read(struct xiw_engine *e);

/* Handles rtnetlink messages, and checks the interfaces if one of the messages asks for it. */
void xiw_watch_event(struct xiw_engine *e);

/* Checks the interfaces if the time has come, and sets the time of the next check. */
void xiw_watch_scan(struct xiw_engine *e);

#endif
