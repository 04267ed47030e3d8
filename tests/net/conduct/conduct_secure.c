// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RFC 5961: segments of an attacker who cannot see the connection, and their effect. */
#include <errno.h>

#include "tests/net/conduct/conduct.h"

/* ---- section 3: RST ------------------------------------------------------------------------------ */

static void rst_exact(struct peer *p)
{
	SEND(p, .seq = 0, .flags = RAW_RST);
	ends(p, -ECONNRESET);
}

static void rst_exact_after_gap(struct peer *p)
{
	SEND(p, .seq = FPDU, .len = FPDU);
	one(p);
	SEND(p, .seq = 0, .flags = RAW_RST | RAW_ACK);
	ends(p, -ECONNRESET);
	REQUIRE(p, p->app->messages == p->begun);
}

static void rst_in_window(struct peer *p)
{
	static const int32_t at[] = { 1, FPDU, 30000 };

	for (unsigned int i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		SEND(p, .seq = at[i], .flags = RAW_RST);
		one(p);
		REQUIRE(p, acked(p, &p->got[0]) == 0);
		pause_ms(1100); /* challenges are limited */
	}
	still_direct(p);
	goes_on(p);
}

/*
 * With out-of-order octets in the window. RFC 5961 demands exactly RCV.NXT; Linux also takes the end of those octets.
 */
static void rst_in_window_gap(struct peer *p)
{
	SEND(p, .seq = FPDU, .len = 3 * FPDU);
	one(p);
	SEND(p, .seq = 2 * FPDU, .flags = RAW_RST);
	answered(p);
	REQUIRE(p, p->n == 1 && acked(p, &p->got[0]) == 0);
	SEND(p, .seq = 0, .len = FPDU);
	one(p);
	p->nxt = 4 * FPDU;
	still_direct(p);
	goes_on(p);
}

/*
 * While the flow is DIRECT, the socket has its own window, as wide as its buffer. It may challenge a RST that lies a
 * little beyond the offered edge, instead of dropping it, which has no effect.
 */
static void rst_outside(struct peer *p)
{
	const int32_t at[] = { -1, -FPDU, edge(p) + (1 << 20), 1 << 30, INT32_MIN };

	for (unsigned int i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		SEND(p, .seq = at[i], .flags = RAW_RST);
		none(p);
	}
	still_direct(p);
	goes_on(p);
}

static void rst_bad_csum(struct peer *p)
{
	SEND(p, .seq = 0, .flags = RAW_RST, .bad_csum = true);
	none(p);
	SEND(p, .seq = 0, .flags = RAW_RST, .bad_ip_csum = true);
	if (!p->v6)
		none(p);
	goes_on(p);
}

/* ---- section 4: SYN ------------------------------------------------------------------------------ */

static void syn_in_window(struct peer *p)
{
	SEND(p, .seq = 0, .flags = RAW_SYN);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == 0);
	pause_ms(600);
	SEND(p, .seq = 5000, .flags = RAW_SYN);
	one(p);
	pause_ms(600);
	SEND(p, .seq = 0, .flags = RAW_SYN | RAW_ACK);
	one(p);
	still_direct(p);
	goes_on(p);
}

/* "irrespective of the sequence number" */
static void syn_outside(struct peer *p)
{
	const int32_t at[] = { -20000, edge(p) + 100, INT32_MIN };

	for (unsigned int i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		SEND(p, .seq = at[i], .flags = RAW_SYN);
		one(p);
		REQUIRE(p, acked(p, &p->got[0]) == 0);
		pause_ms(600);
	}
	still_direct(p);
	goes_on(p);
}

/* Data on it is not taken. */
static void syn_with_data(struct peer *p)
{
	SEND(p, .seq = -1, .len = FPDU, .flags = RAW_SYN | RAW_ACK, .evil = true);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == 0);
	pause_ms(600);
	SEND(p, .seq = 0, .len = FPDU, .flags = RAW_SYN | RAW_ACK, .evil = true);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == 0);
	still_direct(p);
	goes_on(p);
}

/* A peer that has restarted answers the challenge to its SYN by a RST: RFC 9293 section 3.5.1. */
static void syn_of_restarted_peer(struct peer *p)
{
	SEND(p, .seq = -40000, .flags = RAW_SYN);
	one(p);
	SEND(p, .seq = acked(p, &p->got[0]), .flags = RAW_RST);
	ends(p, -ECONNRESET);
}

/* ---- section 5: ACK ------------------------------------------------------------------------------ */

/*
 * Section 5.2: "MUST be discarded and an ACK sent back". The stream goes on in between, because such segments make a
 * stream that stands still leave the direct path.
 */
static void ack_too_new(struct peer *p)
{
	static const int32_t ack[] = { 1, 1000, 1 << 30 };

	for (unsigned int i = 0; i < sizeof(ack) / sizeof(ack[0]); i++) {
		SEND(p, .seq = p->nxt, .len = FPDU, .ack = ack[i], .evil = true);
		one(p);
		REQUIRE(p, acked(p, &p->got[0]) == p->nxt);
		pause_ms(1100);
		still_direct(p);
		goes_on(p);
	}
}

/*
 * The peer's windows were never above 65535, so that an ACK further back is too old. Linux does not check segments in
 * order (header prediction) and takes them: for Linux these are out of order.
 */
