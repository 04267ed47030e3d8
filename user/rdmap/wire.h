/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdmap/wire.h - RDMAP as it is on the wire, RFC 5040 section 4. Numbers are big endian. Most of it travels in
 * DDP's headers: the control octet is the first of RsvdULP, the STag to invalidate the other four.
 *
 *	Read Request  SinkSTag 4 | SinkTO 8 | RDMARDSZ 4 | SrcSTag 4 | SrcTO 8
 *	Terminate     Layer, EType 1 | Error Code 1 | M D R 1 | reserved 1 |
 *	              DDP Segment Length 2, DDP header 14 or 18, Read Request 28: as M, D and R say
 */
#ifndef XIW_RDMAP_WIRE_H
#define XIW_RDMAP_WIRE_H

#include <stdint.h>

#include "ddp/wire.h"

/*
 * Section 4.1: 01b. The RDMA Consortium's 00b belongs to an MPA Revision 0 that is not supported here, so a message
 * that has it is not valid.
 */
#define XIW_RDMAP_RV 1
#define XIW_RDMAP_RV_SHIFT 6
#define XIW_RDMAP_OPCODE_MASK 0x0f

enum xiw_rdmap_opcode {
	XIW_RDMAP_OP_WRITE = 0,
	XIW_RDMAP_OP_READ_REQUEST = 1,
	XIW_RDMAP_OP_READ_RESPONSE = 2,
	XIW_RDMAP_OP_SEND = 3,
	XIW_RDMAP_OP_SEND_INV = 4,
	XIW_RDMAP_OP_SEND_SE = 5,
	XIW_RDMAP_OP_SEND_SE_INV = 6,
	XIW_RDMAP_OP_TERMINATE = 7,
};

/* Figure 4 */
#define XIW_RDMAP_QN_SEND 0
#define XIW_RDMAP_QN_READ 1
#define XIW_RDMAP_QN_TERMINATE 2
#define XIW_RDMAP_QUEUES 3

#define XIW_RDMAP_OFF_INVALIDATE 1 /* in RsvdULP */

/* Section 4.4 */
#define XIW_RDMAP_OFF_SINK_STAG 0
#define XIW_RDMAP_OFF_SINK_TO 4
#define XIW_RDMAP_OFF_SIZE 12
#define XIW_RDMAP_OFF_SRC_STAG 16
#define XIW_RDMAP_OFF_SRC_TO 20
#define XIW_RDMAP_READ_LEN 28

/* Section 4.8 */
#define XIW_RDMAP_TERM_CONTROL_LEN 4
#define XIW_RDMAP_TERM_M 0x80 /* of the third octet */
#define XIW_RDMAP_TERM_D 0x40
#define XIW_RDMAP_TERM_R 0x20
#define XIW_RDMAP_TERM_SEGLEN_LEN 2
#define XIW_RDMAP_TERM_MAX                                                                         \
	(XIW_RDMAP_TERM_CONTROL_LEN + XIW_RDMAP_TERM_SEGLEN_LEN + XIW_DDP_UNTAGGED_LEN +           \
	 XIW_RDMAP_READ_LEN)

static inline uint8_t xiw_rdmap_control(enum xiw_rdmap_opcode opcode)
{
	return (uint8_t)(XIW_RDMAP_RV << XIW_RDMAP_RV_SHIFT | opcode);
}

static inline uint8_t xiw_rdmap_version(uint8_t control)
{
	return control >> XIW_RDMAP_RV_SHIFT;
}

static inline uint8_t xiw_rdmap_opcode(uint8_t control)
{
	return control & XIW_RDMAP_OPCODE_MASK;
}

#endif
