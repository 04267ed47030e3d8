// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RFC 9293: what is acceptable, trimming, keepalives, our own data. RFC 5681 section 4.2: when to acknowledge. */
#include <linux/tcp.h>
#include <sys/socket.h>

#include "tests/net/conduct/conduct.h"

/* ---- RFC 9293 section 3.10.7.4, first check ------------------------------------------------------ */

static void in_order(struct peer *p)
{
	for (int i = 0; i < 8; i++)
		deliver(p, 4);
	still_direct(p);
	goes_on(p);
}

static void duplicate(struct peer *p)
{
	SEND(p, .seq = -2 * FPDU, .len = FPDU);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == 0);
	REQUIRE(p, sacks(p, &p->got[0], 0, -2 * FPDU, -FPDU)); /* RFC 2883 section 4.1.1 */
	still_direct(p);
	goes_on(p);
}

/* A duplicate with other octets: what was delivered does not change. */
static void duplicate_evil(struct peer *p)
{
	SEND(p, .seq = -2 * FPDU, .len = FPDU, .evil = true);
	one(p);
	still_direct(p);
	goes_on(p);
}

static void trim_left(struct peer *p)
{
	SEND(p, .seq = -FPDU, .len = 2 * FPDU);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == FPDU);
	REQUIRE(p, sacks(p, &p->got[0], 0, -FPDU, 0));
	p->nxt = FPDU;
	still_direct(p);
	goes_on(p);
}

static void trim_left_inside(struct peer *p)
{
	SEND(p, .seq = -100, .len = 100 + FPDU);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == FPDU);
	REQUIRE(p, sacks(p, &p->got[0], 0, -100, 0));
	p->nxt = FPDU;
	goes_on(p);
}

/* The octets in front of the new ones differ from what was sent before: they are ignored. */
static void trim_left_evil(struct peer *p)
{
	SEND(p, .seq = 0, .len = FPDU);
	SEND(p, .seq = 0, .len = FPDU, .evil = true);
	p->nxt = FPDU;
	quietly(p);
	REQUIRE(p, acked(p, &p->last) == FPDU);
	goes_on(p);
}

static void beyond_window(struct peer *p)
{
	SEND(p, .seq = edge(p), .len = FPDU, .evil = true);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == 0 && !p->got[0].nsack);
	SEND(p, .seq = edge(p) + 100000, .len = FPDU, .evil = true);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == 0 && !p->got[0].nsack);
	SEND(p, .seq = INT32_MIN + 1000, .len = FPDU, .evil = true);
	answers(p);
	still_direct(p);
	goes_on(p);
}

/*
 * Section 3.10.7.4 trims what lies outside the window. Linux does not: it drops such a segment, or takes all of it
 * where its buffer is larger than what it offers.
 */
static void trim_right(struct peer *p)
{
	int32_t right = edge(p);

	SEND(p, .seq = right - FPDU, .len = 2 * FPDU, .evil = true);
	answered(p);
	REQUIRE(p, p->n == 1 && acked(p, &p->got[0]) == 0);
	if (p->direct)
		REQUIRE(p, sacks(p, &p->got[0], 0, right - FPDU, right));
	still_direct(p);
}

static void no_ack_flag(struct peer *p)
{
	SEND(p, .seq = 0, .len = FPDU, .flags = NONE, .evil = true);
	none(p);
	SEND(p, .seq = 0, .len = FPDU, .flags = RAW_PSH, .evil = true);
	none(p);
	SEND(p, .seq = 0, .flags = NONE);
	none(p);
	still_direct(p);
	goes_on(p);
}

/* A FIN without ACK is no FIN. */
static void fin_without_ack(struct peer *p)
{
	SEND(p, .seq = 0, .flags = RAW_FIN);
	none(p);
	goes_on(p);
}

static void misaligned(struct peer *p)
{
	SEND(p, .seq = 0, .len = 100);
	SEND(p, .seq = 100, .len = FPDU - 100 + 30);
	SEND(p, .seq = FPDU + 30, .len = FPDU - 30);
	p->nxt = 2 * FPDU;
	caught_up(p);
	goes_on(p);
	/* And back again. */
	go_direct(p);
	goes_on(p);
}

