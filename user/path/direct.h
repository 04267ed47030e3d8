/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_DIRECT_H
#define XIW_PATH_DIRECT_H

#include "core/engine.h"

/*
 * Called when the socket has given octets. If the socket has been read up to the start of the stretch, the
 * stretch takes the frames that waited.
 */
void xiw_stretch_resume(struct xiw_conn *c);

/*
 * Takes one batch of packets from a receive queue and processes them. Returns how many there were; the caller
 * commits (xiw_commit()).
 */
unsigned int xiw_direct_poll(struct xiw_engine *e, struct xiw_rxq *q);

#endif
