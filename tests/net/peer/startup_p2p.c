// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of startup.c about the peer-to-peer model: the RTR indication (RFC 6581 section 9.2). */
#include "tests/net/peer/startup.h"

#define OFFERED (RTR_SEND | RTR_WRITE) /* the library's kinds, unless it is told otherwise */

/* The library is the Responder of a Request that offers `kinds` of RTR indications. */
static const char *ask(const char *options, int kinds)
{
	TRY(begin("role=r %s", options));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(1, kinds, 1, 1), 0));
	return expect_frame(REPLY, C | S, 2, enhanced(1, OFFERED, 0, 0), 0);
}

/* An indication by Send consumes an MSN but no buffer, one by Write neither; a Read is for the ULP. */
static const char *rtr_responder(int kind)
{
	uint8_t f[128], sent[128];
	uint32_t msn = 1;

	TRY(begin("role=r send=50 rtr=%d", kind == RTR_READ ? 7 : 0));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(1, kind, 1, 1), 0));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(1, kind == RTR_READ ? 7 : OFFERED, 0, 0), 0));
	TRY(silent(30));
	if (kind == RTR_SEND)
		TRY(push(sent, untagged(sent, 0x43, 0, msn++, 0)));
	else if (kind == RTR_WRITE)
		TRY(push(sent, tagged(sent, 0, 0)));
	else
		TRY(push(sent, untagged(sent, 0x41, 1, 1, 28)));
	/* The Responder is ready, and sends its message. */
	TRY(expect_message(1, 50));
	TRY(push(f, untagged(f, 0x43, 0, msn, 64)));
	if (kind == RTR_READ)
		return clean_end("events=REQUEST,CONNECTED,CLOSED p2p=1 untagged=2 msn=1 fpdus=2");
	return clean_end(kind == RTR_SEND
				 ? "events=REQUEST,CONNECTED,CLOSED p2p=1 untagged=1 msn=2 fpdus=2"
				 : "events=REQUEST,CONNECTED,CLOSED p2p=1 untagged=1 msn=1 "
				   "fpdus=2");
}

/* The ULP's queues begin with another MSN than 1: the indication is the first message of its queue. */
static const char *rtr_first_msn(int unused)
{
	uint8_t f[128];

	(void)unused;
	TRY(ask("first=7", RTR_SEND));
	TRY(push(f, untagged(f, 0x43, 0, 7, 0)));
	TRY(push(f, untagged(f, 0x43, 0, 8, 64)));
	return clean_end("events=REQUEST,CONNECTED,CLOSED p2p=1 untagged=1 msn=8 fpdus=2");
}

/* The indication takes the direct path, too, if it is a segment of its own. */
static const char *rtr_then_stream(int unused)
{
	uint8_t f[64];

	(void)unused;
	TRY(begin("role=r markers=1"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(1, 7, 1, 1), 0));
	TRY(expect_frame(REPLY, C | M | S, 2, enhanced(1, OFFERED, 0, 0), 0));
	agree(C, C | M);
	TRY(push(f, tagged(f, 0, 0)));
	return stream_end("events=REQUEST,CONNECTED,CLOSED fpdus=21");
}

static const char *rtr_missing(int i)
{
	uint8_t f[64], u[64];

	TRY(ask(i ? "" : "timeout=400", 7));
	if (!i) {
		TRY(closed());
		return result("events=REQUEST,CLOSED mpa=4 status=-110");
	}
	/* Not an indication: payload, another MSN, a kind that was not offered, or what RDMAP does not know. */
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

/* The Initiator sends a Terminate instead: it is passed to the ULP. */
static const char *rtr_terminate(int unused)
{
	uint8_t f[64];

	(void)unused;
	TRY(ask("", RTR_READ));
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

/* Without A, the receiver ignores B, C and D. */
static const char *rtr_without_a(int unused)
{
	(void)unused;
	TRY(begin("role=r ird=2 ord=2"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 7, 2, 2), 0));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(0, 0, 2, 2), 0));
	return stream_end("p2p=0 ird=2 ord=2");
}

const struct test_case p2p_cases[] = {
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
	{},
};
