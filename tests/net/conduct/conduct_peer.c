// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A script's peer: the handshake, MPA's startup, the stream, and what comes back. */
#include <linux/sockios.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tests/net/conduct/conduct.h"

#define MSS 1448
#define AGAIN_MS 700
#define AGAIN_AT 50000000 /* so much further is the ISN of another connection, seconds later */
#define FENCES 1400 /* places: a segment that comes again is one that nobody heard of */
#define FENCE_LEN 2
#define FENCE_AT (PREAMBLE * FPDU) /* so far back: the first octets of the preamble */

void pause_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

void peer_fail(struct peer *p, int line, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(p->why, sizeof(p->why),
			 "%s path, line %d: ", p->direct ? "direct" : "kernel", line);

	va_start(ap, fmt);
	vsnprintf(p->why + n, sizeof(p->why) - (size_t)n, fmt, ap);
	va_end(ap);
	longjmp(p->end, 1);
}

void note(struct peer *p, const char *fmt, ...)
{
	size_t room = TRACE_MAX - p->trace_len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(p->trace + p->trace_len, room, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < room)
		p->trace_len += (size_t)n;
}

/* ---- in ------------------------------------------------------------------------------------------ */

int32_t acked(const struct peer *p, const struct raw_got *g)
{
	return (int32_t)(g->ack - p->origin);
}

int32_t sack_edge(const struct peer *p, const struct raw_got *g, unsigned int block,
		  unsigned int side)
{
	return (int32_t)(g->sack[block][side] - p->origin);
}

bool sacks(const struct peer *p, const struct raw_got *g, unsigned int block, int32_t from,
	   int32_t to)
{
	return block < g->nsack && sack_edge(p, g, block, 0) == from &&
	       sack_edge(p, g, block, 1) == to;
}

int32_t edge(const struct peer *p)
{
	return (int32_t)(p->edge - p->origin);
}

int32_t echoed(const struct peer *p, const struct raw_got *g)
{
	return (int32_t)(g->tsecr - p->clock);
}

/* What a peer can see of a reply, but for the window; without the SACK blocks in front of `first`. */
static void note_reply(struct peer *p, const char *what, const struct raw_got *g,
		       unsigned int first)
{
	note(p, "  %s %s%s%s%s%s%s seq %+d ack %+d len %u", what, g->flags & RAW_SYN ? "S" : "",
	     g->flags & RAW_FIN ? "F" : "", g->flags & RAW_RST ? "R" : "",
	     g->flags & RAW_ACK ? "A" : "", g->flags & RAW_ECE ? "E" : "",
	     g->flags & RAW_CWR ? "W" : "", (int32_t)(g->seq - p->theirs), acked(p, g), g->len);
	for (unsigned int i = first; i < g->nsack; i++)
		note(p, " [%d,%d)", sack_edge(p, g, i, 0), sack_edge(p, g, i, 1));
	if (g->has_ts)
		note(p, " ecr %+d", (int32_t)(g->tsecr - p->clock0));
	note(p, "\n");
}

/* The next segment, and what each shows: right checksums, and a right edge that never moves back. */
static bool receive(struct peer *p, struct raw_got *g, int timeout_ms)
{
	uint32_t right;

	if (!raw_receive(&p->raw, g, timeout_ms))
		return false;
	if (!g->good)
		FAIL(p, "an ill-formed segment, or a wrong checksum");
	if (g->flags & RAW_RST)
		return true;
	if (!(g->flags & RAW_SYN) && g->has_ts == !!(p->flags & NO_TS))
		FAIL(p, "a segment %s timestamp", g->has_ts ? "with a" : "without");
	right = g->ack + ((uint32_t)g->wnd << (g->flags & RAW_SYN ? 0 : p->wscale));
	/* RFC 9293 section 3.8.6: "should not shrink the window". A segment of before may come late. */
	if ((int32_t)(right - p->edge) > 0 || g->flags & RAW_SYN)
		p->edge = right;
	else if (right != p->edge && (int32_t)(g->ack - p->last.ack) >= 0)
		p->edge_back = true;
	p->last = *g;
	if (p->flags & LOUD && g->len && g->seq == p->theirs)
		p->theirs += g->len;
	return true;
}

