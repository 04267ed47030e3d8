// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The edges of a stretch: the segment that begins it, the one that ends it, and those right after that. On the kernel
 * path, the same segments are ordinary ones.
 */
#include <errno.h>

#include "tests/net/conduct/conduct.h"

/* ---- segments that end a stretch ----------------------------------------------------------------- */

/* XDP ends the stretch for fragments, and learns from their first one. The engine hears of it later. */
enum last { MISALIGNED, URGENT, FRAGMENTS };

/* Sends the next FPDU so that its first segment ends the stretch. `flags` and `ecn` are for that segment. */
static void end_stretch(struct peer *p, enum last how, unsigned int flags, uint8_t ecn)
{
	if (how == URGENT) {
		SEND(p, .seq = p->nxt, .len = FPDU, .flags = RAW_ACK | RAW_URG | flags,
		     .urgent = 10, .ecn = ecn);
	} else if (how == FRAGMENTS) {
		SEND(p, .seq = p->nxt, .len = FPDU, .flags = RAW_ACK | flags, .ecn = ecn,
		     .cut = 104);
	} else {
		SEND(p, .seq = p->nxt, .len = 100, .flags = RAW_ACK | flags, .ecn = ecn);
		SEND(p, .seq = p->nxt + 100, .len = FPDU - 100);
	}
	p->nxt += FPDU;
}

#define MOST 200 /* segments until a stretch begins */

/* Has a stretch begun? On the kernel path: at once. */
static bool began(struct peer *p)
{
	return !p->direct || info(p)->path == XIW_PATH_DIRECT;
}

/* ---- RFC 3168 section 6.1.3 ---------------------------------------------------------------------- */

/* CWR on the segment that ends the stretch ends ECE. CE there begins it. */
static void cwr_at_the_end(struct peer *p)
{
	for (enum last how = MISALIGNED; how <= FRAGMENTS; how++) {
		SEND(p, .seq = p->nxt, .len = FPDU, .ecn = RAW_CE);
		p->nxt += FPDU;
		answers(p);
		REQUIRE(p, p->last.flags & RAW_ECE);
		end_stretch(p, how, RAW_CWR, RAW_ECT0);
		deliver(p, 1);
		REQUIRE(p, !(p->last.flags & RAW_ECE));
		deliver(p, 1);
		REQUIRE(p, !(p->last.flags & RAW_ECE));
		go_direct(p);
		REQUIRE(p, !(p->last.flags & RAW_ECE));
	}
	intact(p);
}

static void ce_at_the_end(struct peer *p)
{
	for (enum last how = MISALIGNED; how <= FRAGMENTS; how++) {
		end_stretch(p, how, 0, RAW_CE);
		deliver(p, 1);
		REQUIRE(p, p->last.flags & RAW_ECE);
		end_stretch(p, how, RAW_CWR, RAW_ECT0);
		deliver(p, 1);
		REQUIRE(p, !(p->last.flags & RAW_ECE));
		go_direct(p);
		REQUIRE(p, !(p->last.flags & RAW_ECE));
	}
	intact(p);
}

/* CE comes on the first segment of a stretch, CWR on the last. */
static void ce_to_cwr(struct peer *p)
{
	end_stretch(p, MISALIGNED, 0, RAW_ECT0);
	quietly(p);
	caught_up(p);
	for (int i = 0; i < MOST; i++) {
		SEND(p, .seq = p->nxt, .len = FPDU, .ecn = RAW_CE);
		p->nxt += FPDU;
		quietly(p);
		caught_up(p);
		REQUIRE(p, p->last.flags & RAW_ECE);
		if (began(p))
			break;
	}
	still_direct(p);
	end_stretch(p, URGENT, RAW_CWR, RAW_ECT0);
	deliver(p, 1);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
	intact(p);
}

/*
 * Behind a stretch, which has known of CE: what a third host sends says nothing of the way. It knows the window, but
 * not what the peer may acknowledge.
 */
