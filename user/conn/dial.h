/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_DIAL_H
#define XIW_CONN_DIAL_H

#include "core/engine.h"

int xiw_connect_start(struct xiw_conn *c);
bool xiw_connect_again(struct xiw_conn *c);

#endif
