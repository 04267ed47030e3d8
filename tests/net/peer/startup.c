// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * MPA startup as RFC 5044 section 7 and RFC 6581 have it: a peer by plain sockets (startup.h) against the
 * library (startup_end.c), as Initiator and as Responder, right and wrong in every way.
 *
 *   startup ADDRESS CONTROL-PORT kernel|direct [CASE]
 *
 * Prints PASS or FAIL for each case. Exit codes: 0 all passed, 1 not so, 2 usage.
 */
#include "tests/net/lib/startup.h"

#include <time.h>

#define FPDUS 20
#define OCTETS 1000
#define CLEAN "status=0 error=0 mpa=0 ddp=0 bad=0 "

/* ---- Full Operation ------------------------------------------------------------------------------ */

/* Our FPDUs, a segment each: a message of all. */
static const char *send_stream(void)
{
	uint8_t f[2048];

	for (uint64_t i = 0; i < FPDUS; i++)
		TRY(push(f, tagged(f, i * OCTETS, OCTETS)));
	return NULL;
}

/* All that was to come has come, and by the path that this run is about, from the first FPDU on. */
static const char *clean_end(const char *want)
{
	char all[1024];

	TRY(half_close());
	TRY(closed());
	snprintf(all, sizeof(all), CLEAN "%s%s%s", peer.direct ? "no_direct=0" : "no_direct=1",
		 want[0] ? " " : "", want);
	return result(all);
}

static const char *stream_end(const char *want)
{
	char all[512];

	TRY(send_stream());
	snprintf(all, sizeof(all), "tagged=20000 %s %s",
		 peer.direct ? "kernel=0 went=1" : "direct=0 went=0", want);
	return clean_end(all);
}

static void agree(uint8_t ours, uint8_t theirs)
{
	peer.markers_in = ours & M;
	peer.markers_out = theirs & M;
	peer.crc = (ours | theirs) & C;
}

/* ---- Markers and CRCs: every combination, both roles --------------------------------------------- */

static const char *combination_responder(int i)
{
	uint8_t ours = (uint8_t)((i & 1 ? M : 0) | (i & 2 ? C : 0));
	uint8_t theirs = (uint8_t)((i & 4 ? M : 0) | (i & 8 ? C : 0));
	char want[64];

	TRY(begin("role=r markers=%d nocrc=%d send=3000", !!(theirs & M), !(theirs & C)));
	TRY(send_frame(REQUEST, ours, 1, NULL, 0));
	/* A Responder that is asked for CRCs says so too. */
	TRY(expect_frame(REPLY, theirs | (ours & C), 1, NULL, 0));
	agree(ours, theirs);
	TRY(send_stream());
	TRY(expect_message(1, 3000));
	snprintf(want, sizeof(want), "tagged=20000 crc=%d in=%d out=%d %s", peer.crc,
		 !!(theirs & M), !!(ours & M), peer.direct ? "kernel=0 went=1" : "direct=0");
	return clean_end(want);
}

static const char *combination_initiator(int i)
{
	uint8_t ours = (uint8_t)((i & 1 ? M : 0) | (i & 2 ? C : 0));
	uint8_t theirs = (uint8_t)((i & 4 ? M : 0) | (i & 8 ? C : 0));
	char want[64];

	TRY(begin("role=i markers=%d nocrc=%d send=3000", !!(theirs & M), !(theirs & C)));
	TRY(expect_frame(REQUEST, theirs, 1, NULL, 0));
	TRY(send_frame(REPLY, ours, 1, NULL, 0));
	agree(ours, theirs);
	TRY(expect_message(1, 3000));
	snprintf(want, sizeof(want), "crc=%d in=%d out=%d", peer.crc, !!(theirs & M), !!(ours & M));
	return stream_end(want);
}

/* ---- the frames ---------------------------------------------------------------------------------- */

static const char *private_data_responder(int len)
{
	char want[64];

	TRY(begin("role=r apd=%d", 512 - len));
	TRY(send_frame(REQUEST, C, 1, NULL, (size_t)len));
	TRY(expect_frame(REPLY, C, 1, NULL, (size_t)(512 - len)));
	snprintf(want, sizeof(want), "pd=%d pdbad=0 rev=1", len);
	return stream_end(want);
}

static const char *private_data_initiator(int len)
{
	uint8_t f[64];
	char want[64];

	TRY(begin("role=i pd=%d send=1", 512 - len));
	TRY(expect_frame(REQUEST, C, 1, NULL, (size_t)(512 - len)));
	TRY(send_frame(REPLY, C, 1, NULL, (size_t)len));
	TRY(expect_message(1, 1));
	TRY(push(f, tagged(f, 0, 1)));
	snprintf(want, sizeof(want), "pd=%d pdbad=0 rev=1", len);
	return clean_end(want);
}