static struct raw_got *keep_reply(struct peer *p, const struct raw_got *g)
{
	if (p->n == REPLIES)
		FAIL(p, "more than %d segments in answer", REPLIES);
	p->got[p->n] = *g;
	return &p->got[p->n++];
}

static int32_t fence_at(const struct peer *p)
{
	return -FENCE_AT + (int32_t)p->fences;
}

static bool is_fence(const struct peer *p, const struct raw_got *g)
{
	int32_t at = fence_at(p);

	return sacks(p, g, 0, at, at + FENCE_LEN);
}

/* Retransmits like a real peer: a stalled receiver has the segment in a ring that it does not read. */
static void send_fence(struct peer *p)
{
	bool stands = p->clock_stands;

	p->clock_stands = true; /* however often this is */
	SEND(p, .seq = fence_at(p), .len = FENCE_LEN);
	p->clock_stands = stands;
}

static void fence(struct peer *p)
{
	uint64_t end = now_ms() + PATIENCE_MS, quiet = now_ms() + QUIET_MS, again = 0;
	const unsigned int before = p->n; /* answers that are not the fence's */
	struct raw_got g;

	p->fences = p->fences % FENCES + 1;
	while (now_ms() < end) {
		if (now_ms() >= again && !(p->flags & NO_SACK && again)) {
			send_fence(p);
			again = now_ms() + AGAIN_MS;
		}
		if (!receive(p, &g, 20)) {
			if (p->flags & NO_SACK && p->n > before && now_ms() > quiet)
				return;
			continue;
		}
		if (is_fence(p, &g))
			return;
		if (g.nsack && sack_edge(p, &g, 0, 0) <= -FENCE_AT + FENCES)
			continue; /* of one that was sent again */
		keep_reply(p, &g);
		quiet = now_ms() + QUIET_MS;
	}
	FAIL(p, "a duplicate was not answered");
}

/* Linux moves the edge back if it has no memory for a segment. */
static void check_edge(struct peer *p)
{
	if (p->edge_back && !(p->flags & ALONE))
		FAIL(p, "the window's right edge moved back");
}

void quietly(struct peer *p)
{
	p->n = 0;
	fence(p);
	check_edge(p);
}

static void note_last(struct peer *p)
{
	note_reply(p, "then", &p->last, p->flags & NO_SACK ? 0 : 1);
}

void answers(struct peer *p)
{
	quietly(p);
	note_last(p);
}

/* The fence follows the first answer, because TCP may answer segments that come together with one ACK. */
static void await_first(struct peer *p)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	struct raw_got g;

	p->n = 0;
	while (!receive(p, &g, 20))
		if (now_ms() > end)
			FAIL(p, "no answer");
	keep_reply(p, &g);
}

void answered(struct peer *p)
{
	await_first(p);
	fence(p);
	check_edge(p);
}

struct raw_got *one(struct peer *p)
{
	struct raw_got *g = &p->got[0];

	await_first(p);
	note_reply(p, "answer", g, 0);
	fence(p);
	if (p->n != 1 + !!(p->flags & NO_SACK) || g->len ||
	    (g->flags & ~(RAW_ECE | RAW_CWR)) != RAW_ACK)
		FAIL(p, "%u answers, the first with flags %#x; one ACK is due", p->n, g->flags);
	note_last(p);
	return g;
}

void none(struct peer *p)
{
	p->n = 0;
	pause_ms(10); /* not to be merged */
	fence(p);
	if (p->n != 0 + !!(p->flags & NO_SACK))
		FAIL(p, "%u answers, the first with flags %#x; none is due", p->n, p->got[0].flags);
	note_last(p);
}

struct raw_got *await(struct peer *p, bool (*match)(struct peer *p, const struct raw_got *g))
{
	uint64_t end = now_ms() + PATIENCE_MS;
	struct raw_got g;

