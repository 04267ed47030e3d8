/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_KERNEL_H
#define XIW_PATH_KERNEL_H

#include "core/engine.h"

void xiw_stream_forget(struct xiw_conn *c);
void xiw_recv_post(struct xiw_conn *c);
void *xiw_stream_resize(void *ctx, void *p, size_t from, size_t to);
void xiw_stream_resume(struct xiw_conn *c);
void xiw_recv_done(struct xiw_conn *c, int res, uint32_t flags);

#endif
