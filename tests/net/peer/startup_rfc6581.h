/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cases of startup.c that are about RFC 6581: Rev 2 with depths and the RTR indication. */
#ifndef XIW_TEST_NET_STARTUP_RFC6581_H
#define XIW_TEST_NET_STARTUP_RFC6581_H

#define ULP 0x3fff /* all ones: the ULPs see to it */

/* ---- IRD and ORD (section 9.1) ------------------------------------------------------------------- */

struct depths {
	unsigned int own_ird, own_ord;	   /* of the library */
	unsigned int peer_ird, peer_ord;   /* in our frame */
	unsigned int reply_ird, reply_ord; /* the library's Reply */
	unsigned int ird, ord;		   /* what it goes on with */
};

static const char *depths_responder(int i)
{
	static const struct depths all[] = {
		{ 10, 4, 5, 7, 10, 4, 10, 4 },	      /* all are satisfied */
		{ 10, 9, 5, 7, 10, 5, 10, 5 },	      /* ORD at most the Initiator's IRD */
		{ 3, 9, 0, 7, 3, 0, 3, 0 },	      /* our IRD is what it is */
		{ 0, 0, 16, 16, 0, 0, 0, 0 },	      /* by default a DDP endpoint reads nothing */
		{ 10, 4, ULP, ULP, ULP, ULP, 10, 4 }, /* not to be negotiated: unchanged */
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
		{ 0, 0, 9, 0, 0, 0, 0, 0 }, /* `enhanced` alone */
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

/* The ULP wants more than the Initiator's IRD: the Reject says how much. */
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

/* The last word: a Terminate message, layer LLP, type MPA (section 8; RFC 5040 section 4.8). */
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

static const char *expect_terminate(uint8_t code, const char *status)
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

/* The ULP's first MSN is that of the Terminate's queue, too. */
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
 * It was to be the direct path or none, and there is none: that is told, code 5, before the connection goes. A Responder has to
 * have had an FPDU (RFC 5044 section 7.1.2 rule 4), be it the indication or the first message.
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

/* A peer that says nothing behind its Request, or goes: it ends all the same, and for the same reason. */
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

/* Whom RFC 5044 alone binds is not told. */
static const char *local_error_rev_1(int unused)
{
	(void)unused;
	TRY(begin("role=r must=1 drop=%d", peer.direct));
	TRY(send_frame(REQUEST, C, 1, NULL, 0));
	TRY(closed());
	return result("events=REQUEST,CLOSED mpa=0 status=-95");
}

/* Found when the interface is open and the Reply is here; an Initiator may say so at once. */
static const char *local_error_initiator(int review)
{
	TRY(begin("role=i must=1 drop=1 ird=1 ord=1%s", review ? " review=accept" : ""));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(0, 0, 1, 1), 0));
	TRY(send_frame(REPLY, C | S, 2, enhanced(0, 0, 1, 1), 0));
	TRY(expect_last_word(5, 1));
	return result(review ? "events=REPLY,REFUSED,CLOSED mpa=5 status=-95"
			     : "events=REFUSED,CLOSED mpa=5 status=-95");
}

/* ---- peer to peer (section 9.2) ------------------------------------------------------------------ */

/* Send: its MSN is used, no buffer is; Write: neither; Read: the ULP's. `with`: an octet of payload. */
static const char *rtr_responder(int kind)
{
	uint8_t f[128], sent[128];
	uint32_t msn = 1;

	TRY(begin("role=r send=50 rtr=%d", kind == RTR_READ ? 7 : 0));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(1, kind, 1, 1), 0));
	TRY(expect_frame(REPLY, C | S, 2,
			 enhanced(1, kind == RTR_READ ? 7 : RTR_SEND | RTR_WRITE, 0, 0), 0));
	TRY(silent(30));
	if (kind == RTR_SEND)
		TRY(push(sent, untagged(sent, 0x43, 0, msn++, 0)));
	else if (kind == RTR_WRITE)
		TRY(push(sent, tagged(sent, 0, 0)));
	else
		TRY(push(sent, untagged(sent, 0x41, 1, 1, 28)));
	/* It is ready, and says what it had to say. */
	TRY(expect_message(1, 50));
	TRY(push(f, untagged(f, 0x43, 0, msn, 64)));
	if (kind == RTR_READ)
		return clean_end("events=REQUEST,CONNECTED,CLOSED p2p=1 untagged=2 msn=1 fpdus=2");
	return clean_end(kind == RTR_SEND
				 ? "events=REQUEST,CONNECTED,CLOSED p2p=1 untagged=1 msn=2 fpdus=2"
				 : "events=REQUEST,CONNECTED,CLOSED p2p=1 untagged=1 msn=1 "
				   "fpdus=2");
}

