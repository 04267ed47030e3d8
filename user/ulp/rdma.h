/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ulp/rdma.h - RDMAP as a ULP (RFC 5040): struct xiw_rdma connects a stream's state machine (rdmap/stream.c) with a
 * connection below and the application above. attach.c makes it, post.c and recv.c have what the application gives
 * it, and rdma.c what DDP gives it.
 */
#ifndef XIW_ULP_RDMA_H
#define XIW_ULP_RDMA_H

#include <stdbool.h>
#include <stdint.h>

#include <xiwarp/rdmap.h>

#include "core/conn.h"
#include "rdmap/stream.h"

/* The longest Terminate Header has 52 octets. A longer message still fits, and its first octets are understood. */
#define XIW_RDMA_TERMINATE_ROOM 64

struct xiw_rdma {
	struct xiw_conn *conn;
	struct xiw_rdmap_stream s;
	uint32_t with_ddp; /* messages in DDP's queue; one place stays free for a Terminate */
	bool connected, closing, ended;
	uint8_t prompts;   /* Initiator: FPDUs that were sent because nothing had come */
	bool timed_out;	   /* an operation has XIW_CAUSE_TIMEOUT */
	bool returned;	   /* a buffer for Sends was returned */
	bool apart;	   /* Immediate Data is not placed in the buffer: immediate_apart */
	uint16_t ird, ord; /* used if nothing is negotiated */
	uint8_t term_out[XIW_RDMAP_TERM_MAX], term_in[XIW_RDMA_TERMINATE_ROOM];
	/*
	 * The buffer of the Read Request queue. One is enough, as it is posted again when a Request is delivered. A
	 * Request that comes early waits for its turn where the octets around it do.
	 */
	uint8_t request[XIW_RDMAP_ATOMIC_LEN];
	uint32_t request_len;
	uint8_t aside[XIW_RDMAP_WORD_LEN]; /* Immediate Data that is not placed in the buffer */
	/* Places for the pieces of posted buffers, one more than buffers may be posted; NULL until one is needed. */
	struct xiw_ddp_piece (*recv_rooms)[XIW_RDMA_PIECES_MAX];
	uint64_t recv_scattered; /* buffers in pieces that were posted so far */
};

extern const struct xiw_ulp xiw_rdma_ulp;

/* Tells the application of the operations that are complete. */
void xiw_rdma_report(struct xiw_rdma *r);
/*
 * Gives DDP as many messages as it has room for. Closes the connection if the application asked for it and all is
 * done.
 */
void xiw_rdma_pump(struct xiw_rdma *r);
/* Drops what has no segment yet, sends a Terminate if the stream has failed, and closes the connection. */
void xiw_rdma_end_stream(struct xiw_rdma *r);
/* Is a message with this number the answer to a Read or an atomic operation of the peer? */
bool xiw_rdma_is_answer(uint64_t id);
/* Posts the buffer for the peer's next Read Request or Atomic Request. */
void xiw_rdma_post_request(struct xiw_rdma *r);

#endif
