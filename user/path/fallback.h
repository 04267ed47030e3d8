/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_FALLBACK_H
#define XIW_PATH_FALLBACK_H

#include "path/packet.h"

void xiw_fall_back(struct xiw_conn *c, enum xiw_reason reason, const struct xiw_segment *in_hand);
void xiw_fall_back_finish(struct xiw_conn *c);
void xiw_ownership_lost(struct xiw_conn *c);
void xiw_stale_segment(struct xiw_conn *c, const struct xiw_packet *p, const struct xiw_meta *meta);

#endif
