// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * MPA startup (RFC 5044 section 7, RFC 6581): a peer of plain sockets (lib/mpa.h) against the library
 * (startup_end.c), as Initiator and as Responder, with correct and with wrong frames.
 *
 *   startup ADDRESS CONTROL-PORT kernel|direct [CASE]
 *
 * Prints PASS or FAIL for each case. Exit codes: 0 all passed, 1 some failed, 2 usage.
 */
#include "tests/net/peer/startup.h"

#include <time.h>

#define FPDUS 20
#define CLEAN "status=0 error=0 mpa=0 ddp=0 bad=0 "

/* ---- Full Operation -------------------------------------------------------------------------- */

const char *send_stream(void)
{
	uint8_t f[2048];

	for (uint64_t i = 0; i < FPDUS; i++)
		TRY(push(f, tagged(f, i * OCTETS, OCTETS)));
	return NULL;
}

const char *clean_end(const char *want)
{
	char all[1024];

	TRY(half_close());
	TRY(closed());
	snprintf(all, sizeof(all), CLEAN "%s%s%s", peer.direct ? "no_direct=0" : "no_direct=1",
		 want[0] ? " " : "", want);
	return result(all);
}

const char *stream_end(const char *want)
{
	char all[512];

	TRY(send_stream());
	snprintf(all, sizeof(all), "tagged=20000 %s %s",
		 peer.direct ? "kernel=0 went=1" : "direct=0 went=0", want);
	return clean_end(all);
}

void agree(uint8_t ours, uint8_t theirs)
{
	peer.markers_in = ours & M;
	peer.markers_out = theirs & M;
	peer.crc = (ours | theirs) & C;
}

const char *refused(int role, const void *octets, size_t len, const char *status)
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

void wait_us(long us)
{
	const struct timespec ts = { .tv_nsec = us * 1000 };

	nanosleep(&ts, NULL);
}

/* ---- Markers and CRCs: every combination, both roles ----------------------------------------- */

static const char *combination_responder(int i)
{
	uint8_t ours = (uint8_t)((i & 1 ? M : 0) | (i & 2 ? C : 0));
	uint8_t theirs = (uint8_t)((i & 4 ? M : 0) | (i & 8 ? C : 0));
	char want[64];

	TRY(begin("role=r markers=%d nocrc=%d send=3000", !!(theirs & M), !(theirs & C)));
	TRY(send_frame(REQUEST, ours, 1, NULL, 0));
	/* A Responder that is asked for CRCs sets C in its Reply, too. */
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
	run_cases(frame_cases);
	run_cases(order_cases);
	run_cases(delayed_cases);
	run_cases(enhanced_cases);
	run_cases(p2p_cases);
	if (peer.direct)
		run_cases(enhanced_direct_cases);
	return failures > 0;
}
