// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Segments behind gaps that a peer never fills, on many connections, and another peer that has a gap as well. What may
 * be kept is shared by all of them on the direct path, and each socket's own on the kernel path.
 */
#include "tests/net/conduct/conduct.h"

#define FRAMES 4096 /* of an engine with default options may be kept */
#define HOGS 12	    /* each takes half of what the one before has left, as far as it may */
#define BURST 32
#define BEHIND 200 /* segments of the other peer */

/* Sends `n` segments from behind the last one on; the first octet of all of them is missing. */
static void send_behind(struct peer *p, unsigned int n)
{
	while (n--) {
		p->nxt += FPDU;
		SEND(p, .seq = p->nxt, .len = FPDU);
		if (n % BURST == 0)
			quietly(p);
	}
}

static void hogs(struct peer *p)
{
	send_behind(p, FRAMES / 2 + BURST);
}

static void has_a_gap(struct peer *p)
{
	unsigned int i = 0;

	send_behind(p, BEHIND);
	/* The fence's block is the first, and that of the gap is behind it. */
	while (i < p->last.nsack && sack_edge(p, &p->last, i, 1) != (BEHIND + 1) * FPDU)
		i++;
	if (i == p->last.nsack || sack_edge(p, &p->last, i, 0) != FPDU)
		FAIL(p, "what came behind a gap is not acknowledged");
	SEND(p, .seq = 0, .len = FPDU);
	p->nxt = (BEHIND + 1) * FPDU;
	caught_up(p);
	goes_on(p);
}

/*
 * Goes on to ask for room until the socket has what was kept, and answers it, a segment each. Then the gap is filled,
 * and nothing is missing.
 */
static void gives_way(struct peer *p)
{
	const uint64_t end = now_ms() + PATIENCE_MS;

	while (info(p)->path == XIW_PATH_DIRECT) {
		REQUIRE(p, now_ms() < end);
		for (int i = 0; i < BURST; i++) {
			p->nxt += FPDU;
			SEND(p, .seq = p->nxt, .len = FPDU);
		}
		pause_ms(20);
	}
	if (!info(p)->reasons[XIW_REASON_GAP])
		still_direct(p);
	SEND(p, .seq = 0, .len = FPDU);
	p->nxt += FPDU;
	caught_up(p);
	intact(p);
}

static const struct script hog = { "hog", hogs, 0 }, honest = { "honest", has_a_gap, 0 };

static void many_hogs(struct peer *p)
{
	struct peer *all[HOGS + 1];

	if (p->direct) {
		for (int i = 0; i < HOGS; i++)
			all[i] = another(p, &hog, p->v6);
		all[HOGS] = another(p, &honest, !p->v6);
		if (setjmp(all[0]->end))
			FAIL(p, "a hog: %s", all[0]->why);
		gives_way(all[0]);
		for (int i = 0; i <= HOGS; i++)
			leave(all[i]);
	}
	goes_on(p);
}

const struct script conduct_share[] = {
	{ "rfc2018-kept-for-each-peer", many_hogs, ALONE },
	{},
};
