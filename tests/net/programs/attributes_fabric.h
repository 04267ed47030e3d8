/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* programs/attributes_fabric.h - what attributes_fabric.c and attributes_hints.c share. */
#ifndef XIW_TESTS_NET_ATTRIBUTES_FABRIC_H
#define XIW_TESTS_NET_ATTRIBUTES_FABRIC_H

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include "tests/net/programs/attributes.h"

#define MUST(call)                                                                                 \
	do {                                                                                       \
		long rc_ = (long)(call);                                                           \
		if (rc_)                                                                           \
			die("%s:%d: %s: %ld", __FILE__, __LINE__, #call, rc_);                     \
	} while (0)

extern const char *fabric_host; /* the address of the device */

/* What differs from the hints that fit. */
enum fabric_hint {
	H_FORMAT,
	H_NIC,
	TX_OP_FLAGS,
	TX_OP_OTHER,
	TX_MSG_ORDER,
	TX_RAR,
	TX_COMP_ORDER,
	TX_COMP_OTHER,
	TX_INJECT,
	TX_INJECT_MORE,
	TX_SIZE,
	TX_SIZE_MORE,
	TX_IOV,
	TX_IOV_MORE,
	TX_RMA_IOV,
	TX_TCLASS,
	TX_LABEL,
	TX_TCLASS_OTHER,
	RX_OP_FLAGS,
	RX_OP_OTHER,
	RX_MSG_ORDER,
	RX_COMP_ORDER,
	RX_BUFFERED,
	RX_SIZE,
	RX_SIZE_MORE,
	RX_IOV_MORE,
	EP_OTHER,
	EP_PROTOCOL,
	EP_VERSION,
	EP_SIZE,
	EP_PREFIX,
	EP_RAW,
	EP_WAR,
	EP_TAG,
	EP_TX_CTX,
	EP_RX_SHARED,
	EP_KEY,
	D_NAME,
	D_THREADING,
	D_PROGRESS,
	D_DATA_PROGRESS,
	D_RM,
	D_AV,
	D_MR,
	D_MR_OTHER,
	D_KEY_SIZE,
	D_CQ_DATA,
	D_CQ_DATA_MORE,
	D_COUNTS,
	D_IOV,
	D_TCLASS,
	D_CAPS,
	F_NAME,
	H_CAPS,
};

/* Those that fit; what changes of them for transmit attributes. */
struct fi_info *fabric_hints(void);
void set_fabric_tx(struct fi_tx_attr *attr, uint64_t what);

/* Returns what fi_getinfo() says to these hints, or -1 if it has something else. */
int try_fabric_hint(uint64_t what);

#endif
