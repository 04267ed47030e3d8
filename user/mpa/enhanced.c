// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "mpa/enhanced.h"

static void set_rtr(struct xiw_mpa_enhanced *e, bool peer_to_peer, uint8_t rtr)
{
	/* 9.2: without A the others must be 0. */
	e->peer_to_peer = peer_to_peer;
	e->rtr_send = peer_to_peer && (rtr & XIW_RTR_SEND);
	e->rtr_write = peer_to_peer && (rtr & XIW_RTR_WRITE);
	e->rtr_read = peer_to_peer && (rtr & XIW_RTR_READ);
}

void xiw_mpa_offer(const struct xiw_mpa_terms *mine, struct xiw_mpa_enhanced *request)
{
	*request = (struct xiw_mpa_enhanced){ .ird = mine->ird, .ord = mine->ord };
	set_rtr(request, mine->peer_to_peer, mine->rtr);
}

void xiw_mpa_respond(struct xiw_mpa_terms *mine, const struct xiw_mpa_enhanced *request,
		     bool reject, struct xiw_mpa_enhanced *reply)
{
	*reply = (struct xiw_mpa_enhanced){ .ird = mine->ird, .ord = mine->ord };
	/* 9.1: a depth of all ones is answered by all ones, and changes nothing here. */
	if (request->ord == XIW_DEPTH_ULP)
		reply->ird = XIW_DEPTH_ULP;
	if (request->ird == XIW_DEPTH_ULP)
		reply->ord = XIW_DEPTH_ULP;
	else if (!reject && mine->ord > request->ird)
		/* At most the Initiator's IRD; a rejection says what is required instead. */
		reply->ord = mine->ord = request->ird;
	/* All kinds that are supported: offering more than were asked for is allowed, and offering none is not. */
	mine->peer_to_peer = request->peer_to_peer;
	set_rtr(reply, mine->peer_to_peer, mine->rtr);
}

/* A Write consumes no MSN at the Responder, and this layer makes no Read. */
static uint8_t choose_rtr(uint8_t mine, const struct xiw_mpa_enhanced *reply)
{
	if (reply->rtr_write && (mine & XIW_RTR_WRITE))
		return XIW_RTR_WRITE;
	if (reply->rtr_send && (mine & XIW_RTR_SEND))
		return XIW_RTR_SEND;
	return reply->rtr_read ? mine & XIW_RTR_READ : 0;
}

enum xiw_mpa_error xiw_mpa_conclude(struct xiw_mpa_terms *mine,
				    const struct xiw_mpa_enhanced *reply)
{
	/* Code 7 also covers connection models that do not match. */
	if (mine->peer_to_peer != reply->peer_to_peer)
		return XIW_MPA_ERR_RTR;
	mine->rtr = mine->peer_to_peer ? choose_rtr(mine->rtr, reply) : 0;
	if (mine->peer_to_peer && !mine->rtr)
		return XIW_MPA_ERR_RTR;
	/* Our IRD must be at least the Responder's ORD; all ones from either side leave it unchanged. */
	if (reply->ord != XIW_DEPTH_ULP && reply->ord > mine->ird)
		return XIW_MPA_ERR_IRD;
	if (reply->ird != XIW_DEPTH_ULP && mine->ord != XIW_DEPTH_ULP && mine->ord > reply->ird)
		mine->ord = reply->ird;
	return 0;
}