static void ack_too_old(struct peer *p)
{
	static const int32_t ack[] = { -65536, -100000, INT32_MIN / 2 };

	for (unsigned int i = 0; i < sizeof(ack) / sizeof(ack[0]); i++) {
		SEND(p, .seq = p->nxt + (p->direct ? 0 : FPDU), .len = FPDU, .ack = ack[i],
		     .evil = true);
		one(p);
		REQUIRE(p, acked(p, &p->got[0]) == p->nxt && !p->got[0].nsack);
		pause_ms(1100);
		still_direct(p);
		goes_on(p);
	}
}

static void ack_old(struct peer *p)
{
	static const int32_t ack[] = { -1, -10, -20 };

	for (unsigned int i = 0; i < sizeof(ack) / sizeof(ack[0]); i++) {
		SEND(p, .seq = p->nxt, .len = FPDU, .ack = ack[i]);
		p->nxt += FPDU;
		quietly(p);
		caught_up(p);
	}
	still_direct(p);
	goes_on(p);
}

static void ack_too_new_pure(struct peer *p)
{
	SEND(p, .seq = 0, .ack = 1);
	answers(p);
	SEND(p, .seq = 0, .ack = 1 << 30);
	answers(p);
	still_direct(p);
	goes_on(p);
}

static void ack_too_old_pure(struct peer *p)
{
	/* Linux takes its timestamp (header prediction), but the direct path does not learn of it. */
	SEND(p, .seq = 0, .ack = -100000);
	answered(p);
	REQUIRE(p, p->n == 1);
	still_direct(p);
	goes_on(p);
}

/* ---- section 7: limits; RFC 9293 section 3.10.7.4 ------------------------------------------------- */

/* Forty at once: some, but not all, may be answered; and the connection goes on. */
static void limit(struct peer *p, const struct seg *s)
{
	peer_send(p, s);
	one(p);
	for (int i = 0; i < 40; i++)
		peer_send(p, s);
	quietly(p);
	REQUIRE(p, p->n <= 20);
	still_direct(p);
	goes_on(p);
}

static void limit_rst(struct peer *p)
{
	limit(p, &(struct seg){ .seq = 100, .flags = RAW_RST });
}

static void limit_syn(struct peer *p)
{
	limit(p, &(struct seg){ .seq = 100, .flags = RAW_SYN });
}

static void limit_ack(struct peer *p)
{
	limit(p, &(struct seg){ .seq = FPDU, .len = FPDU, .ack = -100000, .evil = true });
}

/* A FIN at a place where none can be. */
static void fin_outside(struct peer *p)
{
	SEND(p, .seq = edge(p) + 10, .flags = RAW_FIN | RAW_ACK);
	one(p);
	SEND(p, .seq = -FPDU, .flags = RAW_FIN | RAW_ACK);
	answers(p);
	SEND(p, .seq = 0, .flags = RAW_FIN | RAW_ACK, .ack = 1 << 30);
	quietly(p);
	still_direct(p);
	goes_on(p);
}

/*
 * When the direct path ends, a segment from far beyond the window is among the engine's frames. It is ignored: the
 * stream goes on, and returns to the direct path.
 */
static void blind_at_fall_back(struct peer *p)
{
	app_hangs = true;
	pause_ms(10);
	SEND(p, .seq = 0, .len = 100);
	SEND(p, .seq = 1 << 30, .len = FPDU, .evil = true);
	app_hangs = false;
	SEND(p, .seq = 100, .len = FPDU - 100);
	p->nxt = FPDU;
	quietly(p);
	caught_up(p);
	goes_on(p);
	go_direct(p);
	still_direct(p);
	goes_on(p);
}

const struct script conduct_secure[] = {
	{ "rfc5961-rst-exact", rst_exact, V46 },
	{ "rfc5961-rst-exact-wrap", rst_exact, WRAP },
	{ "rfc5961-rst-exact-after-gap", rst_exact_after_gap, 0 },
	{ "rfc5961-rst-in-window-challenge", rst_in_window, V46 },
	{ "rfc5961-rst-in-window-after-gap", rst_in_window_gap, 0 },
	{ "rfc5961-rst-outside-window", rst_outside, V46 },
	{ "rfc5961-rst-outside-window-wrap", rst_outside, WRAP },
	{ "rfc9293-rst-with-wrong-checksum", rst_bad_csum, 0 },
	{ "rfc5961-syn-in-window-challenge", syn_in_window, V46 },
	{ "rfc5961-syn-outside-window-challenge", syn_outside, V46 },
	{ "rfc5961-syn-with-data", syn_with_data, 0 },
	{ "rfc9293-syn-of-a-restarted-peer", syn_of_restarted_peer, 0 },
	{ "rfc5961-ack-too-new", ack_too_new, V46 },
	{ "rfc5961-ack-too-old", ack_too_old, V46 },
	{ "rfc5961-ack-old-but-acceptable", ack_old, 0 },
	{ "rfc5961-pure-ack-too-new", ack_too_new_pure, 0 },
	{ "rfc5961-pure-ack-too-old", ack_too_old_pure, 0 },
	{ "rfc5961-limit-rst", limit_rst, 0 },
	{ "rfc5961-limit-syn", limit_syn, 0 },
	{ "rfc5961-limit-ack", limit_ack, 0 },
	{ "rfc9293-fin-outside-window", fin_outside, 0 },
	{ "rfc9293-blind-segment-at-fall-back", blind_at_fall_back, ALONE },
	{},
};
