/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_ARM_H
#define XIW_PATH_ARM_H

#include "core/engine.h"

/*
 * Aligned segments in a row before a connection that left the direct path goes back to it. A hand-off
 * costs as much as some ten segments; and a segment can look aligned by chance, but hardly so many.
 */
#define XIW_RUN 8

void xiw_try_arm(struct xiw_conn *c, uint32_t run);

#endif
