// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of startup.c: who speaks first, how long the other waits, and what ends startup early. */
#include "tests/net/peer/startup.h"

/* RFC 5044 section 7.1.2 rule 4: a Responder with a message to send waits until an FPDU has come. */
static const char *responder_waits(int unused)
{
	(void)unused;
	TRY(begin("role=r send=100"));
	TRY(silent(50));
	TRY(send_frame(REQUEST, C, 1, NULL, 0));
	TRY(expect_frame(REPLY, C, 1, NULL, 0));
	TRY(silent(100));
	TRY(send_stream());
	TRY(expect_message(1, 100));
	return clean_end("tagged=20000");
}

/* An Initiator sends nothing before it has the Reply. */
static const char *initiator_waits(int unused)
{
	(void)unused;
	TRY(begin("role=i send=100"));
	TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	TRY(silent(100));
	TRY(send_frame(REPLY, C, 1, NULL, 0));
	TRY(expect_message(1, 100));
	return stream_end("events=CONNECTED,CLOSED");
}

/* If no FPDU comes before the connection is closed, the Responder's message is never sent. */
static const char *responder_never_speaks(int unused)
{
	(void)unused;
	TRY(begin("role=r send=100"));
	TRY(send_frame(REQUEST, C, 1, NULL, 0));
	TRY(expect_frame(REPLY, C, 1, NULL, 0));
	return clean_end("events=REQUEST,CONNECTED,CLOSED");
}

/* A peer cannot send an FPDU before the Reply: octets behind a Request are too much Private Data (rule 9). */
static const char *glued_request(int apart)
{
	uint8_t f[2048];
	size_t len = make_frame(f, REQUEST, C, 1, NULL, 0);

	TRY(begin("role=r hold=%d", apart));
	if (apart) {
		TRY(push(f, len));
		wait_us(20000);
		len = 0;
	}
	TRY(push(f, len + tagged(f + len, 0, OCTETS)));
	if (apart) {
		TRY(all_acknowledged());
		TRY(decide_now());
	}
	TRY(closed());
	return result("events=REQUEST,CLOSED mpa=4 status=-71 tagged=0");
}

/*
 * A Responder may not send an FPDU before it has received one (rule 4), but some do. Both frames are known, so it is
 * taken and counted: with the Reply in one segment, and also if the application looks at the Reply first.
 */
static const char *glued_reply(int review)
{
	uint8_t f[2048];
	size_t len = make_frame(f, REPLY, C, 1, NULL, 0);
	uint32_t fpdu;
	char want[160];

	agree(C, C);
	fpdu = tagged(f + len, 0, OCTETS);
	TRY(begin("role=i send=100%s", review ? " review=accept hold=1" : ""));
	TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	TRY(push(f, len + fpdu));
	if (review) {
		TRY(all_acknowledged());
		TRY(decide_now());
	}
	TRY(expect_message(1, 100)); /* a peer that closes before is taken for one that refuses */
	TRY(half_close());
	TRY(closed_orderly());
	snprintf(want, sizeof(want),
		 "events=%sCONNECTED,CLOSED mpa=0 status=0 tagged=%d surplus=%u",
		 review ? "REPLY," : "", OCTETS, fpdu);
	return result(want);
}

/* What comes behind a Reply that is an FPDU by its place alone is an error of the stream. */
static const char *glued_garbage(int unused)
{
	uint8_t f[2048];
	size_t len = make_frame(f, REPLY, C, 1, NULL, 0);
	uint32_t fpdu;

	(void)unused;
	agree(C, C);
	fpdu = tagged(f + len, 0, OCTETS);
	f[len + 100] ^= 1;
	TRY(begin("role=i"));
	TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	TRY(push(f, len + fpdu));
	TRY(closed());
	return result("events=CONNECTED,ERROR,CLOSED mpa=2 status=-71 tagged=0");
}

/* With the application's leave a Responder sends at once; but not before a peer-to-peer Initiator is ready. */
static const char *responder_sends_first(int p2p)
{
	uint8_t f[64];

	TRY(begin("role=r send=100 first_sends=1"));
	TRY(send_frame(REQUEST, p2p ? C | S : C, p2p ? 2 : 1,
		       p2p ? enhanced(1, RTR_WRITE, 0, 0) : NULL, 0));
	if (p2p) {
		TRY(expect_frame(REPLY, C | S, 2, enhanced(1, RTR_SEND | RTR_WRITE, 0, 0), 0));
		TRY(silent(100));
		TRY(push(f, tagged(f, 0, 0)));
	} else {
		TRY(expect_frame(REPLY, C, 1, NULL, 0));
	}
	TRY(expect_message(1, 100));
	return stream_end("events=REQUEST,CONNECTED,CLOSED");
}

/* It may also wait for the first FPDU for some time: none comes, also while it closes; or one does. */
static const char *responder_sends_later(int leaves)
{
	TRY(begin("role=r send=100 first_sends=1 first_ms=1000 leave=%d", leaves));
	TRY(send_frame(REQUEST, C, 1, NULL, 0));
	TRY(expect_frame(REPLY, C, 1, NULL, 0));
	TRY(silent(50));
	TRY(expect_message(1, 100));
	if (!leaves)
		return stream_end("events=REQUEST,CONNECTED,CLOSED");
	TRY(closed_orderly());
	TRY(half_close());
	return result("events=REQUEST,CONNECTED,CLOSED status=0");
}

