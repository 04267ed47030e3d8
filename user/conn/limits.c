// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Time limits for peers that are gone or silent:
 *
 *   startup                  startup_timeout_ms, by xiw_conn_deadline()
 *   open, nothing under way  keepalive_ms until the kernel's first keepalive probe; see xiw_sock_limit()
 *   open, octets under way   user_timeout_ms, by TCP_USER_TIMEOUT; also for a peer that does not read
 *   closing                  close_timeout_ms without an octet either way
 *   after an error           terminate_timeout_ms for the last message and the peer's FIN, whatever moves
 *   a hold                   hold_ms until a buffer is posted; no limit of the peer (path/hold.h)
 *   a hold, the peer closed  hold_closed_ms, as nobody waits for the answer
 *
 * The kernel's timers end the socket, and io_uring reports that. An end that the peer or a lack of memory
 * causes is asked for, and the turn carries it out: see xiw_conn_ask_end().
 */
#include "conn/limits.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "conn/sockopts.h"
#include "conn/unfinished.h"
#include "core/agenda.h"
#include "core/srq.h"
#include "core/timer.h"
#include "path/fallback.h"
#include "path/hold.h"

#define LOOK_MS 1000
#define QUARTERS 4    /* checks for movement within close_timeout_ms */
#define CLOSES 3      /* a close takes no longer than so many close_timeout_ms, whatever moves */
/* Of the kernel's enum. */
#define STATE_CLOSE 7
#define STATE_CLOSE_WAIT 8

/* ---- the kernel's timers ----------------------------------------------------------------------- */

static bool limited(unsigned int ms)
{
	return ms != XIW_NO_LIMIT;
}

void xiw_conn_limit_peer(struct xiw_conn *c)
{
	if (!c->sock_was.limited) /* by a listener of ours */
		xiw_sock_limit(c->fd, &c->opts, &c->sock_was);
	c->timer.alive_ms = xiw_alive_due(c);
}

/* ---- limits of our own --------------------------------------------------------------------------- */

/*
 * Counts the octets that the peer has sent, and those of ours that it has acknowledged. Returns the state of the
 * socket, which is CLOSE if it is not connected any more.
 */
static unsigned int look(const struct xiw_conn *c, uint64_t *octets)
{
	struct tcp_info info = {};
	socklen_t len = sizeof(info);

	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return STATE_CLOSE;
	*octets = info.tcpi_bytes_acked;
	/* After an error the peer's octets are thrown away, so they are no reason to wait. */
	if (!c->rx_dead)
		*octets += c->counts.stream_direct + info.tcpi_bytes_received;
	return info.tcpi_state;
}

/* The socket has ended while no operation of io_uring was under way that would have reported it. */
static void lost(struct xiw_conn *c)
{
	socklen_t len = sizeof(int);
	int err = 0;

	getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &len);
	xiw_conn_broken(c, err ? err : ECONNRESET);
}

static unsigned int quarter(const struct xiw_conn *c)
{
	return c->opts.close_timeout_ms / QUARTERS + 1;
}

static void limit_close(struct xiw_conn *c)
{
	if (!limited(c->opts.close_timeout_ms)) {
		xiw_conn_deadline(c, XIW_LIMIT_NONE, 0);
		xiw_conn_poll_socket(c);
		return;
	}
	c->timer.stalls = c->timer.looks = 0;
	look(c, &c->timer.moved);
	xiw_conn_deadline(c, XIW_LIMIT_CLOSE, quarter(c));
}

void xiw_conn_limit_close(struct xiw_conn *c)
{
	c->end.limited = true;
	/* What is queued for XIW_LIMIT_FIRST is sent first. */
	if (c->timer.limit != XIW_LIMIT_CLOSE && c->timer.limit != XIW_LIMIT_LAST &&
	    c->timer.limit != XIW_LIMIT_FIRST)
		limit_close(c);
}

void xiw_conn_limit_last(struct xiw_conn *c)
{
	if (limited(c->opts.terminate_timeout_ms))
		xiw_conn_deadline(c, XIW_LIMIT_LAST, c->opts.terminate_timeout_ms);
	else
		limit_close(c);
}

