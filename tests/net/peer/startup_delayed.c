// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of startup.c in which the TCP connection outlives MPA startup, or existed before it. */
#include "tests/net/peer/startup.h"

/* ---- rejection: MPA is left, the TCP connection is not (rules 2 and 3) ----------------------- */

const char *talk_on(const char *want)
{
	char pong[4];

	TRY(push("ping", 4));
	TRY(pull(pong, 4));
	CHECK(!memcmp(pong, "pong", 4), "after the rejection");
	TRY(closed_orderly());
	return result(want);
}

static const char *reject_responder(int len)
{
	TRY(begin("role=r answer=reject apd=%d take=1", len));
	TRY(send_frame(REQUEST, C, 1, NULL, 4));
	TRY(expect_frame(REPLY, C | R, 1, NULL, (size_t)len));
	return talk_on("events=REQUEST,CLOSED status=-111 mpa=0 rejected=1 pd=4 taken=ping");
}

static const char *reject_initiator(int len)
{
	char want[128];

	TRY(begin("role=i take=1"));
	TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	TRY(send_frame(REPLY, C | R, 1, NULL, (size_t)len));
	snprintf(want, sizeof(want),
		 "events=REFUSED,CLOSED status=-111 mpa=0 rejected=1 pd=%d pdbad=0 taken=ping",
		 len);
	return talk_on(want);
}

/* Octets right behind a rejection are for the application, not for MPA. */
static const char *reject_glued(int unused)
{
	uint8_t f[64];
	size_t len = make_frame(f, REPLY, C | R, 1, NULL, 3);
	char pong[4];

	(void)unused;
	TRY(begin("role=i take=1"));
	TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	memcpy(f + len, "instead", 7);
	TRY(push(f, len + 7));
	TRY(pull(pong, 4));
	return result("events=REFUSED,CLOSED status=-111 mpa=0 pd=3 pdbad=0 taken=instead");
}

/* The Initiator's application looks at the Private Data, and accepts or rejects it. */
static const char *review(int accept)
{
	TRY(begin("role=i review=%s hold=1 send=1 take=%d", accept ? "accept" : "reject", !accept));
	TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	TRY(send_frame(REPLY, C, 1, NULL, 9));
	TRY(silent(30));
	TRY(decide_now());
	if (!accept)
		return talk_on("events=REPLY,REFUSED,CLOSED status=-111 mpa=0 rejected=1 pd=9 "
			       "taken=ping");
	TRY(expect_message(1, 1));
	return stream_end("events=REPLY,CONNECTED,CLOSED pd=9 pdbad=0");
}

/* ---- delayed startup (section 7.1.3) ------------------------------------------------------------- */

static const char *expect_streaming(size_t len)
{
	uint8_t in[4096];

	for (size_t i = 0; i < len;) {
		size_t n = len - i < sizeof(in) ? len - i : sizeof(in);

		TRY(pull(in, n));
		for (size_t k = 0; k < n; k++, i++)
			CHECK(in[k] == octet(i), "octet %zu of the last streaming message", i);
	}
	return NULL;
}

/*
 * Bits 0 and 1 of `i` say how much of the frame comes with the last streaming data: nothing, a part, all. With bit 2
 * the application reads everything that has come and passes it on, else it leaves that in the socket.
 */
static const char *upgrade_responder(int i)
{
	uint8_t f[512] = "hello";
	size_t len = 5 + make_frame(f + 5, REQUEST, C | M, 1, NULL, 100), first = 5;

	if (i & 1)
		first = 5 + 37;
	else if (i & 2)
		first = len;
	TRY(begin("role=r upgrade=1 stream=5 greedy=%d last=300 markers=1", !!(i & 4)));
	TRY(push(f, first));
	TRY(expect_streaming(300));
	if (first < len)
		TRY(push(f + first, len - first));
	TRY(expect_frame(REPLY, C | M, 1, NULL, 0));
	agree(C | M, C | M);
	return stream_end("events=REQUEST,CONNECTED,CLOSED pd=100 pdbad=0");
}

/* The Initiator is the TCP server. With `last` it sends a last streaming message. */
static const char *upgrade_initiator(int last)
{
	TRY(begin("role=i upgrade=1 stream=2000 last=%d pd=20 send=5000 markers=1", last));
	for (int i = 0; i < 20; i++) {
		TRY(push("streaming data, 100 octets at a time, as any application may exchange "
			 "before it "
			 "knows that it wants MPA",
			 100));
		wait_us(500);
	}
	TRY(expect_streaming((size_t)last));
	TRY(expect_frame(REQUEST, C | M, 1, NULL, 20));
	TRY(send_frame(REPLY, C, 1, NULL, 0));
	agree(C, C | M);
	TRY(expect_message(1, 5000));
	return stream_end("events=CONNECTED,CLOSED");
}

