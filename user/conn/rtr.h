/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_RTR_H
#define XIW_CONN_RTR_H

#include "core/engine.h"

/*
 * The Initiator of an RDMAP Stream offers the peer-to-peer startup of RFC 6581, unless its application has decided
 * about that. If Rev 2 was not asked for either, a Responder that closes upon it is asked once more with Rev 1 (section
 * 10).
 */
void xiw_rtr_offer(struct xiw_conn *c);

/*
 * Sends the ready-to-receive message of a peer-to-peer Initiator, unless the ULP's first message is one. Where none was
 * agreed on, the Initiator of an RDMAP Stream sends an RDMA Write of no octets all the same, because the Responder may
 * not send before it has received an FPDU (RFC 5044 section 7.1.2 rule 4).
 */
void xiw_rtr_send(struct xiw_conn *c);

/*
 * Examines the first FPDU at a peer-to-peer Responder; its CRC has been verified. Returns 1 if it was the
 * ready-to-receive message and is consumed, 0 if DDP must take it, or -errno if the stream has failed, which
 * has been reported by then.
 */
int xiw_rtr_take(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t payload);

/* Tells the peer by a Terminate message why startup fails, and then ends the connection with `error`. */
void xiw_terminate(struct xiw_conn *c, enum xiw_mpa_error code, int error);

#endif