static void octet_by_octet(struct peer *p)
{
	for (int32_t i = 0; i < FPDU; i++) {
		SEND(p, .seq = i, .len = 1);
		if (i % 32 == 31)
			quietly(p); /* rings are short */
	}
	p->nxt = FPDU;
	caught_up(p);
	goes_on(p);
}

/* ---- RFC 5681 section 4.2 ------------------------------------------------------------------------ */

static void gap(struct peer *p)
{
	struct raw_got *g;

	SEND(p, .seq = FPDU, .len = FPDU);
	g = one(p);
	REQUIRE(p, acked(p, g) == 0 && g->nsack == 1 && sacks(p, g, 0, FPDU, 2 * FPDU));
	SEND(p, .seq = 3 * FPDU, .len = FPDU);
	g = one(p);
	REQUIRE(p, acked(p, g) == 0 && g->nsack == 2 && sacks(p, g, 0, 3 * FPDU, 4 * FPDU));
	/* Part of a gap is filled. */
	SEND(p, .seq = 0, .len = FPDU);
	g = one(p);
	REQUIRE(p, acked(p, g) == 2 * FPDU && g->nsack == 1);
	SEND(p, .seq = 2 * FPDU, .len = FPDU);
	g = one(p);
	REQUIRE(p, acked(p, g) == 4 * FPDU && !g->nsack);
	p->nxt = 4 * FPDU;
	still_direct(p);
	goes_on(p);
}

static void gap_no_sack(struct peer *p)
{
	for (int i = 1; i <= 3; i++) {
		SEND(p, .seq = i * FPDU, .len = FPDU);
		one(p);
		REQUIRE(p, acked(p, &p->got[0]) == 0 && !p->got[0].nsack);
	}
	SEND(p, .seq = 0, .len = FPDU);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == 4 * FPDU);
	p->nxt = 4 * FPDU;
	still_direct(p);
	goes_on(p);
}

/*
 * Duplicate ACKs for the peer's fast retransmit (RFC 5681 section 3.2): at least three for a burst. Further ones may
 * be merged (RFC 9293 section 3.10.7.4, MUST-58).
 */
static void burst_behind_gap(struct peer *p)
{
	for (int i = 1; i <= 12; i++)
		SEND(p, .seq = i * FPDU, .len = FPDU);
	quietly(p);
	REQUIRE(p, p->n >= 3);
	for (unsigned int i = 0; i < p->n; i++)
		REQUIRE(p, acked(p, &p->got[i]) == 0);
	REQUIRE(p, sacks(p, &p->last, 1, FPDU, 13 * FPDU));
	SEND(p, .seq = 0, .len = FPDU);
	p->nxt = 13 * FPDU;
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == p->nxt);
	still_direct(p);
	goes_on(p);
}

static bool all_acked(struct peer *p, const struct raw_got *g)
{
	return acked(p, g) == p->nxt;
}

/* "SHOULD be generated for at least every second full-sized segment": no timer is needed. */
static void every_second(struct peer *p)
{
	for (int i = 0; i < 10; i++) {
		SEND(p, .seq = p->nxt, .len = 5 * FPDU);
		SEND(p, .seq = p->nxt + 5 * FPDU, .len = 5 * FPDU);
		p->nxt += 10 * FPDU;
		await(p, all_acked);
	}
	still_direct(p);
	goes_on(p);
}

/* "MUST be generated within 500 ms": without any further segment. */
static void delayed_ack(struct peer *p)
{
	for (int i = 0; i < 3; i++) {
		SEND(p, .seq = p->nxt, .len = FPDU);
		p->nxt += FPDU;
		await(p, all_acked);
	}
	still_direct(p);
	goes_on(p);
}

/* ---- keepalives: RFC 9293 section 3.8.4 ---------------------------------------------------------- */

