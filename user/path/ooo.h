/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_OOO_H
#define XIW_PATH_OOO_H

#include "path/packet.h"

/* early.c: false if a CRC is wrong, so that the segment is not to be kept */
bool xiw_early_place(struct xiw_conn *c, struct xiw_kept *k);

#endif