/* A ULP whose queues do not begin with MSN 1: the indication is the first message of its queue. */
static const char *rtr_first_msn(int unused)
{
	uint8_t f[128];

	(void)unused;
	TRY(begin("role=r first=7"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(1, RTR_SEND, 1, 1), 0));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(1, RTR_SEND | RTR_WRITE, 0, 0), 0));
	TRY(push(f, untagged(f, 0x43, 0, 7, 0)));
	TRY(push(f, untagged(f, 0x43, 0, 8, 64)));
	return clean_end("events=REQUEST,CONNECTED,CLOSED p2p=1 untagged=1 msn=8 fpdus=2");
}

/* The indication goes direct too, if it comes as a segment of its own. */
static const char *rtr_then_stream(int unused)
{
	uint8_t f[64];

	(void)unused;
	TRY(begin("role=r markers=1"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(1, 7, 1, 1), 0));
	TRY(expect_frame(REPLY, C | M | S, 2, enhanced(1, RTR_SEND | RTR_WRITE, 0, 0), 0));
	agree(C, C | M);
	TRY(push(f, tagged(f, 0, 0)));
	return stream_end("events=REQUEST,CONNECTED,CLOSED fpdus=21");
}

static const char *rtr_missing(int i)
{
	uint8_t f[64], u[64];

	TRY(begin("role=r timeout=%d", i ? 0 : 400));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(1, 7, 1, 1), 0));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(1, RTR_SEND | RTR_WRITE, 0, 0), 0));
	if (!i) {
		TRY(closed());
		return result("events=REQUEST,CLOSED mpa=4 status=-110");
	}
	/* Something else comes first: payload, another queue, another MSN, a kind not offered; and what RDMAP knows not. */
	TRY(push(f, i == 1   ? tagged(f, 0, 1)
		    : i == 2 ? untagged(f, 0x43, 0, 1, 1)
		    : i == 3 ? untagged(f, 0x43, 0, 2, 0)
		    : i == 4 ? untagged(f, 0x41, 1, 1, 28)
		    : i == 5 ? untagged(f, 0x83, 0, 1, 0)
		    : i == 6 ? untagged(f, 0x44, 0, 1, 0)
		    : i == 7 ? untagged(f, 0x07, 2, 1, 4)
			     : make_fpdu(f, u,
					 make_tagged(u, LAST | DV, i == 8 ? 0x00 : 0x42, 0, 0, 0,
						     0))));
	TRY(closed());
	return result("events=REQUEST,ERROR,CLOSED mpa=7 status=-71 tagged=0 untagged=0");
}

/* The Initiator has told why it goes: that is for the ULP. */
static const char *rtr_terminate(int unused)
{
	uint8_t f[64];

	(void)unused;
	TRY(begin("role=r"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(1, RTR_READ, 1, 1), 0));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(1, RTR_SEND | RTR_WRITE, 0, 0), 0));
	TRY(push(f, untagged(f, 0x47, 2, 1, 4)));
	return clean_end("events=REQUEST,CLOSED untagged=1");
}

static const char *rtr_initiator(int i)
{
	static const struct {
		int own, peer, chosen;
	} all[] = {
		{ 3, 7, RTR_WRITE },
		{ 3, 1, RTR_SEND },
		{ 1, 7, RTR_SEND },
		{ 7, 3, RTR_WRITE },
	};
	static const uint8_t send_header[18] = { 0x41, 0x43, [13] = 1 };
	static const uint8_t write_header[14] = { 0xc1, 0x40 };
	bool is_send = all[i].chosen == RTR_SEND;
	char want[128];
	struct fpdu f;

	TRY(begin("role=i rtr=%d send=70 markers=%d", all[i].own, i & 1));
	TRY(expect_frame(REQUEST, (uint8_t)(C | S | (i & 1 ? M : 0)), 2,
			 enhanced(1, all[i].own, 0, 0), 0));
	TRY(send_frame(REPLY, C | S | M, 2, enhanced(1, all[i].peer, 0, 0), 0));
	agree(C | M, i & 1 ? C | M : C);
	TRY(pull_fpdu(&f));
	if (is_send)
		CHECK(f.len == 18 && !memcmp(f.ulpdu, send_header, 18), "%u octets", f.len);
	else
		CHECK(f.len == 14 && !memcmp(f.ulpdu, write_header, 14), "%u octets", f.len);
	TRY(expect_message(is_send ? 2 : 1, 70));
	snprintf(want, sizeof(want), "events=CONNECTED,CLOSED p2p=1 rtr=%d", all[i].chosen);
	return stream_end(want);
}

