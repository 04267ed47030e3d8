/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_ACCEPT_H
#define XIW_CONN_ACCEPT_H

#include "core/engine.h"

void xiw_accept_done(struct xiw_listener *l, int res, uint32_t flags);

#endif
