/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_KERNEL_H
#define XIW_PATH_KERNEL_H

#include "core/engine.h"

/* Takes the connection off the lists of those that wait for a buffer or for room in the completion queue. */
void xiw_stream_forget(struct xiw_conn *c);

/* Posts the multishot receive, unless one is posted or nothing can come any more. */
void xiw_recv_post(struct xiw_conn *c);

/* The MPA framing's allocator (struct xiw_mpa_stream): its memory counts against the engine's budget. */
void *xiw_stream_resize(void *ctx, void *p, size_t from, size_t to);

/* Goes on with the octets that are held, when the completion queue has room again or a buffer was posted. */
void xiw_stream_resume(struct xiw_conn *c);

/* Handles a completion of the receive: octets, the end of the stream, or an error. */
void xiw_recv_done(struct xiw_conn *c, int res, uint32_t flags);

#endif
