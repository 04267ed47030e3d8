/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_OOO_H
#define XIW_PATH_OOO_H

#include "path/packet.h"

/*
 * Places the FPDUs of a kept segment early, as far as a marker proves where they start. Returns false if a CRC
 * is wrong; the segment must then not be kept.
 */
bool xiw_early_place(struct xiw_conn *c, struct xiw_kept *k);

#endif
