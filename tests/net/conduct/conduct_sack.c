// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* SACK (RFC 2018), D-SACK (RFC 2883), timestamps and PAWS (RFC 7323), ECN (RFC 3168). */
#include "tests/net/conduct/conduct.h"

/* ---- RFC 2018 ------------------------------------------------------------------------------------ */

/* Section 4: the newest block first, then the most recently reported ones. */
static void order(struct peer *p)
{
	static const int at[] = { 2, 6, 4, 10, 8, 7, 2 };

	for (unsigned int i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		/* Linux remembers four blocks, and with a fifth it sends fewer than there is room for. */
		if (p->flags & NO_TS && at[i] == 8)
			continue;
		SEND(p, .seq = at[i] * FPDU, .len = FPDU);
		one(p);
		REQUIRE(p, acked(p, &p->got[0]) == 0 && p->got[0].nsack);
		/* Section 3: with a timestamp there is room for three. */
		REQUIRE(p, p->got[0].nsack <= (p->flags & NO_TS ? 4 : 3));
	}
	for (int i = 0; i <= 10; i++) {
		SEND(p, .seq = i * FPDU, .len = FPDU);
		answers(p);
		REQUIRE(p, acked(p, &p->last) >= (i + 1) * FPDU);
	}
	p->nxt = 11 * FPDU;
	still_direct(p);
	goes_on(p);
}

static void merge(struct peer *p)
{
	SEND(p, .seq = FPDU, .len = FPDU);
	one(p);
	SEND(p, .seq = 3 * FPDU, .len = FPDU);
	one(p);
	SEND(p, .seq = 2 * FPDU, .len = FPDU);
	one(p);
	REQUIRE(p, p->got[0].nsack == 1 && sacks(p, &p->got[0], 0, FPDU, 4 * FPDU));
	SEND(p, .seq = 0, .len = FPDU);
	one(p);
	p->nxt = 4 * FPDU;
	still_direct(p);
	goes_on(p);
}

static void none_negotiated(struct peer *p)
{
	SEND(p, .seq = FPDU, .len = FPDU);
	one(p);
	REQUIRE(p, !p->got[0].nsack);
	SEND(p, .seq = 0, .len = FPDU);
	one(p);
	SEND(p, .seq = 0, .len = FPDU);
	one(p);
	REQUIRE(p, !p->got[0].nsack && acked(p, &p->got[0]) == 2 * FPDU);
	p->nxt = 2 * FPDU;
	goes_on(p);
}

/* ---- RFC 2883 ------------------------------------------------------------------------------------ */

/* Section 4.1.2 and its example 2: above the cumulative ACK, the block that holds it is the second. */
static void dsack_above(struct peer *p)
{
	SEND(p, .seq = FPDU, .len = FPDU);
	one(p);
	SEND(p, .seq = 2 * FPDU, .len = FPDU);
	one(p);
	SEND(p, .seq = 2 * FPDU, .len = FPDU);
	one(p);
	REQUIRE(p, sacks(p, &p->got[0], 0, 2 * FPDU, 3 * FPDU));
	REQUIRE(p, sacks(p, &p->got[0], 1, FPDU, 3 * FPDU));
	/* "Each duplicate is reported at most once" (section 4). */
	SEND(p, .seq = 4 * FPDU, .len = FPDU);
	one(p);
	REQUIRE(p, sacks(p, &p->got[0], 0, 4 * FPDU, 5 * FPDU));
	SEND(p, .seq = 0, .len = FPDU);
	one(p);
	SEND(p, .seq = 3 * FPDU, .len = FPDU);
	one(p);
	p->nxt = 5 * FPDU;
	still_direct(p);
	goes_on(p);
}

/* Section 4.2: only a part of the segment is a duplicate. */
static void dsack_partial(struct peer *p)
{
	SEND(p, .seq = FPDU, .len = 2 * FPDU);
	one(p);
	SEND(p, .seq = 2 * FPDU, .len = 2 * FPDU);
	one(p);
	REQUIRE(p, sacks(p, &p->got[0], 0, 2 * FPDU, 3 * FPDU));
	REQUIRE(p, sacks(p, &p->got[0], 1, FPDU, 4 * FPDU));
	SEND(p, .seq = 0, .len = 2 * FPDU);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == 4 * FPDU);
	REQUIRE(p, sacks(p, &p->got[0], 0, FPDU, 2 * FPDU));
	p->nxt = 4 * FPDU;
	still_direct(p);
	goes_on(p);
}