static void blind_marks(struct peer *p)
{
	end_stretch(p, MISALIGNED, 0, RAW_CE);
	deliver(p, 1);
	REQUIRE(p, p->last.flags & RAW_ECE);
	SEND(p, .seq = p->nxt + FPDU, .len = FPDU, .flags = RAW_ACK | RAW_CWR, .ack = 1000);
	deliver(p, 1);
	REQUIRE(p, p->last.flags & RAW_ECE);
	SEND(p, .seq = p->nxt, .len = FPDU, .flags = RAW_ACK | RAW_CWR, .ecn = RAW_ECT0);
	p->nxt += FPDU;
	deliver(p, 1);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
	SEND(p, .seq = p->nxt + FPDU, .len = FPDU, .ecn = RAW_CE, .ack = 1000);
	SEND(p, .seq = p->nxt + FPDU, .len = FPDU, .ecn = RAW_CE, .ack = INT32_MIN / 2);
	deliver(p, 1);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
	go_direct(p);
	goes_on(p);
	REQUIRE(p, !(p->last.flags & RAW_ECE));
}

/* ---- RFC 7323: the segment that begins a stretch -------------------------------------------------- */

/* The next FPDU comes `older` before its time, with other octets, and is an old duplicate: nobody takes it. */
static void old_one(struct peer *p, int32_t older)
{
	SEND(p, .seq = p->nxt, .len = FPDU, .ts = -older, .evil = true);
	quietly(p);
	REQUIRE(p, acked(p, &p->last) == p->nxt);
}

/* Section 5.3. In front of S such segments are the only ones in a row, so that a stretch begins with one of them. */
static void paws_at_the_begin(struct peer *p)
{
	static const int32_t older[] = { 1000, 4000, 100000, 1 << 29 };

	for (unsigned int i = 0; i < sizeof(older) / sizeof(older[0]); i++) {
		end_stretch(p, MISALIGNED, 0, 0);
		quietly(p);
		caught_up(p);
		for (int n = 0; n < MOST; n++) {
			old_one(p, older[i]);
			deliver(p, 1);
			if (began(p))
				break;
		}
		still_direct(p);
		old_one(p, older[i]);
		goes_on(p);
	}
}

/*
 * Section 5.3 behind a stretch: the socket has not seen its timestamps. An old duplicate is dropped, whatever has ended
 * the stretch, and the echo does not go back (section 4.3).
 */
static void paws_at_the_end(struct peer *p)
{
	for (enum last how = MISALIGNED; how <= FRAGMENTS; how++) {
		p->clock += 100000;
		deliver(p, 2);
		still_direct(p);
		SEND(p, .seq = p->nxt, .len = FPDU, .ts = -90000, .evil = true, .cut = 104);
		quietly(p);
		REQUIRE(p, acked(p, &p->last) == p->nxt);
		end_stretch(p, how, 0, 0);
		quietly(p);
		caught_up(p);
		old_one(p, 1000);
		goes_on(p);
		go_direct(p);
	}
	intact(p);
}

/* One that is as old as the newest is no old duplicate, nor is one that is far ahead. */
static void same_at_the_begin(struct peer *p)
{
	end_stretch(p, MISALIGNED, 0, 0);
	quietly(p);
	caught_up(p);
	p->clock_stands = true;
	goes_on(p);
	go_direct(p);
	p->clock_stands = false;
	p->clock += 1 << 30;
	goes_on(p);
	still_direct(p);
}

/*
 * Section 3.2: a segment without a timestamp begins no stretch, whatever other options it has. Linux takes it, so it
 * comes by the kernel path. Afterwards the echo is that of the last one that had any.
 */
