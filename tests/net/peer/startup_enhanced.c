// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of startup.c about RFC 6581: depths of Reads, errors, and peers that know Rev 1 only. */
#include "tests/net/peer/startup.h"

#define ULP 0x3fff /* all ones: left to the ULPs */

/* ---- IRD and ORD (section 9.1) ------------------------------------------------------------------- */

struct depths {
	unsigned int own_ird, own_ord;	   /* of the library */
	unsigned int peer_ird, peer_ord;   /* in our frame */
	unsigned int reply_ird, reply_ord; /* the library's Reply */
	unsigned int ird, ord;		   /* what the library uses afterwards */
};

static const char *depths_responder(int i)
{
	static const struct depths all[] = {
		{ 10, 4, 5, 7, 10, 4, 10, 4 },	      /* both ends have enough */
		{ 10, 9, 5, 7, 10, 5, 10, 5 },	      /* ORD at most the Initiator's IRD */
		{ 3, 9, 0, 7, 3, 0, 3, 0 },	      /* the Responder's own IRD stays */
		{ 0, 0, 16, 16, 0, 0, 0, 0 },	      /* without Reads, the default */
		{ 10, 4, ULP, ULP, ULP, ULP, 10, 4 }, /* left to the ULPs: unchanged */
		{ 10, 4, 2, ULP, ULP, 2, 10, 2 },     { 10, 4, ULP, 2, 10, ULP, 10, 4 },
	};
	const struct depths *d = &all[i];
	char want[128];

	TRY(begin("role=r ird=%u ord=%u apd=508", d->own_ird, d->own_ord));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, d->peer_ird, d->peer_ord), 508));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(0, 0, d->reply_ird, d->reply_ord), 508));
	snprintf(want, sizeof(want),
		 "enhanced=1 rev=2 p2p=0 ird=%u ord=%u pird=%u pord=%u pd=508 pdbad=0", d->ird,
		 d->ord, d->peer_ird, d->peer_ord);
	return stream_end(want);
}

static const char *depths_initiator(int i)
{
	static const struct depths all[] = {
		{ 3, 5, 8, 3, 0, 0, 3, 5 },
		{ 3, 5, 2, 1, 0, 0, 3, 2 }, /* ORD at most the Responder's IRD */
		{ 3, 5, ULP, 0, 0, 0, 3, 5 },
		{ 3, 5, 5, ULP, 0, 0, 3, 5 },
		{ ULP, ULP, ULP, ULP, 0, 0, ULP, ULP },
		{ 0, 0, 9, 0, 0, 0, 0, 0 }, /* with the option `enhanced` alone */
	};
	const struct depths *d = &all[i];
	uint8_t f[64];
	char want[128];

	TRY(begin("role=i ird=%u ord=%u enhanced=1 pd=508 send=1", d->own_ird, d->own_ord));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(0, 0, d->own_ird, d->own_ord), 508));
	TRY(send_frame(REPLY, C | S, 2, enhanced(0, 0, d->peer_ird, d->peer_ord), 508));
	TRY(expect_message(1, 1));
	TRY(push(f, tagged(f, 0, 1)));
	snprintf(want, sizeof(want), "enhanced=1 rev=2 p2p=0 ird=%u ord=%u pird=%u pord=%u pd=508",
		 d->ird, d->ord, d->peer_ird, d->peer_ord);
	return clean_end(want);
}

/* The ULP needs more than the Initiator's IRD: the rejection says how much. */
static const char *depths_rejected_by_responder(int unused)
{
	(void)unused;
	TRY(begin("role=r answer=reject setird=6 setord=12 take=1"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, 4, 4), 0));
	TRY(expect_frame(REPLY, C | R | S, 2, enhanced(0, 0, 6, 12), 0));
	return talk_on("events=REQUEST,CLOSED status=-111 mpa=0 pird=4 pord=4 taken=ping");
}

static const char *depths_rejected_by_peer(int unused)
{
	(void)unused;
	TRY(begin("role=i ird=4 ord=4 take=1"));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(0, 0, 4, 4), 0));
	TRY(send_frame(REPLY, C | R | S, 2, enhanced(0, 0, 6, 12), 30));
	return talk_on("events=REFUSED,CLOSED status=-111 mpa=0 pird=6 pord=12 pd=30 pdbad=0 "
		       "taken=ping");
}

/* A Terminate with layer LLP and type MPA, and then the end (RFC 6581 section 8; RFC 5040 section 4.8). */
static const char *expect_last_word(uint8_t code, uint8_t msn)
{
	const uint8_t header[18] = { 0x41, 0x47, [9] = 2, [13] = msn };
	struct fpdu f;

	TRY(pull_fpdu(&f));
	CHECK(f.len == 22 && !memcmp(f.ulpdu, header, 18), "%u octets", f.len);
	CHECK(f.ulpdu[18] == 0x20 && f.ulpdu[19] == code && !f.ulpdu[20] && !f.ulpdu[21], "code %u",
	      f.ulpdu[19]);
	return closed_orderly();
}

