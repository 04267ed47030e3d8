/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_UNFINISHED_H
#define XIW_CONN_UNFINISHED_H

#include "core/engine.h"

/* A Send of the connection waits for a shared buffer: looks at those whose Sends have begun, and have one. */
void xiw_unfinished_look(struct xiw_conn *waits);

#endif
