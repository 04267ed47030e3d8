/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_LISTENER_H
#define XIW_CONN_LISTENER_H

#include "core/engine.h"

void xiw_accept_post(struct xiw_listener *l);
void xiw_listeners_end(struct xiw_engine *e);
void xiw_listeners_detach(struct xiw_engine *e);
void xiw_listener_forget(struct xiw_listener *l);
void xiw_not_accepted(struct xiw_listener *l, int err);
void xiw_listener_crowded(struct xiw_listener *l);
void xiw_accept_again(struct xiw_engine *e);

#endif