static void begin_without_timestamp(struct peer *p)
{
	static const char nops[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

	end_stretch(p, MISALIGNED, 0, 0);
	quietly(p);
	caught_up(p);
	for (int n = 0; n < 24; n++) {
		SEND(p, .seq = p->nxt, .len = FPDU, .no_ts = true, .opt = nops,
		     .opt_len = n % 2 ? sizeof(nops) : 0);
		p->nxt += FPDU;
		quietly(p);
		caught_up(p);
		REQUIRE(p, p->last.tsecr);
	}
	if (p->direct && began(p))
		FAIL(p, "a segment without a timestamp has begun a stretch");
	go_direct(p);
	REQUIRE(p, p->last.tsecr);
	goes_on(p);
}

/* ---- segments right behind the one that ends a stretch -------------------------------------------- */

/* One of them comes while the engine gives the stream back. Nobody takes it, and its octets come again. */
static void behind(struct peer *p, enum last how, const struct seg *s)
{
	struct seg last = *s;

	if (p->direct)
		app_hangs = true;
	pause_ms(10);
	if (how == URGENT)
		SEND(p, .seq = p->nxt, .len = 100, .flags = RAW_ACK | RAW_URG, .urgent = 10);
	else
		SEND(p, .seq = p->nxt, .len = 100);
	/* Linux does not look at the acknowledgement of a segment in order. */
	last.seq = p->nxt + (p->direct || !s->ack ? 100 : 200);
	last.len = FPDU - 100;
	last.evil = true;
	peer_send(p, &last);
	app_hangs = false;
	p->nxt += 100;
	quietly(p);
	caught_up(p);
	REQUIRE(p, acked(p, &p->last) == p->nxt && p->last.nsack <= 1);
	SEND(p, .seq = p->nxt, .len = FPDU - 100);
	p->nxt += FPDU - 100;
	quietly(p);
	caught_up(p);
	go_direct(p);
	goes_on(p);
	p->begun += (unsigned int)p->nxt / FPDU;
	p->origin += (uint32_t)p->nxt;
	p->nxt = 0;
}

static void old_behind_the_end(struct peer *p)
{
	for (enum last how = MISALIGNED; how <= URGENT; how++) {
		behind(p, how, &(struct seg){ .ts = -1000 });
		behind(p, how, &(struct seg){ .ts = -70000 });
		behind(p, how, &(struct seg){ .ts = -(1 << 29) });
	}
}

static void ack_behind_the_end(struct peer *p)
{
	for (enum last how = MISALIGNED; how <= URGENT; how++) {
		behind(p, how, &(struct seg){ .ack = -140000 });
		pause_ms(1100);
		behind(p, how, &(struct seg){ .ack = INT32_MIN / 2 });
		pause_ms(1100);
		behind(p, how, &(struct seg){ .ack = 1000 });
	}
}

/* Linux takes segments without a timestamp. */
static void no_timestamp_behind_the_end(struct peer *p)
{
	for (enum last how = MISALIGNED; p->direct && how <= URGENT; how++)
		behind(p, how, &(struct seg){ .no_ts = true });
	if (!p->direct)
		for (int n = 0; n < 2; n++) {
			go_direct(p);
			goes_on(p);
		}
}

/* ---- a stretch that begins behind a hole ------------------------------------------------------------- */

static bool all_acked(struct peer *p, const struct raw_got *g)
{
	return acked(p, g) == p->nxt;
}

#define BEHIND 30 /* FPDUs behind the hole: the socket gets some, and the others begin a stretch, and wait */

/*
 * XDP passes a damaged segment, which the socket refuses, so that nobody sees the hole. The segment comes again with a
 * newer timestamp, as every retransmission has. What came before that was judged when it came (section 5.3), and none
 * of it comes again.
 */
static void waits_behind_a_hole(struct peer *p)
{
	for (enum last how = MISALIGNED; how <= FRAGMENTS; how++) {
		const int32_t hole = p->nxt + FPDU;

		end_stretch(p, how, 0, 0);
		quietly(p);
		caught_up(p);
		SEND(p, .seq = hole, .len = FPDU, .bad_csum = true);
		for (p->nxt = hole + FPDU; p->nxt < hole + BEHIND * FPDU; p->nxt += FPDU)
			SEND(p, .seq = p->nxt, .len = FPDU);
		pause_ms(20);
		p->clock += 100;
		SEND(p, .seq = hole, .len = FPDU);
		if (acked(p, &p->last) < p->nxt)
			await(p, all_acked);
		go_direct(p);
	}
	intact(p);
}

/*
 * RFC 5681 section 4.2: each segment behind a hole is answered at once. A peer without SACK learns of the loss from the
 * third answer, and no stretch may begin that would wait for the hole.
 */
static void dup_acks_behind_a_hole(struct peer *p)
{
	p->clock_stands = true; /* TCP may acknowledge the first half of an FPDU by itself, and echo that */
	for (enum last how = MISALIGNED; how <= FRAGMENTS; how++) {
		const int32_t hole = p->nxt + FPDU;

		end_stretch(p, how, 0, 0);
		quietly(p);
		caught_up(p);
		for (int32_t i = 1; i < BEHIND; i++) {
			SEND(p, .seq = hole + i * FPDU, .len = FPDU);
			REQUIRE(p, acked(p, one(p)) == hole);
		}
		SEND(p, .seq = hole, .len = FPDU);
		p->nxt = hole + BEHIND * FPDU;
		caught_up(p);
		go_direct(p);
	}
	intact(p);
}

/* ---- frames on the ring of an engine that stands still -------------------------------------------- */

static bool new_ack(struct peer *p, const struct raw_got *g)
{
	return acked(p, g) > p->nxt - 3 * FPDU;
}

/*
 * XDP takes the stream back, and the segment that comes again is the socket's. The engine gives it the frames, which
 * are older, and no octet of them comes again. What nobody has verified says nothing about the peer's clock.
 */
static void take_back(struct peer *p, bool damaged)
{
	const int32_t first = p->nxt;

	if (p->direct)
		app_hangs = true;
	pause_ms(10);
	for (; p->nxt < first + 3 * FPDU; p->nxt += FPDU)
		SEND(p, .seq = p->nxt, .len = FPDU);
	pause_ms(300); /* longer than the watchdog's patience */
	SEND(p, .seq = first, .len = FPDU);
	await(p, new_ack);
	if (damaged)
		SEND(p, .seq = p->nxt, .len = FPDU, .ts = 1 << 24, .bad_csum = true);
	app_hangs = false;
	if (acked(p, &p->last) < p->nxt)
		await(p, all_acked);
	quietly(p);
	goes_on(p);
	go_direct(p);
	goes_on(p);
}

static void older_than_the_sockets(struct peer *p)
{
	for (int n = 0; n < 3; n++)
		take_back(p, false);
}

static void damaged_behind_a_take_back(struct peer *p)
{
	for (int n = 0; n < 3; n++)
		take_back(p, true);
}

/* ---- another connection by the same port ----------------------------------------------------------- */

/*
 * The peer resets the connection and begins another, while the engine does not run and segments of the first lie in its
 * ring. The numbers of the second are translated from its SYN on, and nothing of the first may change that.
 */
static void again_by_the_port(struct peer *p)
{
	const int32_t sent = 4 * FPDU;

	if (p->direct)
		app_hangs = true;
	pause_ms(10);
	for (int32_t at = 0; at < sent; at += FPDU)
		SEND(p, .seq = at, .len = FPDU);
	/*
	 * What is sent from two CPUs may arrive in another order, and the RST is to be where the socket is, which knows
	 * nothing of what is in the ring.
	 */
	p->nxt = sent;
	if (!p->direct)
		caught_up(p);
	SEND(p, .seq = p->direct ? 0 : sent, .flags = RAW_RST);
	pause_ms(20);
	connect_again(p);
	app_hangs = false;
	awaits(p, &p->app->closed, "closed");
	REQUIRE(p, p->app->status == -ECONNRESET);
	p->app->closed = p->app->error = false;
	/* What the application got of the first one does not come again. */
	p->begun = p->app->messages;
	startup(p);
	go_direct(p);
	goes_on(p);
	REQUIRE(p, !p->app->error && !p->app->closed);
}

const struct script conduct_edge[] = {
	{ "rfc7323-paws-at-the-begin-of-a-stretch", paws_at_the_begin, V46 },
	{ "rfc7323-paws-at-the-end-of-a-stretch", paws_at_the_end, V46 },
	{ "rfc7323-same-tsval-at-the-begin-of-a-stretch", same_at_the_begin, 0 },
	{ "rfc7323-no-timestamp-at-the-begin-of-a-stretch", begin_without_timestamp, V46 },
	{ "rfc7323-paws-behind-the-end-of-a-stretch", old_behind_the_end, ALONE },
	{ "rfc5961-ack-behind-the-end-of-a-stretch", ack_behind_the_end, ALONE },
	{ "rfc7323-no-timestamp-behind-the-end-of-a-stretch", no_timestamp_behind_the_end, ALONE },
	{ "rfc7323-frames-older-than-the-sockets", older_than_the_sockets, ALONE },
	{ "rfc5681-dup-acks-behind-a-hole", dup_acks_behind_a_hole, V46 | NO_SACK },
	{ "rfc7323-waits-behind-a-hole", waits_behind_a_hole, V46 },
	{ "rfc7323-damaged-tsval-behind-a-take-back", damaged_behind_a_take_back, ALONE },
	{ "rfc3168-cwr-at-the-end-of-a-stretch", cwr_at_the_end, ECN | V46 },
	{ "rfc3168-ce-at-the-end-of-a-stretch", ce_at_the_end, ECN },
	{ "rfc3168-ce-at-the-begin-cwr-at-the-end", ce_to_cwr, ECN },
	{ "rfc3168-blind-marks-behind-a-stretch", blind_marks, ECN | V46 },
	{ "another-by-the-same-port", again_by_the_port, V46 | ALONE | WIDE },
	{},
};