const char *expect_terminate(uint8_t code, const char *status)
{
	char want[128];

	TRY(expect_last_word(code, 1));
	snprintf(want, sizeof(want), "events=REFUSED,CLOSED mpa=%u status=%s", code, status);
	return result(want);
}

static const char *insufficient_ird(int markers)
{
	TRY(begin("role=i ird=3 ord=5"));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(0, 0, 3, 5), 0));
	TRY(send_frame(REPLY, (uint8_t)(C | S | (markers ? M : 0)), 2, enhanced(0, 0, 5, 4), 0));
	agree(markers ? C | M : C, C);
	return expect_terminate(6, "-105");
}

/* The option for the first MSN applies to the Terminate's queue, too. */
static const char *insufficient_ird_first_msn(int unused)
{
	(void)unused;
	TRY(begin("role=i ird=3 ord=5 first=9"));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(0, 0, 3, 5), 0));
	TRY(send_frame(REPLY, C | S, 2, enhanced(0, 0, 5, 4), 0));
	TRY(expect_last_word(6, 9));
	return result("events=REFUSED,CLOSED mpa=6 status=-105");
}

/* ---- errors at the library's end (section 9.3) --------------------------------------------------- */

/*
 * The application demands the direct path, and there is none: the library sends a Terminate with code 5 before it
 * closes. A Responder may do so after the first FPDU (RFC 5044 section 7.1.2 rule 4), an RTR indication or a message.
 */
static const char *local_error_responder(int peer_to_peer)
{
	uint8_t f[64];

	TRY(begin("role=r must=1 drop=%d", peer.direct));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(peer_to_peer, peer_to_peer ? 7 : 0, 1, 1), 0));
	TRY(expect_frame(
		REPLY, C | S, 2,
		peer_to_peer ? enhanced(1, RTR_SEND | RTR_WRITE, 0, 0) : enhanced(0, 0, 0, 0), 0));
	TRY(silent(30));
	TRY(push(f, tagged(f, 0, peer_to_peer ? 0 : 10)));
	TRY(expect_last_word(5, 1));
	return result("events=REQUEST,CLOSED mpa=5 status=-95 tagged=0 fpdus=0");
}

/* A peer that sends nothing behind its Request, or closes: the connection ends with the same status. */
static const char *local_error_unheard(int leaves)
{
	TRY(begin("role=r must=1 drop=%d timeout=300", peer.direct));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, 1, 1), 0));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(0, 0, 0, 0), 0));
	if (leaves)
		TRY(half_close());
	TRY(closed());
	return result("events=REQUEST,CLOSED status=-95");
}

/* A peer that uses RFC 5044 alone gets no Terminate. */
static const char *local_error_rev_1(int unused)
{
	(void)unused;
	TRY(begin("role=r must=1 drop=%d", peer.direct));
	TRY(send_frame(REQUEST, C, 1, NULL, 0));
	TRY(closed());
	return result("events=REQUEST,CLOSED mpa=0 status=-95");
}

/* An Initiator finds the error when the Reply has come, and may send the Terminate at once. */
static const char *local_error_initiator(int review)
{
	TRY(begin("role=i must=1 drop=1 ird=1 ord=1%s", review ? " review=accept" : ""));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(0, 0, 1, 1), 0));
	TRY(send_frame(REPLY, C | S, 2, enhanced(0, 0, 1, 1), 0));
	TRY(expect_last_word(5, 1));
	return result(review ? "events=REPLY,REFUSED,CLOSED mpa=5 status=-95"
			     : "events=REFUSED,CLOSED mpa=5 status=-95");
}

/* ---- peers with and without RFC 6581 (section 10) ----------------------------------------------------------- */

static const char *enhanced_mismatch(int i)
{
	TRY(begin("role=i %s", i ? "ird=1" : "rev=2"));
	TRY(expect_frame(REQUEST, (uint8_t)(i ? C | S : C), 2, i ? enhanced(0, 0, 1, 0) : NULL, 0));
	TRY(send_frame(REPLY, (uint8_t)(i ? C : C | S), i == 2 ? 1 : 2,
		       i ? NULL : enhanced(0, 0, 0, 0), 0));
	TRY(closed());
	return result("events=REFUSED,CLOSED mpa=4 status=-71");
}

/* A peer that has begun to answer understood the Request: no second attempt with Rev 1. */
static const char *falls_back_not(int unused)
{
	(void)unused;
	TRY(begin("role=i ird=4 fallback=1"));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(0, 0, 4, 0), 0));
	TRY(push("MPA ID Re", 9));
	shutdown(peer.fd, SHUT_WR);
	TRY(closed());
	return result("events=REFUSED,CLOSED mpa=1 status=-104");
}

/* Rev 2 without RFC 6581's data is treated as Rev 1. */
static const char *revision_2_reply_to_1(int unused)
{
	(void)unused;
	TRY(begin("role=i send=10"));
	TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	TRY(send_frame(REPLY, C, 2, NULL, 5));
	TRY(expect_message(1, 10));
	return stream_end("rev=2 enhanced=0 pd=5");
}