/* Section 4.2.3: two parts; "the first" is reported. */
static void dsack_two_parts(struct peer *p)
{
	SEND(p, .seq = FPDU, .len = FPDU);
	one(p);
	SEND(p, .seq = 3 * FPDU, .len = FPDU);
	one(p);
	SEND(p, .seq = FPDU, .len = 4 * FPDU);
	one(p);
	REQUIRE(p, p->got[0].nsack >= 2);
	SEND(p, .seq = 0, .len = FPDU);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == 5 * FPDU);
	p->nxt = 5 * FPDU;
	still_direct(p);
	goes_on(p);
}

/* The segment that fills the gap, and all behind it, once more. */
static void dsack_after_fill(struct peer *p)
{
	SEND(p, .seq = FPDU, .len = FPDU);
	one(p);
	SEND(p, .seq = 0, .len = FPDU);
	one(p);
	p->nxt = 2 * FPDU;
	SEND(p, .seq = 0, .len = 2 * FPDU);
	one(p);
	REQUIRE(p, sacks(p, &p->got[0], 0, 0, 2 * FPDU) && acked(p, &p->got[0]) == 2 * FPDU);
	still_direct(p);
	goes_on(p);
}

/* ---- RFC 7323 ------------------------------------------------------------------------------------ */

/* Section 4.3: out of order, the echo is that of the last segment in order; then that of the filler. */
static void echo_gap(struct peer *p)
{
	struct raw_got *g;
	uint32_t before, filler;

	deliver(p, 1);
	before = p->last.tsecr;
	p->clock += 100;
	SEND(p, .seq = 2 * FPDU, .len = FPDU);
	g = one(p);
	REQUIRE(p, g->tsecr == before);
	p->clock += 100;
	SEND(p, .seq = FPDU, .len = FPDU);
	filler = p->clock;
	g = one(p);
	REQUIRE(p, g->tsecr == filler);
	p->nxt = 3 * FPDU;
	still_direct(p);
	goes_on(p);
}

/* Two segments may be acknowledged separately: the echo is that of the first unacknowledged one. */
static void echo_delayed(struct peer *p)
{
	uint32_t first;

	for (int i = 0; i < 8; i++) {
		p->clock += 10;
		SEND(p, .seq = p->nxt, .len = FPDU);
		first = p->clock;
		p->nxt += FPDU;
		answers(p);
		/* The fence is old: its timestamp must not be echoed (RFC 7323 section 5.3 R2). */
		REQUIRE(p, p->last.tsecr - first <= 1);
	}
	still_direct(p);
	goes_on(p);
}

/* Section 5.3 R1: "an ACK SHOULD be sent", and the segment is dropped. */
static void paws(struct peer *p)
{
	struct raw_got *g;

	p->clock += 100000;
	deliver(p, 2);
	SEND(p, .seq = p->nxt, .len = FPDU, .ts = -50000, .evil = true);
	g = one(p);
	REQUIRE(p, acked(p, g) == p->nxt && !g->nsack);
	SEND(p, .seq = p->nxt + FPDU, .len = FPDU, .ts = -50000, .evil = true);
	g = one(p);
	REQUIRE(p, acked(p, g) == p->nxt && !g->nsack);
	still_direct(p);
	goes_on(p);
}

static void paws_duplicate(struct peer *p)
{
	p->clock += 100000;
	deliver(p, 2);
	SEND(p, .seq = 0, .len = FPDU, .ts = -50000);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == p->nxt);
	still_direct(p);
	goes_on(p);
}

/* The clock wraps, which does not make a timestamp older. */
static void clock_wraps(struct peer *p)
{
	p->clock += 0x70000000u;
	deliver(p, 2);
	p->clock += 0x70000000u;
	deliver(p, 2);
	p->clock += 0x70000000u;
	deliver(p, 2);
	still_direct(p);
	goes_on(p);
}

/* Section 3.2: "a segment without a TSopt SHOULD be dropped"; Linux takes it. Neither resets. */
static void missing_timestamp(struct peer *p)
{
	SEND(p, .seq = 0, .len = FPDU, .no_ts = true);
	quietly(p);
	REQUIRE(p, acked(p, &p->last) == 0 || acked(p, &p->last) == FPDU);
	p->nxt = acked(p, &p->last);
	goes_on(p);
}

