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

#define XIW_DDP_VERSION 1

/* Control octet, section 4.1: T, L, four reserved bits (0 when sent, not checked), DV. */
#define XIW_DDP_OFF_CONTROL 0
#define XIW_DDP_CONTROL_TAGGED 0x80
#define XIW_DDP_CONTROL_LAST 0x40
#define XIW_DDP_CONTROL_DV 0x03

#define XIW_DDP_OFF_RSVDULP 1

/* Section 4.2 */
#define XIW_DDP_TAGGED_RSVDULP_LEN 1
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

static inline uint32_t xiw_ddp_get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t xiw_ddp_get64(const uint8_t *p)
{
	return (uint64_t)xiw_ddp_get32(p) << 32 | xiw_ddp_get32(p + 4);
}

static inline void xiw_ddp_put32(uint8_t *p, uint32_t v)
{
	p[0] = v >> 24;
	p[1] = v >> 16;
	p[2] = v >> 8;
	p[3] = v;
}

static inline void xiw_ddp_put64(uint8_t *p, uint64_t v)
{
	xiw_ddp_put32(p, v >> 32);
	xiw_ddp_put32(p + 4, v);
}

#endif