static const char *responder_hears_first(int unused)
{
	(void)unused;
	TRY(begin("role=r send=100 first_sends=1 first_ms=65535"));
	TRY(send_frame(REQUEST, C, 1, NULL, 0));
	TRY(expect_frame(REPLY, C, 1, NULL, 0));
	TRY(send_stream());
	TRY(expect_message(1, 100));
	return clean_end("tagged=20000");
}

/* Nothing comes, or half a frame. This is also what two Responders see of each other. */
static const char *times_out(int i)
{
	bool initiator = i & 1;

	TRY(begin("role=%c timeout=400", initiator ? 'i' : 'r'));
	if (initiator)
		TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	if (i & 2)
		TRY(push("MPA ID Re", 9));
	TRY(closed());
	return result(initiator ? "events=REFUSED,CLOSED mpa=4 status=-110"
				: "events=CLOSED mpa=4 status=-110");
}

/* Single octets do not extend the time limit. */
static const char *slow(int role)
{
	uint8_t f[64];
	size_t len = make_frame(f, role == 'i' ? REPLY : REQUEST, C, 1, NULL, 0), n;

	TRY(begin("role=%c timeout=400", role));
	if (role == 'i')
		TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	for (n = 0; n < len && send(peer.fd, f + n, 1, MSG_NOSIGNAL) == 1; n++)
		wait_us(40000);
	CHECK(n < len);
	return result("mpa=4 status=-110");
}

/* The time limit counts from the connection's begin, not from the engine's last turn. */
static const char *idle_before(int unused)
{
	(void)unused;
	TRY(begin("role=i idle=700 timeout=600 send=1"));
	TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	TRY(send_frame(REPLY, C, 1, NULL, 0));
	TRY(expect_message(1, 1));
	return stream_end("events=CONNECTED,CLOSED");
}

/* A FIN instead of a frame, within one, or while the application decides: MPA error 1. */
static const char *early_fin(int i)
{
	TRY(begin("role=%c hold=1", i == 3 ? 'i' : 'r'));
	if (i == 3)
		TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	else if (i == 2)
		TRY(send_frame(REQUEST, C, 1, NULL, 3));
	else if (i == 1)
		TRY(push("MPA ID Re", 9));
	shutdown(peer.fd, SHUT_WR);
	TRY(closed());
	return result("mpa=1 status=-104");
}

/* A FIN before all of the Private Data that PD_Length announces. */
static const char *private_data_cut_off(int role)
{
	uint8_t f[256];

	TRY(begin("role=%c", role));
	if (role == 'i')
		TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	TRY(push(f, make_frame(f, role == 'i' ? REPLY : REQUEST, C, 1, NULL, 100) - 1));
	shutdown(peer.fd, SHUT_WR);
	TRY(closed());
	return result(role == 'i' ? "events=REFUSED,CLOSED mpa=1 status=-104 pd=0"
				  : "events=CLOSED mpa=1 status=-104 pd=0");
}

static const char *reset_in_startup(int role)
{
	const struct linger linger = { .l_onoff = 1 };

	TRY(begin("role=%c", role));
	if (role == 'i')
		TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	TRY(push("MPA ID Re", 9));
	setsockopt(peer.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	return result("mpa=1 status=-104");
}

const struct test_case order_cases[] = {
	{ "responder-waits", responder_waits, 0 },
	{ "initiator-waits", initiator_waits, 0 },
	{ "responder-never-speaks", responder_never_speaks, 0 },
	{ "fpdu-with-request", glued_request, 0 },
	{ "fpdu-before-reply", glued_request, 1 },
	{ "fpdu-with-reply", glued_reply, 0 },
	{ "fpdu-with-reply-reviewed", glued_reply, 1 },
	{ "garbage-with-reply", glued_garbage, 0 },
	{ "responder-sends-first", responder_sends_first, 0 },
	{ "responder-sends-first-p2p", responder_sends_first, 1 },
	{ "responder-sends-later", responder_sends_later, 0 },
	{ "responder-sends-later-leaves", responder_sends_later, 1 },
	{ "responder-hears-first", responder_hears_first, 0 },
	{ "timeout-responder", times_out, 0 },
	{ "timeout-initiator", times_out, 1 },
	{ "timeout-half-responder", times_out, 2 },
	{ "timeout-half-initiator", times_out, 3 },
	{ "timeout-slow-responder", slow, 'r' },
	{ "timeout-slow-initiator", slow, 'i' },
	{ "idle-before", idle_before, 0 },
	{ "fin-responder", early_fin, 0 },
	{ "fin-half-request", early_fin, 1 },
	{ "fin-while-deciding", early_fin, 2 },
	{ "fin-initiator", early_fin, 3 },
	{ "fin-private-data-responder", private_data_cut_off, 'r' },
	{ "fin-private-data-initiator", private_data_cut_off, 'i' },
	{ "reset-responder", reset_in_startup, 'r' },
	{ "reset-initiator", reset_in_startup, 'i' },
	{},
};
