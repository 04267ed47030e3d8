/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_ARM_H
#define XIW_PATH_ARM_H

#include "core/engine.h"

/*
 * So many aligned segments must come in a row before a connection that fell back goes direct again. A hand-off
 * costs as much as about ten segments. A segment can look aligned by chance, but hardly so many in a row.
 */
#define XIW_RUN 8

/*
 * Arms the connection (KERNEL to ARMED), if nothing speaks against the direct path. `run`: how many aligned
 * segments XDP must see in a row before the stretch begins.
 */
void xiw_try_arm(struct xiw_conn *c, uint32_t run);

#endif