/* The application passes on octets that no MPA frame begins with. */
static const char *upgrade_prefix_wrong(int role)
{
	uint8_t f[64] = "hello";
	size_t len = 5 + make_frame(f + 5, REQUEST, C, 1, NULL, 0);

	f[5 + 3] ^= role == 'r' ? 1 : 0; /* for an Initiator even a correct Request is wrong */
	TRY(begin("role=%c upgrade=1 stream=5 greedy=1", role));
	TRY(push(f, len));
	while (recv(peer.fd, f, sizeof(f), 0) > 0)
		; /* the library's Request may have come */
	return result(role == 'r' ? "events=CLOSED mpa=4 status=-71"
				  : "events=REFUSED,CLOSED mpa=4 status=-91");
}

/*
 * The application passes on an FPDU behind the Request, where none is allowed; or behind a Reply that came before the
 * Request was sent. Nobody takes its octets, so the stream could not go on behind them.
 */
static const char *upgrade_prefix_surplus(int role)
{
	uint8_t f[256] = "hello";
	size_t len = 5 + make_frame(f + 5, role == 'r' ? REQUEST : REPLY, C, 1, NULL, 0);

	len += tagged(f + len, 0, 100);
	TRY(begin("role=%c upgrade=1 stream=5 greedy=1", role));
	TRY(push(f, len));
	while (recv(peer.fd, f, sizeof(f), 0) > 0)
		; /* the library's Request may have come */
	return result(role == 'r' ? "events=REQUEST,CLOSED mpa=4 status=-71 tagged=0"
				  : "events=REFUSED,CLOSED mpa=4 status=-71 tagged=0");
}

static const char *upgrade_rejected(int unused)
{
	(void)unused;
	TRY(begin("role=r upgrade=1 stream=5 answer=reject apd=9 take=1"));
	TRY(push("hello", 5));
	TRY(send_frame(REQUEST, C, 1, NULL, 0));
	TRY(expect_frame(REPLY, C | R, 1, NULL, 9));
	return talk_on("events=REQUEST,CLOSED status=-111 mpa=0 taken=ping");
}

/* A second Request on the same TCP connection, after a rejection. */
static const char *rejected_then_accepted(int unused)
{
	(void)unused;
	TRY(begin("role=r answer=reject apd=3 take=2"));
	TRY(send_frame(REQUEST, C, 1, NULL, 1));
	TRY(expect_frame(REPLY, C | R, 1, NULL, 3));
	TRY(send_frame(REQUEST, C, 1, NULL, 2));
	TRY(expect_frame(REPLY, C, 1, NULL, 3));
	return stream_end("events=REQUEST,CLOSED,REQUEST,CONNECTED,CLOSED pd=2");
}

const struct test_case delayed_cases[] = {
	{ "reject-0-responder", reject_responder, 0 },
	{ "reject-512-responder", reject_responder, 512 },
	{ "reject-0-initiator", reject_initiator, 0 },
	{ "reject-512-initiator", reject_initiator, 512 },
	{ "reject-and-more", reject_glued, 0 },
	{ "review-reject", review, 0 },
	{ "review-accept", review, 1 },
	{ "upgrade-responder", upgrade_responder, 0 },
	{ "upgrade-responder-part-unread", upgrade_responder, 1 },
	{ "upgrade-responder-all-unread", upgrade_responder, 2 },
	{ "upgrade-responder-part-in-hand", upgrade_responder, 5 },
	{ "upgrade-responder-all-in-hand", upgrade_responder, 6 },
	{ "upgrade-initiator", upgrade_initiator, 0 },
	{ "upgrade-initiator-last", upgrade_initiator, 300 },
	{ "upgrade-initiator-last-long", upgrade_initiator, 3000000 },
	{ "upgrade-prefix-wrong-responder", upgrade_prefix_wrong, 'r' },
	{ "upgrade-prefix-wrong-initiator", upgrade_prefix_wrong, 'i' },
	{ "upgrade-prefix-surplus-responder", upgrade_prefix_surplus, 'r' },
	{ "upgrade-prefix-surplus-initiator", upgrade_prefix_surplus, 'i' },
	{ "upgrade-rejected", upgrade_rejected, 0 },
	{ "rejected-then-accepted", rejected_then_accepted, 0 },
	{},
};