/* A frame that is to be refused: closed at once, error 4, no Reply. */
static const char *refused(int role, const void *octets, size_t len, const char *status)
{
	char want[128];

	TRY(begin("role=%c", role));
	if (role == 'i')
		TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	TRY(push(octets, len));
	TRY(closed());
	snprintf(want, sizeof(want), "events=%s mpa=4 status=%s",
		 role == 'i' ? "REFUSED,CLOSED" : "CLOSED", status);
	return result(want);
}

static const char *private_data_513(int role)
{
	uint8_t f[1024];
	size_t len = make_frame(f, role == 'i' ? REPLY : REQUEST, C, 1, NULL, 513);

	return refused(role, f, len, "-71");
}

static const char *revision_unknown(int i)
{
	static const uint8_t revs[] = { 0, 3, 255 };
	uint8_t f[64];
	size_t len = make_frame(f, i < 3 ? REQUEST : REPLY, C, revs[i % 3], NULL, 0);

	return refused(i < 3 ? 'r' : 'i', f, len, "-93");
}

static const char *wrong_key(int role)
{
	uint8_t f[64];
	size_t len = make_frame(f, role == 'i' ? REPLY : REQUEST, C, 1, NULL, 0);

	f[15] ^= 0x20;
	return refused(role, f, len, "-71");
}

/* Section 7.1.2 rule 8: a Request where a Reply is due, and the reverse. */
static const char *wrong_role(int role)
{
	uint8_t f[64];
	size_t len = make_frame(f, role == 'i' ? REQUEST : REPLY, C, 1, NULL, 0);

	return refused(role, f, len, "-91");
}

static const char *revision_2_plain(int unused)
{
	(void)unused;
	TRY(begin("role=r apd=512"));
	TRY(send_frame(REQUEST, C, 2, NULL, 512));
	TRY(expect_frame(REPLY, C, 2, NULL, 512));
	return stream_end("rev=2 enhanced=0 pd=512 pdbad=0");
}

/* An endpoint that is told not to know RFC 6581 (its section 10). */
static const char *revision_2_unwanted(int unused)
{
	(void)unused;
	TRY(begin("role=r rev=1"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, 1, 1), 0));
	TRY(closed());
	return result("events=CLOSED mpa=4 status=-93 rev=2");
}

/* Res, and R in a Request, are not looked at; nor is S in Rev 1, where it is part of Res. */
static const char *reserved_bits(int unused)
{
	(void)unused;
	TRY(begin("role=r"));
	TRY(send_frame(REQUEST, C | R | S | 0x0f, 1, NULL, 7));
	TRY(expect_frame(REPLY, C, 1, NULL, 0));
	return stream_end("pd=7 pdbad=0 enhanced=0");
}

static void pause_us(long us)
{
	const struct timespec ts = { .tv_nsec = us * 1000 };

	nanosleep(&ts, NULL);
}

/* Cut in two at every octet, and into single octets. */
static const char *split(int role)
{
	uint8_t f[64];
	size_t len =
		make_frame(f, role == 'i' ? REPLY : REQUEST, C | S, 2, enhanced(0, 0, 3, 3), 8);

	for (size_t cut = 0; cut < len; cut++) {
		TRY(begin("role=%c ird=3 ord=3 send=%d", role, role == 'i'));
		if (role == 'i')
			TRY(expect_frame(REQUEST, C | S, 2, enhanced(0, 0, 3, 3), 0));
		for (size_t i = 0; i < len && !cut; i++) {
			TRY(push(f + i, 1));
			pause_us(200);
		}
		if (cut) {
			TRY(push(f, cut));
			pause_us(2000);
			TRY(push(f + cut, len - cut));
		}
		if (role == 'r')
			TRY(expect_frame(REPLY, C | S, 2, enhanced(0, 0, 3, 3), 0));
		else
			TRY(expect_message(1, 1)); /* rule 4: before that nothing may be sent */
		TRY(stream_end("pd=8 pdbad=0"));
	}
	return NULL;
}

/* ---- order and time ------------------------------------------------------------------------------ */

/* Rule 4: a Responder with something to say says nothing until an FPDU has come. */
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

/* And an Initiator has the Reply first. */
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

/* If none comes, and the connection is closed, it is never said. */
static const char *responder_never_speaks(int unused)
{
	(void)unused;
	TRY(begin("role=r send=100"));
	TRY(send_frame(REQUEST, C, 1, NULL, 0));
	TRY(expect_frame(REPLY, C, 1, NULL, 0));
	return clean_end("events=REQUEST,CONNECTED,CLOSED");
}

