// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A receiver that takes nothing for a while: RFC 9293 sections 3.8.6, 3.8.6.1 and 3.8.6.2.2. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

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
		answered(p);
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

/*
 * The socket has a small window, as one without memory has it: Linux then takes back what it promised. It is the only
 * one that does, but the kernel path's peer hears of it.
 */
static void take_back(struct peer *p, uint32_t window)
{
	int on = TCP_REPAIR_ON, off = TCP_REPAIR_OFF_NO_WP, clamp = (int)window, fd = p->app->fd;
	struct tcp_repair_window w;
	socklen_t len = sizeof(w);

	REQUIRE(p, !setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)));
	REQUIRE(p, !getsockopt(fd, IPPROTO_TCP, TCP_REPAIR_WINDOW, &w, &len));
	w.rcv_wnd = window;
	REQUIRE(p, !setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_WINDOW, &w, sizeof(w)));
	REQUIRE(p, !setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof(clamp)));
	REQUIRE(p, !setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)));
}

/*
 * What the peer acknowledges counts even if the socket has taken its window back and the peer, who was promised more,
 * stands beyond it: with both ends in this state, nothing would ever be acknowledged.
 */
static void taken_back(struct peer *p)
{
	int32_t beyond = p->direct ? edge(p) - FPDU : 0;

	/* Half an FPDU ends the stretch. */
	SEND(p, .seq = 0, .len = FPDU / 2);
	p->nxt = FPDU / 2;
	caught_up(p);
	info(p);
	if (p->direct)
		take_back(p, 4 * FPDU);
	for (int i = 0; i < 3; i++) {
		p->app->want |= APP_SEND;
		await(p, has_data);
		SEND(p, .seq = beyond > p->nxt ? beyond : p->nxt);
		until_acked(p);
	}
	SEND(p, .seq = p->nxt, .len = FPDU / 2);
	p->nxt = FPDU;
	caught_up(p);
	goes_on(p);
	go_direct(p);
	goes_on(p);
}

const struct script conduct_window[] = {
	{ "rfc9293-window-taken-back", taken_back, LOUD | ALONE },
	{ "rfc9293-zero-window-deaf-application", deaf, ALONE },
	{ "rfc9293-zero-window-hanging-application", hangs, ALONE },
	{},
};