/* Without negotiation the option is unknown. */
static void unasked_timestamp(struct peer *p)
{
	deliver(p, 1);
	SEND(p, .seq = p->nxt, .len = FPDU, .opt = "\1\1\10\12\0\0\0\7\0\0\0\0", .opt_len = 12);
	p->nxt += FPDU;
	quietly(p);
	REQUIRE(p, acked(p, &p->last) == p->nxt && !p->last.has_ts);
	SEND(p, .seq = p->nxt, .len = FPDU, .opt = "\1\1\10\12\0\0\0\1\0\0\0\0", .opt_len = 12);
	p->nxt += FPDU;
	quietly(p);
	REQUIRE(p, acked(p, &p->last) == p->nxt);
	still_direct(p);
	goes_on(p);
}

/* A timestamp that the receiver must not take from segments that anybody can forge. */
static void blind(struct peer *p, int32_t ts)
{
	static const int32_t at[] = { INT32_MIN, INT32_MIN + 7, 1 << 30, -(1 << 30), -100000 };

	for (unsigned int i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		SEND(p, .seq = at[i], .ts = ts);
		SEND(p, .seq = at[i], .ts = ts, .ack = 1 << 30);
		SEND(p, .seq = at[i], .ts = ts, .flags = RAW_SYN);
		SEND(p, .seq = at[i], .ts = ts, .flags = RAW_RST);
		SEND(p, .seq = at[i], .ts = ts, .len = FPDU, .evil = true);
	}
	/*
	 * In the window, with unacceptable ACKs (RFC 5961 section 5); Linux takes the timestamp of the next expected
	 * one.
	 */
	SEND(p, .seq = p->nxt, .ts = ts, .ack = 1 << 30);
	SEND(p, .seq = p->nxt + FPDU, .ts = ts, .ack = 1 << 30);
	SEND(p, .seq = p->nxt + FPDU, .ts = ts, .ack = -(1 << 30));
	SEND(p, .seq = p->nxt + FPDU, .ts = ts);
	SEND(p, .seq = p->nxt + FPDU, .ts = ts, .bad_csum = true);
	SEND(p, .seq = p->nxt, .ts = ts, .flags = RAW_SYN);
	quietly(p);
}

/* A segment from outside the window with a timestamp far ahead stops no connection, on either path or between them. */
static void blind_tsval(struct peer *p, int32_t ts)
{
	blind(p, ts);
	deliver(p, 4);
	still_direct(p);
	/* To the kernel path: injected segments must not carry that timestamp either. */
	SEND(p, .seq = p->nxt, .len = 100);
	SEND(p, .seq = p->nxt + 100, .len = FPDU - 100);
	p->nxt += FPDU;
	deliver(p, 1);
	blind(p, ts);
	deliver(p, 2);
	/* And to the direct path again. */
	go_direct(p);
	blind(p, ts);
	goes_on(p);
}

static void blind_tsval_far(struct peer *p)
{
	blind_tsval(p, 1 << 30);
}

static void blind_tsval_near(struct peer *p)
{
	blind_tsval(p, 50000);
}

/* ---- RFC 3168 section 6.1.3 ---------------------------------------------------------------------- */

static void ce(struct peer *p, int32_t fpdus, uint8_t ecn, unsigned int flags)
{
	SEND(p, .seq = p->nxt, .len = (uint32_t)fpdus * FPDU, .ecn = ecn, .flags = RAW_ACK | flags);
	p->nxt += fpdus * FPDU;
	answers(p);
}

/* ECE on every ACK from CE until CWR. */
static void ece(struct peer *p)
{
	ce(p, 1, RAW_ECT0, 0);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
	ce(p, 1, RAW_CE, 0);
	REQUIRE(p, p->last.flags & RAW_ECE);
	ce(p, 1, RAW_ECT0, 0);
	REQUIRE(p, p->last.flags & RAW_ECE);
	ce(p, 1, RAW_ECT0, RAW_CWR);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
	ce(p, 1, RAW_ECT0, 0);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
	/* CWR and CE in one segment: congestion was met again. */
	ce(p, 1, RAW_CE, RAW_CWR);
	REQUIRE(p, p->last.flags & RAW_ECE);
	ce(p, 1, RAW_ECT0, RAW_CWR);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
	still_direct(p);
	goes_on(p);
}

/* ECE on answers of the kernel's socket. */
static void ece_control(struct peer *p)
{
	ce(p, 1, RAW_CE, 0);
	SEND(p, .seq = p->nxt - 1); /* a keepalive */
	one(p);
	REQUIRE(p, p->got[0].flags & RAW_ECE);
	ce(p, 1, RAW_ECT0, RAW_CWR);
	pause_ms(600);
	SEND(p, .seq = p->nxt - 1);
	one(p);
	REQUIRE(p, !(p->got[0].flags & RAW_ECE));
	still_direct(p);
	goes_on(p);
}

