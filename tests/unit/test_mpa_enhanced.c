// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <criterion/criterion.h>

#include "mpa/enhanced.h"

static const uint16_t depths[] = { 0, 1, 7, 8, 0x3ffe, XIW_DEPTH_ULP };
#define DEPTHS (sizeof(depths) / sizeof(depths[0]))

static struct xiw_mpa_enhanced on_the_wire(const struct xiw_mpa_enhanced *e)
{
	struct xiw_mpa_enhanced out = {};
	uint8_t raw[4];

	xiw_mpa_enhanced_encode(e, raw);
	xiw_mpa_enhanced_decode(&out, raw);
	return out;
}

/* RFC 6581 section 9.1: what both ends have agreed on after a successful negotiation. */
static void check_depths(const struct xiw_mpa_terms *offered, const struct xiw_mpa_terms *initiator,
			 const struct xiw_mpa_terms *responder, const struct xiw_mpa_terms *able,
			 const struct xiw_mpa_enhanced *reply)
{
	cr_assert_eq(initiator->ird, offered->ird);
	cr_assert_eq(responder->ird, able->ird);
	if (offered->ord == XIW_DEPTH_ULP) {
		cr_assert_eq(reply->ird, XIW_DEPTH_ULP);
		cr_assert_eq(initiator->ord, offered->ord);
	} else {
		cr_assert_eq(reply->ird, able->ird);
		cr_assert(initiator->ord <= responder->ird);
		cr_assert(initiator->ord <= offered->ord);
	}
	if (offered->ird == XIW_DEPTH_ULP) {
		cr_assert_eq(reply->ord, XIW_DEPTH_ULP);
		cr_assert_eq(responder->ord, able->ord);
	} else {
		cr_assert_eq(reply->ord, responder->ord);
		cr_assert(responder->ord <= offered->ird);
		cr_assert(responder->ord <= able->ord);
	}
}

Test(mpa_enhanced, depths)
{
	for (unsigned int i = 0; i < DEPTHS * DEPTHS * DEPTHS * DEPTHS; i++) {
		const struct xiw_mpa_terms offered = { .ird = depths[i % DEPTHS],
						       .ord = depths[i / DEPTHS % DEPTHS] };
		const struct xiw_mpa_terms able = { .ird = depths[i / DEPTHS / DEPTHS % DEPTHS],
						    .ord = depths[i / DEPTHS / DEPTHS / DEPTHS],
						    .rtr = XIW_RTR_SEND };
		struct xiw_mpa_terms initiator = offered, responder = able;
		struct xiw_mpa_enhanced request, reply;

		xiw_mpa_offer(&initiator, &request);
		request = on_the_wire(&request);
		cr_assert_eq(request.ird, offered.ird);
		cr_assert_eq(request.ord, offered.ord);
		xiw_mpa_respond(&responder, &request, false, &reply);
		reply = on_the_wire(&reply);
		cr_assert_not(reply.peer_to_peer || reply.rtr_send || reply.rtr_write ||
			      reply.rtr_read);
		cr_assert_eq(xiw_mpa_conclude(&initiator, &reply), 0);
		check_depths(&offered, &initiator, &responder, &able, &reply);
	}
}

/* A rejection contains the required ORD and does not change the terms. */
Test(mpa_enhanced, rejection)
{
	struct xiw_mpa_enhanced request = { .ird = 3, .ord = 3 }, reply;
	struct xiw_mpa_terms mine = { .ird = 1, .ord = 9, .rtr = XIW_RTR_WRITE };

	xiw_mpa_respond(&mine, &request, true, &reply);
	cr_assert_eq(reply.ird, 1);
	cr_assert_eq(reply.ord, 9);
	cr_assert_eq(mine.ord, 9);
}

Test(mpa_enhanced, insufficient_ird)
{
	struct xiw_mpa_terms mine = { .ird = 3, .ord = 3 };
	struct xiw_mpa_enhanced reply = { .ird = 3, .ord = 4 };

	cr_assert_eq(xiw_mpa_conclude(&mine, &reply), XIW_MPA_ERR_IRD);
	reply.ord = 3;
	cr_assert_eq(xiw_mpa_conclude(&mine, &reply), 0);
}

static bool has(uint8_t rtr, enum xiw_rtr kind)
{
	return rtr & kind;
}

/* Section 9.2, for every set of RTR kinds at both ends. */
Test(mpa_enhanced, rtr)
{
	for (unsigned int i = 1; i < 8; i++) {
		for (unsigned int r = 1; r < 8; r++) {
			struct xiw_mpa_terms initiator = { .peer_to_peer = true,
							   .rtr = (uint8_t)i };
			struct xiw_mpa_terms responder = { .rtr = (uint8_t)r };
			struct xiw_mpa_enhanced request, reply;
			enum xiw_mpa_error err;

			xiw_mpa_offer(&initiator, &request);
			request = on_the_wire(&request);
			cr_assert(request.peer_to_peer);
			cr_assert_eq(request.rtr_send, has((uint8_t)i, XIW_RTR_SEND));
			cr_assert_eq(request.rtr_write, has((uint8_t)i, XIW_RTR_WRITE));
			cr_assert_eq(request.rtr_read, has((uint8_t)i, XIW_RTR_READ));
			xiw_mpa_respond(&responder, &request, false, &reply);
			reply = on_the_wire(&reply);
			cr_assert(responder.peer_to_peer && reply.peer_to_peer);
			cr_assert_eq(reply.rtr_send, has((uint8_t)r, XIW_RTR_SEND));
			cr_assert_eq(reply.rtr_write, has((uint8_t)r, XIW_RTR_WRITE));
			cr_assert_eq(reply.rtr_read, has((uint8_t)r, XIW_RTR_READ));
			err = xiw_mpa_conclude(&initiator, &reply);
			cr_assert_eq(err, i & r ? 0 : XIW_MPA_ERR_RTR);
			if (err)
				continue;
			cr_assert(initiator.rtr & i & r);
			cr_assert_eq(initiator.rtr & (initiator.rtr - 1), 0, "one of them");
			/* Read belongs to the ULP: chosen only if there is no other kind. */
			cr_assert(initiator.rtr != XIW_RTR_READ || (i & r) == XIW_RTR_READ);
		}
	}
}

Test(mpa_enhanced, connection_model)
{
	struct xiw_mpa_terms mine = { .peer_to_peer = true, .rtr = 7 };
	struct xiw_mpa_enhanced frame = { .rtr_send = true, .rtr_write = true, .rtr_read = true },
				reply;

	cr_assert_eq(xiw_mpa_conclude(&mine, &frame), XIW_MPA_ERR_RTR);
	mine = (struct xiw_mpa_terms){};
	frame.peer_to_peer = true;
	cr_assert_eq(xiw_mpa_conclude(&mine, &frame), XIW_MPA_ERR_RTR);
	/* Without A the other bits are ignored, and sent as 0. */
	frame.peer_to_peer = false;
	cr_assert_eq(xiw_mpa_conclude(&mine, &frame), 0);
	mine = (struct xiw_mpa_terms){ .rtr = 3 };
	xiw_mpa_respond(&mine, &frame, false, &reply);
	cr_assert_not(mine.peer_to_peer);
	cr_assert_not(reply.peer_to_peer || reply.rtr_send || reply.rtr_write || reply.rtr_read);
}
