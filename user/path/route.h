/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_ROUTE_H
#define XIW_PATH_ROUTE_H

#include "core/engine.h"

void xiw_route_begin(struct xiw_conn *c);
bool xiw_route_check(struct xiw_conn *c);

#endif
