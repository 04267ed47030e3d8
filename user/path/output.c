// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the socket sends passes OUTPUT before xiw_egress, and TCP does not tell anybody that it is dropped there. If
 * xiw_egress sees nothing of it, the engine first asks the peer for a segment without data, by AF_XDP, where no
 * firewall drops it. XDP passes the peer's answer, so conntrack sees it in the socket's numbers, and TCP sends at once
 * what has waited. If that does not help, the stream falls back, so that the peer's data pass conntrack, too.
 */
#include "path/output.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "core/clock.h"
#include "path/acks.h"
#include "path/front.h"
#include "path/probe.h"
#include "path/progress.h"

/* Shorter than TCP's shortest time-out, so that two looks find what the first retransmission shows. */
#define LOOK_MS 150
#define TICKS_MS 20 /* two of the kernel's longest ticks */

static uint32_t left(const struct xiw_conn *c)
{
	return (uint32_t)__atomic_load_n(&c->flow->egress_segs, __ATOMIC_RELAXED);
}

static void look_later(struct xiw_conn *c)
{
	c->progress.output.look_ms = c->engine->now_ms + LOOK_MS;
	xiw_timer(c);
}

void xiw_output_watch(struct xiw_conn *c)
{
	struct xiw_output *o = &c->progress.output;

	/* now_ms may be old if the application has not run the engine for long. */
	xiw_clock_update(c->engine);
	o->left = left(c);
	o->injected = (uint32_t)c->counts.injected;
	o->asked = false;
	look_later(c);
}

static bool ask_socket(const struct xiw_conn *c, struct tcp_info *info)
{
	socklen_t len = sizeof(*info);

	return !getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, info, &len);
}

static void note_sent(struct xiw_output *o, const struct tcp_info *info)
{
	o->asked = true;
	o->sent = info->tcpi_segs_out;
	o->expired = info->tcpi_retransmits;
}

void xiw_output_answer(struct xiw_conn *c)
{
	struct tcp_info info = {};

	xiw_output_watch(c);
	if (ask_socket(c, &info))
		note_sent(&c->progress.output, &info);
}

/* Says whether the socket has something to send, or that the peer has not acknowledged as far as it knows. */
static bool waits(const struct tcp_info *i)
{
	return i->tcpi_unacked || i->tcpi_notsent_bytes;
}

/* The same of a socket that is asked. While its buffer is full, nobody writes, and no write has the next look made. */
static bool socket_waits(const struct xiw_conn *c)
{
	struct tcp_info info = {};

	return ask_socket(c, &info) && waits(&info);
}

/* With nothing on its way, and room in the peer's window, TCP sends at once. */
static bool held_up(const struct tcp_info *i)
{
	const uint32_t unsent = i->tcpi_notsent_bytes;

	return unsent && !i->tcpi_unacked &&
	       i->tcpi_snd_wnd >= (unsent < i->tcpi_snd_mss ? unsent : i->tcpi_snd_mss);
}

/* Says whether TCP has sent data in the last `ms`, which it counts in ticks. */
static bool sent_within(const struct tcp_info *i, uint64_t ms)
{
	return i->tcpi_unacked && i->tcpi_last_data_sent + TICKS_MS < ms;
}

/*
 * Says whether the socket has tried to send since it was last asked. TCP counts a retransmission as sent only if it
 * finds a route for it, but its timer goes on either way.
 */
static bool tried_since(const struct xiw_output *o, const struct tcp_info *i)
{
	return o->asked && (i->tcpi_segs_out != o->sent || i->tcpi_retransmits > o->expired);
}

/*
 * Says whether the socket has sent and nothing has reached xiw_egress since the last look, `ms` ago. The socket is
 * asked before the count is read, because packets reach xiw_egress later.
 */
static bool dropped(struct xiw_conn *c, uint64_t ms, struct tcp_info *info)
{
	struct xiw_output *o = &c->progress.output;
	bool tried;

	if (!ask_socket(c, info))
		return false;
	tried = held_up(info) || sent_within(info, ms) || tried_since(o, info);
	note_sent(o, info);
	return tried && left(c) == o->left;
}

static uint32_t came(const struct xiw_conn *c)
{
	return (uint32_t)__atomic_load_n(&c->flow->direct_segs, __ATOMIC_RELAXED);
}

/* In the state WAITS the receiver has no numbers yet, so that nothing can be sent by AF_XDP. */
static void ask_peer(struct xiw_conn *c)
{
	struct xiw_output *o = &c->progress.output;

	if (!o->elicited)
		o->came = came(c);
	o->elicited = true;
	if (c->stretch.state == XIW_STRETCH_RUNS)
		xiw_acks_elicit(c);
	xiw_output_watch(c);
}

/* If no data come from the peer, they do not help by the kernel path either, and an answer may have been lost. */
void xiw_output_unseen(struct xiw_conn *c)
{
	const struct xiw_output *o = &c->progress.output;

	if (!xiw_stretch_live(c))
		return;
	if (xiw_front_regain(c))
		xiw_output_watch(c);
	else if (o->elicited && came(c) != o->came)
		xiw_progress_blocked(c, XIW_REASON_OUTPUT);
	else
		ask_peer(c);
}

void xiw_output_look(struct xiw_conn *c)
{
	struct xiw_output *o = &c->progress.output;
	const bool refused = o->refused, wrote = o->wrote;
	const uint64_t since_ms = o->look_ms - LOOK_MS;
	struct tcp_info info = {};

	o->look_ms = XIW_NEVER;
	o->refused = o->wrote = false;
	if (!c->flow || !xiw_stretch_live(c)) {
		o->elicited = false;
		return;
	}
	if (refused) {
		ask_peer(c);
	} else if (xiw_probe_lost(c)) {
		xiw_progress_blocked(c, XIW_REASON_INJECT);
		o->elicited = false;
	} else if (left(c) != o->left) {
		o->elicited = false;
		if (wrote || xiw_probe_missing(c) || socket_waits(c))
			xiw_output_watch(c);
	} else if (dropped(c, c->engine->now_ms - since_ms, &info)) {
		xiw_output_unseen(c);
	} else if (waits(&info)) {
		look_later(c);
	} else {
		o->elicited = false;
	}
}
