/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_INJECT_H
#define XIW_PATH_INJECT_H

#include "path/packet.h"

void xiw_inject_raise_high(struct xiw_conn *c, const struct xiw_packet *p,
			   const struct xiw_meta *meta);
void xiw_inject_note_ecn(struct xiw_conn *c, const struct xiw_packet *p,
			 const struct xiw_meta *meta);
void xiw_inject_segment(struct xiw_conn *c, const struct xiw_packet *p, const struct xiw_meta *meta,
			uint32_t len, uint32_t skew);
void xiw_inject_whole(struct xiw_conn *c, const struct xiw_packet *p, const struct xiw_meta *meta,
		      uint32_t skew);
void xiw_inject_late(struct xiw_conn *c, const struct xiw_segment *s);
void xiw_inject_old(struct xiw_conn *c, const struct xiw_segment *s);
void xiw_inject_feedback(struct xiw_conn *c);
void xiw_inject_probe(struct xiw_conn *c);

#endif
