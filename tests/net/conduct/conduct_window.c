// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A receiver that takes nothing for a while: RFC 9293 sections 3.8.6, 3.8.6.1 and 3.8.6.2.2. */
#include "tests/net/conduct/conduct.h"

#define MOST (24 << 20) /* octets: far more than windows, queues and buffers hold */

/* Sends like a real TCP: never beyond the window's edge, in bursts that fit every ring, to the last octet. */
static void fill_once(struct peer *p)
{
	for (unsigned int i = 1; edge(p) - p->nxt > 0; i++) {
		int32_t len = edge(p) - p->nxt < 4 * FPDU ? edge(p) - p->nxt : 4 * FPDU;

		REQUIRE(p, p->nxt < MOST);
		SEND(p, .seq = p->nxt, .len = (uint32_t)len);
		p->nxt += len;
		if (i % 4 == 0)
			quietly(p);
	}
	quietly(p);
	caught_up(p);
}

static void fill(struct peer *p)
{
	do {
		fill_once(p);
		pause_ms(300); /* longer than the watchdog's patience */
		quietly(p);
		caught_up(p);
	} while (edge(p) - p->nxt > 0);
}

static bool opened(struct peer *p, const struct raw_got *g)
{
	return g->wnd && edge(p) - p->nxt >= 2 * FPDU;
}

static void zero_window(struct peer *p)
{
	fill(p);
	/* A probe is answered (MUST-35 ff.), and nothing of it is taken. */
	for (int i = 0; i < 3; i++) {
		SEND(p, .seq = p->nxt, .len = 1);
		quietly(p);
		REQUIRE(p, p->n == 1 && acked(p, &p->got[0]) == p->nxt && !p->got[0].wnd);
		SEND(p, .seq = p->nxt - 1);
		quietly(p);
		REQUIRE(p, acked(p, &p->last) == p->nxt && !p->last.wnd);
	}
	/* The receiver announces the opening of the window on its own. */
	app_deaf = app_hangs = false;
	await(p, opened);
	/* The rest of an FPDU first. */
	if (p->nxt % FPDU) {
		int32_t len = FPDU - p->nxt % FPDU;

		SEND(p, .seq = p->nxt, .len = (uint32_t)len);
		p->nxt += len;
	}
	goes_on(p);
	go_direct(p);
	goes_on(p);
}

/* An application that takes no completions. */
static void deaf(struct peer *p)
{
	app_deaf = true;
	zero_window(p);
}

/* An application that does not run the engine. */
static void hangs(struct peer *p)
{
	app_hangs = true;
	zero_window(p);
}

const struct script conduct_window[] = {
	{ "rfc9293-zero-window-deaf-application", deaf, ALONE },
	{ "rfc9293-zero-window-hanging-application", hangs, ALONE },
	{},
};