void xiw_conn_limit_started(struct xiw_conn *c)
{
	if (c->timer.limit == XIW_LIMIT_STARTUP)
		xiw_conn_deadline(c, XIW_LIMIT_NONE, 0);
	if (c->send.allowed || !c->opts.send_first)
		return;
	/* A close that is under way is limited from then on. */
	if (c->opts.send_first_ms)
		xiw_conn_deadline(c, XIW_LIMIT_FIRST, c->opts.send_first_ms);
	else
		c->send.allowed = true;
}

void xiw_conn_poll_socket(struct xiw_conn *c)
{
	if (c->end.eof && c->timer.limit == XIW_LIMIT_NONE)
		xiw_conn_deadline(c, XIW_LIMIT_POLL, LOOK_MS);
}

/* Says whether what has arrived waits for the application, so that the peer is not to blame. */
static bool application_waits(const struct xiw_conn *c)
{
	return !c->rx_dead && (xiw_octets_wait(c) || xiw_cq_room(c->engine) <= XIW_CQ_RESERVE);
}

/*
 * Checks a close that is under way: asks for the end if nothing has moved for close_timeout_ms, or if it has taken
 * CLOSES times as long, since a peer may send an octet now and then for ever.
 */
static void closing(struct xiw_conn *c)
{
	const bool waits = application_waits(c);
	uint64_t octets = c->timer.moved;

	if (look(c, &octets) == STATE_CLOSE && c->end.eof) {
		lost(c);
		return;
	}
	c->timer.stalls = octets != c->timer.moved || waits ? 0 : c->timer.stalls + 1;
	c->timer.looks += !waits;
	if (c->timer.stalls == QUARTERS || c->timer.looks == CLOSES * QUARTERS) {
		xiw_conn_ask_end(c, ETIMEDOUT, true);
		return;
	}
	c->timer.moved = octets;
	xiw_conn_deadline(c, XIW_LIMIT_CLOSE, quarter(c));
}

void xiw_conn_limit(struct xiw_conn *c, enum xiw_limit limit)
{
	uint64_t octets;

	switch (limit) {
	case XIW_LIMIT_NONE:
	case XIW_LIMIT_STARTUP:
		break;
	case XIW_LIMIT_CLOSE:
		closing(c);
		break;
	case XIW_LIMIT_LAST:
		xiw_conn_ask_end(c, ETIMEDOUT, true);
		break;
	case XIW_LIMIT_POLL:
		if (look(c, &octets) != STATE_CLOSE)
			xiw_conn_poll_socket(c);
		else
			lost(c);
		break;
	case XIW_LIMIT_FIRST:
		c->send.allowed = true;
		xiw_dirty(c);
		if (c->end.limited)
			limit_close(c);
		else
			xiw_conn_poll_socket(c);
		break;
	}
}

/* Looks at the socket now and then: one call of the system each time a buffer is looked for would be too many. */
static bool held_socket_lives(struct xiw_conn *c)
{
	const uint64_t now = c->engine->now_ms;
	const unsigned int closed_ms = c->opts.hold_closed_ms;
	unsigned int state;
	uint64_t octets;

	if (now < c->hold.look_ms)
		return true;
	c->hold.look_ms = now + LOOK_MS;
	state = look(c, &octets);
	if (state != STATE_CLOSE_WAIT || !closed_ms || now < c->hold.since_ms + closed_ms)
		return state != STATE_CLOSE;
	c->counts.holds_expired++;
	return false;
}

void xiw_conn_limit_hold(struct xiw_conn *c)
{
	c->timer.hold_ms = XIW_NEVER;
	xiw_patience_end(c);
	if (!c->hold.waits || c->state == XIW_DEAD || c->end.asked)
		return;
	if (xiw_srq_has(c)) {
		xiw_hold_posted(c);
	} else if (c->hold.until_ms <= c->engine->now_ms) {
		xiw_hold_expire(c);
	} else if (!held_socket_lives(c)) {
		lost(c);
	} else {
		xiw_unfinished_look(c);
		xiw_hold_watch(c);
	}
}

/* ---- a close that is asked for ------------------------------------------------------------------- */

void xiw_conn_ask_close(struct xiw_conn *c)
{
	if (c->state == XIW_DEAD)
		return;
	xiw_dirty(c);
	if (c->end.closing)
		return;
	c->end.closing = true;
	xiw_conn_limit_close(c);
}
