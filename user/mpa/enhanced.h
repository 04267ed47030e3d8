/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What two endpoints agree on by RFC 6581 section 9: RDMA Read depths and the RTR indication. */
#ifndef XIW_MPA_ENHANCED_H
#define XIW_MPA_ENHANCED_H

#include <xiwarp/conn.h>

#include "mpa/startup.h"

/* The terms of one endpoint, before and after the negotiation. */
struct xiw_mpa_terms {
	uint16_t ird, ord;
	bool peer_to_peer;
	uint8_t rtr; /* enum xiw_rtr */
};

/* Initiator: what its Request says. */
void xiw_mpa_offer(const struct xiw_mpa_terms *mine, struct xiw_mpa_enhanced *request);

/*
 * Responder: what its Reply says to a Request, and on which terms it goes on if it accepts. mine->rtr is what it
 * supports, and is not empty.
 */
void xiw_mpa_respond(struct xiw_mpa_terms *mine, const struct xiw_mpa_enhanced *request,
		     bool reject, struct xiw_mpa_enhanced *reply);

/*
 * Initiator: on which terms it goes on after an accepting Reply; mine->rtr is then the indication to send. Returns 0,
 * or XIW_MPA_ERR_IRD or XIW_MPA_ERR_RTR, which is to be told to the peer and ends the connection.
 */
enum xiw_mpa_error xiw_mpa_conclude(struct xiw_mpa_terms *mine,
				    const struct xiw_mpa_enhanced *reply);

#endif