	p->n = 0;
	while (now_ms() < end)
		if (receive(p, &g, 20) && match(p, &g))
			return keep_reply(p, &g);
	FAIL(p, "what was awaited did not come; %d acknowledged, flags %#x", acked(p, &p->last),
	     p->last.flags);
}

bool has_data(struct peer *p, const struct raw_got *g)
{
	(void)p;
	return g->len;
}

void until_acked(struct peer *p)
{
	int left = 1;

	for (int i = 0; i < PATIENCE_MS / 5 && !ioctl(p->app->fd, SIOCOUTQ, &left) && left; i++)
		pause_ms(5);
	REQUIRE(p, left == 0);
}

/* ---- in order ------------------------------------------------------------------------------------ */

/* All at one moment of the peer's clock, because which segment is echoed depends on which were acknowledged. */
static void burst(struct peer *p, unsigned int n)
{
	p->clock++;
	p->clock_stands = true;
	for (; n; n--, p->nxt += FPDU)
		SEND(p, .seq = p->nxt, .len = FPDU, .flags = RAW_ACK | RAW_PSH);
	p->clock_stands = false;
}

/*
 * Everything is acknowledged when the fence is answered; or later, because at the begin of a direct stretch the engine
 * waits until the socket has been read, and the socket answers the fence. Lost segments are sent again.
 */
void caught_up(struct peer *p)
{
	uint64_t end = now_ms() + PATIENCE_MS, again = now_ms() + AGAIN_MS;
	struct raw_got g;

	while (acked(p, &p->last) != p->nxt) {
		if (now_ms() > end || acked(p, &p->last) > p->nxt)
			FAIL(p, "acknowledged up to %d, not %d", acked(p, &p->last), p->nxt);
		if (receive(p, &g, 20) || now_ms() < again)
			continue;
		/* Linux shrinks its window to 0 if it has no memory. */
		if (p->flags & ALONE && !p->last.wnd && now_ms() > again + AGAIN_MS) {
			p->nxt = acked(p, &p->last);
			p->edge = p->last.ack;
			return;
		}
		/* As after a time-out: sends as much as is answered, until everything is. */
		for (int32_t at = acked(p, &p->last), i = 0; at < p->nxt && i < 16; i++) {
			int32_t len = FPDU - (at & (FPDU - 1));

			SEND(p, .seq = at,
			     .len = (uint32_t)(len < p->nxt - at ? len : p->nxt - at));
			at += len;
		}
	}
}

void deliver(struct peer *p, unsigned int n)
{
	burst(p, n);
	quietly(p);
	caught_up(p);
}

void awaits(struct peer *p, _Atomic bool *flag, const char *what)
{
	for (uint64_t end = now_ms() + PATIENCE_MS; !*flag; pause_ms(2))
		if (now_ms() > end)
			FAIL(p, "the application was not told: %s", what);
}

void goes_on(struct peer *p)
{
	deliver(p, 4);
	intact(p);
	note(p, "goes on\n");
}

const struct xiw_conn_info *info(struct peer *p)
{
	p->app->want |= APP_INFO;
	for (uint64_t end = now_ms() + PATIENCE_MS; p->app->want & APP_INFO; pause_ms(1))
		if (now_ms() > end)
			FAIL(p, "the application stands still");
	return &p->app->info;
}

void still_direct(struct peer *p)
{
	const struct xiw_conn_info *i = p->direct ? info(p) : NULL;
	unsigned int why = 0;

	if (!i || i->path == XIW_PATH_DIRECT)
		return;
	while (why < sizeof(i->reasons) / sizeof(i->reasons[0]) - 1 && !i->reasons[why])
		why++;
	FAIL(p, "the flow is not DIRECT any more: reason %u, %s", why, i->no_direct);
}

void ends(struct peer *p, int status)
{
	awaits(p, &p->app->closed, "closed");
	note(p, "ended %d\n", p->app->status);
	if (p->app->status != status)
		FAIL(p, "ended with %d, not %d", p->app->status, status);
}