static void keepalive(struct peer *p)
{
	SEND(p, .seq = -1);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == 0);
	pause_ms(1100);
	SEND(p, .seq = -1);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == 0);
	still_direct(p);
	goes_on(p);
}

/* The other form, "one garbage octet". */
static void keepalive_garbage(struct peer *p)
{
	SEND(p, .seq = -1, .len = 1, .evil = true);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == 0);
	still_direct(p);
	goes_on(p);
}

static bool is_probe(struct peer *p, const struct raw_got *g)
{
	return g->seq == p->theirs - 1 && !g->len && acked(p, g) == p->nxt;
}

/* Our own keepalive: the kernel's socket does not see the direct octets, and sends one. */
static void keepalive_ours(struct peer *p)
{
	p->app->want |= APP_KEEPALIVE;
	info(p);
	deliver(p, 2);
	for (int i = 0; i < 2; i++) {
		await(p, is_probe);
		SEND(p, .seq = p->nxt);
		deliver(p, 2);
	}
	still_direct(p);
	goes_on(p);
}

/* ---- our own data: what the peer says of it on data segments ------------------------------------- */

static void ack_on_data(struct peer *p)
{
	p->app->want |= APP_SEND;
	REQUIRE(p, acked(p, await(p, has_data)) == 0);
	deliver(p, 1);
	until_acked(p);
	still_direct(p);
	/* And in turn with what comes. */
	for (int i = 0; i < 4; i++) {
		p->app->want |= APP_SEND;
		info(p);
		deliver(p, 1);
	}
	pause_ms(50);
	deliver(p, 1);
	deliver(p, 1);
	until_acked(p);
	still_direct(p);
	goes_on(p);
}

static void pure_ack(struct peer *p)
{
	p->app->want |= APP_SEND;
	await(p, has_data);
	SEND(p, .seq = 0);
	until_acked(p);
	/* From beyond a segment that was lost. */
	p->app->want |= APP_SEND;
	await(p, has_data);
	SEND(p, .seq = FPDU);
	until_acked(p);
	still_direct(p);
	goes_on(p);
}

/*
 * Closes the window, and waits until the socket has taken that: what leaves later does not overtake it. What the engine
 * tells the socket of the segments before may come behind it on a busy machine, so it is said until it stays so.
 */
static void window_shut(struct peer *p, int32_t seq)
{
	uint64_t end = now_ms() + PATIENCE_MS, again = 0;
	struct tcp_info ti;
	socklen_t len = sizeof(ti);
	int shut = 0;

	for (; shut < 100 && now_ms() < end; pause_ms(1)) {
		if (!shut && now_ms() >= again) {
			SEND(p, .seq = seq, .zero_window = true);
			again = now_ms() + 20;
		}
		REQUIRE(p, !getsockopt(p->app->fd, IPPROTO_TCP, TCP_INFO, &ti, &len));
		shut = ti.tcpi_snd_wnd ? 0 : shut + 1;
	}
	REQUIRE(p, shut);
}

/* The peer's window closes by an ACK, and opens by data. */
static void window_opens(struct peer *p)
{
	SEND(p, .seq = 0, .len = FPDU, .zero_window = true);
	p->nxt = FPDU;
	window_shut(p, FPDU); /* a quiet fence would open it */
	p->app->want |= APP_SEND;
	await(p, is_probe); /* section 3.8.6.1 */
	SEND(p, .seq = FPDU, .len = FPDU);
	p->nxt = 2 * FPDU;
	await(p, has_data);
	deliver(p, 1);
	until_acked(p);
	goes_on(p);
}

/* The same, but no data said that it closed. */
static void window_closes_without_data(struct peer *p)
{
	window_shut(p, 0);
	p->app->want |= APP_SEND;
	await(p, is_probe);
	SEND(p, .seq = 0, .len = FPDU);
	p->nxt = FPDU;
	await(p, has_data);
	deliver(p, 1);
	until_acked(p);
	still_direct(p);
	goes_on(p);
}