/* No kind in common, or another connection model than was asked for. */
static const char *rtr_no_match(int i)
{
	TRY(begin("role=i rtr=%d ird=1", i == 2 ? 0 : 3));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(i != 2, i == 2 ? 0 : 3, 1, 0), 0));
	TRY(send_frame(REPLY, C | S, 2,
		       i == 0	? enhanced(1, RTR_READ, 0, 0)
		       : i == 1 ? enhanced(0, 0, 0, 0)
				: enhanced(1, 7, 0, 0),
		       0));
	return expect_terminate(7, "-95");
}

/* Without A the others are not looked at. */
static const char *rtr_without_a(int unused)
{
	(void)unused;
	TRY(begin("role=r ird=2 ord=2"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 7, 2, 2), 0));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(0, 0, 2, 2), 0));
	return stream_end("p2p=0 ird=2 ord=2");
}

/* ---- enhanced and not (section 10) --------------------------------------------------------------- */

static const char *enhanced_mismatch(int i)
{
	TRY(begin("role=i %s", i ? "ird=1" : "rev=2"));
	TRY(expect_frame(REQUEST, (uint8_t)(i ? C | S : C), 2, i ? enhanced(0, 0, 1, 0) : NULL, 0));
	TRY(send_frame(REPLY, (uint8_t)(i ? C : C | S), i == 2 ? 1 : 2,
		       i ? NULL : enhanced(0, 0, 0, 0), 0));
	TRY(closed());
	return result("events=REFUSED,CLOSED mpa=4 status=-71");
}

/* What has begun to answer knows what it was asked. */
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

/* Rev 2 without RFC 6581's data is Rev 1 in all but its number. */
static const char *revision_2_reply_to_1(int unused)
{
	(void)unused;
	TRY(begin("role=i send=10"));
	TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	TRY(send_frame(REPLY, C, 2, NULL, 5));
	TRY(expect_message(1, 10));
	return stream_end("rev=2 enhanced=0 pd=5");
}

/* A Responder without RFC 6581 closes, in one way or the other; the Initiator comes again with Rev 1. */
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

/* Refused by xiw_connect() and xiw_listen(): Rev 1 cannot say it; not 14 bits; no room; no such revision. */
static const char *options_refused(int i)
{
	static const char *const lines[] = { "i rev=1 ird=1", "i ird=0x4000", "i ird=1 pd=509",
					     "i rev=3",	      "i rtr=8",      "i pd=513",
					     "r rev=3",	      "r ord=0x4000", "r rtr=8" };

	TRY(begin("role=%s fails=1", lines[i]));
	return result("events= error=-22");
}

static const struct startup_case rfc6581_cases[] = {
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
	{ "rtr-send-responder", rtr_responder, RTR_SEND },
	{ "rtr-write-responder", rtr_responder, RTR_WRITE },
	{ "rtr-read-responder", rtr_responder, RTR_READ },
	{ "rtr-first-msn", rtr_first_msn, 0 },
	{ "rtr-then-stream", rtr_then_stream, 0 },
	{ "rtr-timeout", rtr_missing, 0 },
	{ "rtr-is-tagged-payload", rtr_missing, 1 },
	{ "rtr-is-untagged-payload", rtr_missing, 2 },
	{ "rtr-is-wrong-msn", rtr_missing, 3 },
	{ "rtr-is-not-offered", rtr_missing, 4 },
	{ "rtr-is-wrong-version", rtr_missing, 5 },
	{ "rtr-is-wrong-send", rtr_missing, 6 },
	{ "rtr-is-wrong-terminate", rtr_missing, 7 },
	{ "rtr-is-wrong-version-tagged", rtr_missing, 8 },
	{ "rtr-is-read-response", rtr_missing, 9 },
	{ "rtr-is-terminate", rtr_terminate, 0 },
	{ "rtr-write-initiator", rtr_initiator, 0 },
	{ "rtr-send-initiator", rtr_initiator, 1 },
	{ "rtr-send-only-initiator", rtr_initiator, 2 },
	{ "rtr-all-initiator", rtr_initiator, 3 },
	{ "rtr-none-in-common", rtr_no_match, 0 },
	{ "rtr-not-peer-to-peer", rtr_no_match, 1 },
	{ "rtr-not-asked-for", rtr_no_match, 2 },
	{ "rtr-without-a", rtr_without_a, 0 },
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
};

static const struct startup_case rfc6581_direct_cases[] = {
	{ "local-error-initiator", local_error_initiator, 0 },
	{ "local-error-initiator-review", local_error_initiator, 1 },
};

#endif