/* ---- the beginning ------------------------------------------------------------------------------- */

static void syn_options(const struct peer *p, struct raw_seg *r)
{
	uint8_t *o = r->opt;

	o[0] = 2;
	o[1] = 4;
	put(o + 2, MSS, 2);
	o[4] = 1;
	o[5] = 3;
	o[6] = 3;
	o[7] = p->flags & WIDE ? 14 : 0;
	if (p->flags & NO_WSCALE)
		memset(o + 4, 1, 4);
	r->opt_len = 8;
	if (!(p->flags & NO_SACK)) {
		memcpy(o + 8, "\1\1\4\2", 4);
		r->opt_len += 4;
	}
	if (!(p->flags & NO_TS))
		put_ts(p, r, p->clock);
}

static bool is_syn(struct peer *p, const struct raw_got *g)
{
	(void)p;
	return g->flags & RAW_SYN;
}

static void handshake(struct peer *p, uint32_t isn)
{
	struct raw_seg r = { .seq = isn, .flags = RAW_SYN, .wnd = 65535 };
	struct raw_got *g;

	if (p->flags & ECN)
		r.flags |= RAW_ECE | RAW_CWR;
	syn_options(p, &r);
	p->origin = isn + 1; /* for now */
	if (!raw_send(&p->raw, &r))
		FAIL(p, "send: %m");
	g = await(p, is_syn);
	if ((g->flags & ~RAW_ECE) != (RAW_SYN | RAW_ACK) || g->ack != isn + 1)
		FAIL(p, "no SYN-ACK");
	if (g->has_ts == !!(p->flags & NO_TS) || g->sack_ok == !!(p->flags & NO_SACK) ||
	    !!(g->flags & RAW_ECE) != !!(p->flags & ECN))
		FAIL(p, "negotiation of options");
	p->wscale = g->wscale < 0 ? 0 : g->wscale;
	p->theirs = g->seq + 1;
	SEND(p, .seq = 0);
}

void connect_again(struct peer *p)
{
	p->nxt = 0;
	handshake(p, p->origin + AGAIN_AT);
}

/* RFC 5044 section 7.1: with CRC, without Markers. */
void startup(struct peer *p)
{
	struct raw_seg r = { .seq = p->origin,
			     .ack = p->theirs,
			     .flags = RAW_ACK | RAW_PSH,
			     .wnd = 65535,
			     .data = (const uint8_t *)"MPA ID Req Frame\x40\1\0",
			     .len = 20 };
	struct raw_got *g;

	if (!(p->flags & NO_TS))
		put_ts(p, &r, ++p->clock);
	if (!raw_send(&p->raw, &r))
		FAIL(p, "send: %m");
	g = await(p, has_data);
	if (g->len != 20 || memcmp(g->data, "MPA ID Rep Frame\x40\1\0", 20))
		FAIL(p, "MPA's Reply");
	p->theirs = g->seq + 20;
	p->origin += 20;
	SEND(p, .seq = 0);
}

void go_direct(struct peer *p)
{
	unsigned int tries = 50;
	bool ready;

	do {
		if (!tries--)
			FAIL(p, "the flow does not go DIRECT");
		/* Once more when the flow is DIRECT: at the begin of a stretch the socket may still answer. */
		ready = !p->direct || info(p)->path == XIW_PATH_DIRECT;
		burst(p, PREAMBLE);
		/* From here on numbers are relative to this place. */
		p->begun += (unsigned int)p->nxt / FPDU;
		p->origin += (uint32_t)p->nxt;
		p->nxt = 0;
		quietly(p);
		caught_up(p);
		p->clock0 = p->clock;
	} while (!ready);
}

bool peer_run(struct peer *p)
{
	if (setjmp(p->end))
		return false;
	handshake(p, p->flags & WRAP ? 0u - (1 + 20 + PREAMBLE * FPDU + 600) : 0x1234567);
	startup(p);
	go_direct(p);
	p->script->run(p);
	check_edge(p);
	return true;
}