/*
 * It closes by an ACK on a segment behind a lost one, and opens by a segment without data when the lost one has come.
 */
static void window_opens_without_data(struct peer *p)
{
	window_shut(p, FPDU);
	p->app->want |= APP_SEND;
	await(p, is_probe);
	SEND(p, .seq = 0, .len = FPDU, .zero_window = true);
	p->nxt = FPDU;
	await(p, all_acked);
	SEND(p, .seq = FPDU);
	await(p, has_data);
	deliver(p, 1);
	until_acked(p);
	still_direct(p);
	goes_on(p);
}

/* It closes during a direct stretch, and opens when the stretch has ended and no data comes: half a segment ends it. */
static void window_opens_after_a_stretch(struct peer *p)
{
	SEND(p, .seq = 0, .zero_window = true);
	SEND(p, .seq = 0, .len = FPDU, .cut = 128, .only = 1, .zero_window = true);
	info(p);
	window_shut(p, 0);
	p->app->want |= APP_SEND;
	await(p, is_probe);
	SEND(p, .seq = 0);
	await(p, has_data);
	deliver(p, 1);
	until_acked(p);
	goes_on(p);
}

/*
 * Without scaling no window is larger than 65535 (RFC 7323 section 2.2), whatever room there is. The same holds for
 * windows on our own data, which the kernel sends.
 */
static void window_unscaled(struct peer *p)
{
	for (int i = 0; i < 4; i++) {
		p->app->want |= APP_SEND;
		await(p, has_data);
		deliver(p, 1);
		deliver(p, 4);
	}
	still_direct(p);
	goes_on(p);
}

const struct script conduct_recv[] = {
	{ "rfc9293-in-order", in_order, V46 },
	{ "rfc9293-in-order-wrap", in_order, WRAP },
	{ "rfc9293-duplicate", duplicate, V46 },
	{ "rfc9293-duplicate-wrap", duplicate, WRAP },
	{ "rfc9293-duplicate-other-octets", duplicate_evil, 0 },
	{ "rfc9293-trim-left", trim_left, V46 },
	{ "rfc9293-trim-left-inside-fpdu", trim_left_inside, 0 },
	{ "rfc9293-trim-left-other-octets", trim_left_evil, 0 },
	{ "rfc9293-trim-right", trim_right, 0 },
	{ "rfc9293-beyond-window", beyond_window, V46 },
	{ "rfc9293-beyond-window-wrap", beyond_window, WRAP },
	{ "rfc9293-no-ack-flag", no_ack_flag, V46 },
	{ "rfc9293-fin-without-ack", fin_without_ack, 0 },
	{ "rfc9293-misaligned", misaligned, V46 },
	{ "rfc9293-octet-by-octet", octet_by_octet, 0 },
	{ "rfc5681-gap-and-fill", gap, V46 },
	{ "rfc5681-gap-and-fill-wrap", gap, WRAP },
	{ "rfc5681-gap-and-fill-no-sack", gap_no_sack, NO_SACK },
	{ "rfc5681-burst-behind-gap", burst_behind_gap, 0 },
	{ "rfc5681-every-second-segment", every_second, 0 },
	{ "rfc5681-delayed-ack", delayed_ack, V46 },
	{ "rfc9293-keepalive", keepalive, V46 },
	{ "rfc9293-keepalive-garbage-octet", keepalive_garbage, 0 },
	{ "rfc9293-keepalive-ours", keepalive_ours, LOUD },
	{ "rfc9293-ack-on-data", ack_on_data, LOUD },
	{ "rfc9293-ack-without-data", pure_ack, LOUD },
	{ "rfc9293-window-opens-with-data", window_opens, LOUD },
	{ "rfc9293-window-closes-without-data", window_closes_without_data, LOUD },
	{ "rfc9293-window-opens-without-data", window_opens_without_data, LOUD },
	{ "rfc9293-window-opens-after-a-stretch", window_opens_after_a_stretch, LOUD },
	{ "rfc7323-window-unscaled", window_unscaled, LOUD | NO_WSCALE },
	{},
};
