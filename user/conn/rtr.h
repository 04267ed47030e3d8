/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_RTR_H
#define XIW_CONN_RTR_H

#include "core/engine.h"

void xiw_rtr_send(struct xiw_conn *c);
int xiw_rtr_take(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t payload);
void xiw_terminate(struct xiw_conn *c, enum xiw_mpa_error code, int error);

#endif
