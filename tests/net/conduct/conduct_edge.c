// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The edges of a stretch: the segment that begins it, the one that ends it, and those right after that. On the kernel
 * path, the same segments are ordinary ones.
 */
#include "tests/net/conduct/conduct.h"

/* ---- segments that end a stretch ----------------------------------------------------------------- */

enum last { MISALIGNED, URGENT };

/* Sends the next FPDU so that its first segment ends the stretch. `flags` and `ecn` are for that segment. */
static void end_stretch(struct peer *p, enum last how, unsigned int flags, uint8_t ecn)
{
	if (how == URGENT) {
		SEND(p, .seq = p->nxt, .len = FPDU, .flags = RAW_ACK | RAW_URG | flags,
		     .urgent = 10, .ecn = ecn);
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
	for (enum last how = MISALIGNED; how <= URGENT; how++) {
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
	for (enum last how = MISALIGNED; how <= URGENT; how++) {
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

const struct script conduct_edge[] = {
	{ "rfc3168-cwr-at-the-end-of-a-stretch", cwr_at_the_end, ECN | V46 },
	{ "rfc3168-ce-at-the-end-of-a-stretch", ce_at_the_end, ECN },
	{ "rfc3168-ce-at-the-begin-cwr-at-the-end", ce_to_cwr, ECN },
	{},
};
