/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_DIRECT_H
#define XIW_PATH_DIRECT_H

#include "core/engine.h"

void xiw_stretch_resume(struct xiw_conn *c);
unsigned int xiw_direct_poll(struct xiw_engine *e, struct xiw_rxq *q);

#endif
