/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdmap/wire.h - RDMAP as it is on the wire, RFC 5040 section 4. Numbers are big endian. Most of it travels in
 * DDP's headers: the control octet is the first of RsvdULP, the STag to invalidate the other four.
 *
 *	Read Request  SinkSTag 4 | SinkTO 8 | RDMARDSZ 4 | SrcSTag 4 | SrcTO 8
 *	Terminate     Layer, EType 1 | Error Code 1 | M D R 1 | reserved 1 |
 *	              DDP Segment Length 2, DDP header 14 or 18, Read Request 28: as M, D and R say
 *
 * and RFC 7306:
 *
 *	Atomic Request   reserved, AOpCode 4 | Request Identifier 4 | STag 4 | TO 8 | Add or Swap Data 8 |
 *	                 Add or Swap Mask 8 | Compare Data 8 | Compare Mask 8
 *	Atomic Response  Original Request Identifier 4 | Original Remote Data Value 8
 *	Immediate Data   8
 */
#ifndef XIW_RDMAP_WIRE_H
#define XIW_RDMAP_WIRE_H

#include <stdbool.h>
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
	/* RFC 7306 Figure 2 */
	XIW_RDMAP_OP_IMMEDIATE = 8,
	XIW_RDMAP_OP_IMMEDIATE_SE = 9,
	XIW_RDMAP_OP_ATOMIC_REQUEST = 10,
	XIW_RDMAP_OP_ATOMIC_RESPONSE = 11,
};

/* Figure 4, and RFC 7306 Figure 2 */
#define XIW_RDMAP_QN_SEND 0
#define XIW_RDMAP_QN_READ 1
#define XIW_RDMAP_QN_TERMINATE 2
#define XIW_RDMAP_QN_ATOMIC 3 /* Atomic Responses */
#define XIW_RDMAP_QUEUES 3

#define XIW_RDMAP_OFF_INVALIDATE 1 /* in RsvdULP */

/* Section 4.4 */
#define XIW_RDMAP_OFF_SINK_STAG 0
#define XIW_RDMAP_OFF_SINK_TO 4
#define XIW_RDMAP_OFF_SIZE 12
#define XIW_RDMAP_OFF_SRC_STAG 16
#define XIW_RDMAP_OFF_SRC_TO 20
#define XIW_RDMAP_READ_LEN 28

/* RFC 7306 sections 5.2.1, 5.2.2 and 6.2 */
#define XIW_RDMAP_OFF_ATOMIC_CODE 0
#define XIW_RDMAP_OFF_ATOMIC_ID 4
#define XIW_RDMAP_OFF_ATOMIC_STAG 8
#define XIW_RDMAP_OFF_ATOMIC_TO 12
#define XIW_RDMAP_OFF_ATOMIC_VALUE 20
#define XIW_RDMAP_OFF_ATOMIC_MASK 28
#define XIW_RDMAP_OFF_ATOMIC_COMPARE 36
#define XIW_RDMAP_OFF_ATOMIC_COMPARE_MASK 44
#define XIW_RDMAP_ATOMIC_LEN 52
#define XIW_RDMAP_ATOMIC_CODE_MASK 0xf
#define XIW_RDMAP_ATOMIC_FETCH_ADD 0
#define XIW_RDMAP_ATOMIC_CMP_SWAP 2
#define XIW_RDMAP_OFF_ORIGINAL_ID 0
#define XIW_RDMAP_OFF_ORIGINAL 4
#define XIW_RDMAP_ORIGINAL_LEN 12
#define XIW_RDMAP_WORD_LEN 8 /* of what an atomic operation works on, and of Immediate Data */

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

static inline bool xiw_rdmap_is_immediate(uint8_t control)
{
	const uint8_t opcode = control & XIW_RDMAP_OPCODE_MASK;

	return opcode == XIW_RDMAP_OP_IMMEDIATE || opcode == XIW_RDMAP_OP_IMMEDIATE_SE;
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