/* No FPDU can be framed before the Reply has come: what is there is too much Private Data (rule 9). */
static const char *glued_request(int apart)
{
	uint8_t f[2048];
	size_t len = make_frame(f, REQUEST, C, 1, NULL, 0);

	TRY(begin("role=r hold=%d", apart));
	if (apart) {
		TRY(push(f, len));
		pause_us(20000);
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

/* Nor may a Responder send any before it has received one (rule 4). */
static const char *glued_reply(int unused)
{
	uint8_t f[2048];
	size_t len = make_frame(f, REPLY, C, 1, NULL, 0);

	(void)unused;
	TRY(begin("role=i"));
	TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	TRY(push(f, len + tagged(f + len, 0, OCTETS)));
	TRY(closed());
	return result("events=REFUSED,CLOSED mpa=4 status=-71 tagged=0");
}

/* Nothing comes, or half a frame: also two Responders. */
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

/* An octet now and then does not keep a connection waiting for the rest. */
static const char *slow(int role)
{
	uint8_t f[64];
	size_t len = make_frame(f, role == 'i' ? REPLY : REQUEST, C, 1, NULL, 0), n;

	TRY(begin("role=%c timeout=400", role));
	if (role == 'i')
		TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	for (n = 0; n < len && send(peer.fd, f + n, 1, MSG_NOSIGNAL) == 1; n++)
		pause_us(40000);
	CHECK(n < len);
	return result("mpa=4 status=-110");
}

/* The time begins with the connection, not when the engine last ran. */
static const char *idle_before(int unused)
{
	(void)unused;
	TRY(begin("role=i idle=700 timeout=600 send=1"));
	TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	TRY(send_frame(REPLY, C, 1, NULL, 0));
	TRY(expect_message(1, 1));
	return stream_end("events=CONNECTED,CLOSED");
}

/* FIN instead of a frame, within one, or while the application decides: error 1. */
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

/* Less Private Data than PD_Length says, and then the end. */
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

#include "tests/net/peer/startup_delayed.h"
#include "tests/net/peer/startup_rfc6581.h"

/* ---- all of them --------------------------------------------------------------------------------- */

static const struct startup_case cases[] = {
	{ "private-data-0-responder", private_data_responder, 0 },
	{ "private-data-1-responder", private_data_responder, 1 },
	{ "private-data-511-responder", private_data_responder, 511 },
	{ "private-data-512-responder", private_data_responder, 512 },
	{ "private-data-513-responder", private_data_513, 'r' },
	{ "private-data-0-initiator", private_data_initiator, 0 },
	{ "private-data-1-initiator", private_data_initiator, 1 },
	{ "private-data-511-initiator", private_data_initiator, 511 },
	{ "private-data-512-initiator", private_data_initiator, 512 },
	{ "private-data-513-initiator", private_data_513, 'i' },
	{ "revision-0-responder", revision_unknown, 0 },
	{ "revision-3-responder", revision_unknown, 1 },
	{ "revision-255-responder", revision_unknown, 2 },
	{ "revision-0-initiator", revision_unknown, 3 },
	{ "revision-3-initiator", revision_unknown, 4 },
	{ "revision-255-initiator", revision_unknown, 5 },
	{ "revision-2-plain", revision_2_plain, 0 },
	{ "revision-2-unwanted", revision_2_unwanted, 0 },
	{ "wrong-key-responder", wrong_key, 'r' },
	{ "wrong-key-initiator", wrong_key, 'i' },
	{ "initiator-initiator", wrong_role, 'i' },
	{ "reply-to-responder", wrong_role, 'r' },
	{ "reserved-bits", reserved_bits, 0 },
	{ "split-everywhere-responder", split, 'r' },
	{ "split-everywhere-initiator", split, 'i' },
	{ "responder-waits", responder_waits, 0 },
	{ "initiator-waits", initiator_waits, 0 },
	{ "responder-never-speaks", responder_never_speaks, 0 },
	{ "fpdu-with-request", glued_request, 0 },
	{ "fpdu-before-reply", glued_request, 1 },
	{ "fpdu-with-reply", glued_reply, 0 },
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
};

static void run_combinations(void)
{
	char name[64];

	for (int i = 0; i < 16; i++) {
		for (int role = 0; role < 2; role++) {
			snprintf(name, sizeof(name), "%s-peer%s%s-own%s%s",
				 role ? "initiator" : "responder", i & 1 ? "-markers" : "",
				 i & 2 ? "-crc" : "", i & 4 ? "-markers" : "", i & 8 ? "-crc" : "");
			run_case(name, role ? combination_initiator : combination_responder, i);
		}
	}
}

int main(int argc, char **argv)
{
	open_control(argc, argv);
	run_combinations();
	RUN_ALL(cases);
	RUN_ALL(delayed_cases);
	RUN_ALL(rfc6581_cases);
	if (peer.direct)
		RUN_ALL(rfc6581_direct_cases);
	return failures > 0;
}
