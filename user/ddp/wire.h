/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ddp/wire.h - the DDP headers as they are on the wire, RFC 5041 section 4. Numbers are big endian.
 *
 *	tagged    control 1 | RsvdULP 1 | STag 4 | TO 8
 *	untagged  control 1 | RsvdULP 5 | QN 4 | MSN 4 | MO 4
 */
#ifndef XIW_DDP_WIRE_H
#define XIW_DDP_WIRE_H

#include <stdint.h>

#include "base/be.h"

#define XIW_DDP_VERSION 1

/* Control octet, section 4.1: T, L, four reserved bits (0 when sent, not checked), DV. */
#define XIW_DDP_OFF_CONTROL 0
#define XIW_DDP_CONTROL_TAGGED 0x80
#define XIW_DDP_CONTROL_LAST 0x40
#define XIW_DDP_CONTROL_DV 0x03

#define XIW_DDP_OFF_RSVDULP 1

/* Section 4.2 */
#define XIW_DDP_OFF_STAG 2
#define XIW_DDP_OFF_TO 6
#define XIW_DDP_TAGGED_LEN 14

/* Section 4.3 */
#define XIW_DDP_UNTAGGED_RSVDULP_LEN 5
#define XIW_DDP_OFF_QN 6
#define XIW_DDP_OFF_MSN 10
#define XIW_DDP_OFF_MO 14
#define XIW_DDP_UNTAGGED_LEN 18

#define XIW_DDP_HDR_MAX XIW_DDP_UNTAGGED_LEN

#endif