static void to_kernel(struct peer *p)
{
	SEND(p, .seq = p->nxt, .len = 100, .ecn = RAW_ECT0);
	SEND(p, .seq = p->nxt + 100, .len = FPDU - 100, .ecn = RAW_ECT0);
	p->nxt += FPDU;
	deliver(p, 1);
}

/* ECE goes on across paths until CWR, and ends then. */
static void ece_over_fall_back(struct peer *p)
{
	ce(p, 1, RAW_CE, 0);
	REQUIRE(p, p->last.flags & RAW_ECE);
	to_kernel(p);
	REQUIRE(p, p->last.flags & RAW_ECE);
	ce(p, 1, RAW_ECT0, RAW_CWR);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
	goes_on(p);
}

static void ece_over_arm(struct peer *p)
{
	to_kernel(p);
	ce(p, 1, RAW_CE, 0);
	REQUIRE(p, p->last.flags & RAW_ECE);
	go_direct(p);
	REQUIRE(p, p->last.flags & RAW_ECE);
	ce(p, 1, RAW_ECT0, RAW_CWR);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
	/* No ECE on either path afterwards. */
	SEND(p, .seq = p->nxt - 1);
	one(p);
	REQUIRE(p, !(p->got[0].flags & RAW_ECE));
	to_kernel(p);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
	goes_on(p);
}

/* Section 6.1.5: the CE of what is outside the window is ignored. */
static void ce_outside(struct peer *p)
{
	SEND(p, .seq = edge(p), .len = FPDU, .ecn = RAW_CE, .evil = true);
	one(p);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
	SEND(p, .seq = -FPDU, .len = FPDU, .ecn = RAW_CE);
	one(p);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
	still_direct(p);
	goes_on(p);
}

static void ce_out_of_order(struct peer *p)
{
	SEND(p, .seq = FPDU, .len = FPDU, .ecn = RAW_CE);
	one(p);
	REQUIRE(p, p->got[0].flags & RAW_ECE);
	SEND(p, .seq = 0, .len = FPDU, .ecn = RAW_ECT0);
	one(p);
	REQUIRE(p, p->got[0].flags & RAW_ECE);
	p->nxt = 2 * FPDU;
	ce(p, 1, RAW_ECT0, RAW_CWR);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
	still_direct(p);
	goes_on(p);
}

static void ce_not_negotiated(struct peer *p)
{
	ce(p, 1, RAW_CE, 0);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
	ce(p, 1, RAW_CE, RAW_CWR | RAW_ECE);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
	still_direct(p);
	goes_on(p);
}

const struct script conduct_sack[] = {
	{ "rfc2018-order-of-blocks", order, V46 },
	{ "rfc2018-order-of-blocks-no-timestamps", order, NO_TS },
	{ "rfc2018-order-of-blocks-wrap", order, WRAP },
	{ "rfc2018-blocks-merge", merge, 0 },
	{ "rfc2018-not-negotiated", none_negotiated, NO_SACK },
	{ "rfc2883-above-the-ack", dsack_above, V46 },
	{ "rfc2883-part-of-a-segment", dsack_partial, 0 },
	{ "rfc2883-two-parts", dsack_two_parts, 0 },
	{ "rfc2883-after-the-gap", dsack_after_fill, 0 },
	{ "rfc7323-echo-across-a-gap", echo_gap, V46 },
	{ "rfc7323-echo-in-order", echo_delayed, 0 },
	{ "rfc7323-paws", paws, V46 },
	{ "rfc7323-paws-duplicate", paws_duplicate, 0 },
	{ "rfc7323-clock-wraps", clock_wraps, 0 },
	{ "rfc7323-missing-timestamp", missing_timestamp, 0 },
	{ "rfc7323-unasked-timestamp", unasked_timestamp, NO_TS },
	{ "rfc7323-blind-tsval-far-ahead", blind_tsval_far, V46 },
	{ "rfc7323-blind-tsval-near", blind_tsval_near, 0 },
	{ "rfc3168-ece-until-cwr", ece, ECN | V46 },
	{ "rfc3168-ece-on-keepalive", ece_control, ECN },
	{ "rfc3168-ece-over-fall-back", ece_over_fall_back, ECN },
	{ "rfc3168-ece-over-arming", ece_over_arm, ECN },
	{ "rfc3168-ce-outside-the-window", ce_outside, ECN },
	{ "rfc3168-ce-out-of-order", ce_out_of_order, ECN },
	{ "rfc3168-not-negotiated", ce_not_negotiated, 0 },
	{},
};
