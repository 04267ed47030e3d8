/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_FRAMES_H
#define XIW_CONN_FRAMES_H

#include "core/engine.h"

void xiw_startup_send(struct xiw_conn *c);
void xiw_startup_fpdu(struct xiw_conn *c, const struct xiw_ddp_hdr *h, const uint8_t *payload,
		      uint32_t len);

#endif