/* A Responder without RFC 6581 closes or resets; the Initiator connects again with Rev 1. */
static const char *falls_back(int reset)
{
	const struct linger linger = { .l_onoff = reset };
	int l;

	peer.keep_listening = true;
	TRY(begin("role=i rtr=3 ird=4 pd=50 fallback=1 send=10"));
	l = peer.listener;
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(1, 3, 4, 0), 50));
	setsockopt(peer.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(peer.fd);
	peer.fd = accept_from(l);
	close(l);
	TRY(expect_frame(REQUEST, C, 1, NULL, 50));
	TRY(send_frame(REPLY, C, 1, NULL, 0));
	TRY(expect_message(1, 10));
	return stream_end("events=CONNECTED,CLOSED rev=1 enhanced=0 p2p=0 ird=16383 ord=16383");
}

static const char *falls_back_once(int unused)
{
	int l;

	(void)unused;
	peer.keep_listening = true;
	TRY(begin("role=i ird=4 fallback=1"));
	l = peer.listener;
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(0, 0, 4, 0), 0));
	close(peer.fd);
	peer.fd = accept_from(l);
	TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	close(peer.fd);
	peer.fd = -1;
	TRY(result("events=REFUSED,CLOSED mpa=1 status=-104"));
	close(l);
	return NULL;
}

static const char *enhanced_too_short(int unused)
{
	uint8_t f[64];
	size_t len = make_frame(f, REQUEST, C | S, 2, NULL, 3);

	(void)unused;
	return refused('r', f, len, "-71");
}

static const char *enhanced_private_data_509(int unused)
{
	(void)unused;
	TRY(begin("role=r apd=509"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, 1, 1), 0));
	TRY(closed());
	return result("events=REQUEST,CLOSED answer=-22");
}

/* xiw_connect() and xiw_listen() refuse depths in Rev 1 or above 14 bits, too much Private Data, unknown numbers. */
static const char *options_refused(int i)
{
	static const char *const lines[] = { "i rev=1 ird=1", "i ird=0x4000", "i ird=1 pd=509",
					     "i rev=3",	      "i rtr=16",     "i pd=513",
					     "r rev=3",	      "r ord=0x4000", "r rtr=8" };

	TRY(begin("role=%s fails=1", lines[i]));
	return result("events= error=-22");
}

const struct test_case enhanced_cases[] = {
	{ "depths-responder", depths_responder, 0 },
	{ "depths-responder-ord-lowered", depths_responder, 1 },
	{ "depths-responder-no-ord", depths_responder, 2 },
	{ "depths-responder-default", depths_responder, 3 },
	{ "depths-responder-ulp", depths_responder, 4 },
	{ "depths-responder-ulp-ord", depths_responder, 5 },
	{ "depths-responder-ulp-ird", depths_responder, 6 },
	{ "depths-initiator", depths_initiator, 0 },
	{ "depths-initiator-ord-lowered", depths_initiator, 1 },
	{ "depths-initiator-ulp-ird", depths_initiator, 2 },
	{ "depths-initiator-ulp-ord", depths_initiator, 3 },
	{ "depths-initiator-ulp", depths_initiator, 4 },
	{ "depths-initiator-none", depths_initiator, 5 },
	{ "depths-rejected-by-responder", depths_rejected_by_responder, 0 },
	{ "depths-rejected-by-peer", depths_rejected_by_peer, 0 },
	{ "insufficient-ird", insufficient_ird, 0 },
	{ "insufficient-ird-markers", insufficient_ird, 1 },
	{ "insufficient-ird-first-msn", insufficient_ird_first_msn, 0 },
	{ "local-error-responder", local_error_responder, 0 },
	{ "local-error-responder-peer-to-peer", local_error_responder, 1 },
	{ "local-error-unheard", local_error_unheard, 0 },
	{ "local-error-peer-left", local_error_unheard, 1 },
	{ "local-error-rev-1", local_error_rev_1, 0 },
	{ "enhanced-unasked", enhanced_mismatch, 0 },
	{ "enhanced-unanswered", enhanced_mismatch, 1 },
	{ "enhanced-answered-by-1", enhanced_mismatch, 2 },
	{ "revision-2-reply-to-1", revision_2_reply_to_1, 0 },
	{ "falls-back-close", falls_back, 0 },
	{ "falls-back-reset", falls_back, 1 },
	{ "falls-back-once", falls_back_once, 0 },
	{ "falls-back-not", falls_back_not, 0 },
	{ "enhanced-too-short", enhanced_too_short, 0 },
	{ "enhanced-private-data-509", enhanced_private_data_509, 0 },
	{ "options-rev-1", options_refused, 0 },
	{ "options-ird", options_refused, 1 },
	{ "options-private-data-509", options_refused, 2 },
	{ "options-rev-3", options_refused, 3 },
	{ "options-rtr", options_refused, 4 },
	{ "options-private-data-513", options_refused, 5 },
	{ "options-responder-rev-3", options_refused, 6 },
	{ "options-responder-ord", options_refused, 7 },
	{ "options-responder-rtr", options_refused, 8 },
	{},
};

const struct test_case enhanced_direct_cases[] = {
	{ "local-error-initiator", local_error_initiator, 0 },
	{ "local-error-initiator-review", local_error_initiator, 1 },
	{},
};
