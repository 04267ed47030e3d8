// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a peer that is gone, or does nothing, comes to. Every wait for a peer has a limit:
 *
 *   startup                  startup_timeout_ms, by xiw_conn_deadline()
 *   open, nothing under way  keepalive_ms, by the kernel's keepalive
 *   open, octets under way   user_timeout_ms, by TCP_USER_TIMEOUT: also for a peer that does not read
 *   closing                  close_timeout_ms without an octet either way
 *   after an error           terminate_timeout_ms for the last message and the peer's FIN, whatever moves
 *
 * The kernel's timers end the socket, and io_uring tells. An end that is the peer's, or comes of a lack of memory,
 * is asked for, and the turn carries it out: see xiw_conn_ask_end().
 */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "core/internal.h"

#define LOOK_MS 1000
#define QUARTERS 4    /* of close_timeout_ms: so often is looked whether anything moves */
#define STATE_CLOSE 7 /* TCP_CLOSE of the kernel's enum */

/* ---- the kernel's timers ----------------------------------------------------------------------- */

static bool limited(unsigned int ms)
{
	return ms != XIW_NO_LIMIT;
}

void xiw_conn_watch_peer(struct xiw_conn *c)
{
	xiw_sock_limit(c->fd, &c->opts, &c->sock_was);
	if (limited(c->opts.keepalive_ms))
		c->vouch_ms = c->engine->now_ms + c->opts.keepalive_ms / 2;
}

/*
 * The socket does not see the octets of the direct path, and would take a peer that sends nothing but these for
 * idle. Its probes would be answered, by segments that XDP passes; but one lost answer counts for more than it
 * would on the kernel's path. So the socket is told now and then, by the acknowledgement that the peer's
 * segments carry.
 */
void xiw_conn_vouch(struct xiw_conn *c)
{
	struct xiw_tcp_rx *rx = &c->tcp;

	c->vouch_ms = c->engine->now_ms + c->opts.keepalive_ms / 2;
	rx->news.ack = rx->snd_una;
	rx->news.wnd = rx->snd_wnd;
	rx->news.has_ts = rx->flags & XIW_TCP_RX_TS;
	rx->news.tsval = rx->ts_recent;
	rx->inject_needed |= XIW_TCP_NEWS_ACK;
}

/* ---- limits of our own --------------------------------------------------------------------------- */

/* Octets that the peer sent, and those of ours that he acknowledged. False: the socket is no connection any more. */
static bool look(const struct xiw_conn *c, uint64_t *octets)
{
	struct tcp_info info = {};
	socklen_t len = sizeof(info);

	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return false;
	*octets = info.tcpi_bytes_acked;
	/* After an error his are thrown away, and are no reason to wait. */
	if (!c->rx_dead)
		*octets += c->stream_direct + info.tcpi_bytes_received;
	return info.tcpi_state != STATE_CLOSE;
}

/* The socket has ended, and no operation waits there that would have told. */
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

void xiw_conn_limit_close(struct xiw_conn *c)
{
	if (!limited(c->opts.close_timeout_ms)) {
		xiw_conn_deadline(c, XIW_LIMIT_NONE, 0);
		xiw_conn_look(c);
		return;
	}
	c->stalls = 0;
	look(c, &c->moved);
	xiw_conn_deadline(c, XIW_LIMIT_CLOSE, quarter(c));
}

void xiw_conn_limit_last(struct xiw_conn *c)
{
	if (limited(c->opts.terminate_timeout_ms))
		xiw_conn_deadline(c, XIW_LIMIT_LAST, c->opts.terminate_timeout_ms);
	else
		xiw_conn_limit_close(c);
}

/* After the peer's FIN no receive is under way. */
void xiw_conn_look(struct xiw_conn *c)
{
	if (c->eof && c->limit == XIW_LIMIT_NONE)
		xiw_conn_deadline(c, XIW_LIMIT_LOOK, LOOK_MS);
}

/* What has arrived waits for the application, not for the peer. */
static bool application_waits(const struct xiw_conn *c)
{
	return c->held_n || xiw_cq_room(c->engine) <= XIW_CQ_RESERVE;
}

static void closing(struct xiw_conn *c)
{
	uint64_t octets = c->moved;

	if (!look(c, &octets) && c->eof) {
		lost(c);
		return;
	}
	if (octets != c->moved || application_waits(c))
		c->stalls = 0;
	else if (++c->stalls == QUARTERS) {
		xiw_conn_end(c, ETIMEDOUT);
		return;
	}
	c->moved = octets;
	xiw_conn_deadline(c, XIW_LIMIT_CLOSE, quarter(c));
}

/* A deadline has come. */
void xiw_conn_limit(struct xiw_conn *c)
{
	const enum xiw_limit limit = c->limit;
	uint64_t octets;

	xiw_conn_deadline(c, XIW_LIMIT_NONE, 0);
	if (c->state == XIW_DEAD || c->ending)
		return;
	switch (limit) {
	case XIW_LIMIT_NONE:
		break;
	case XIW_LIMIT_STARTUP:
		xiw_startup_timeout(c);
		break;
	case XIW_LIMIT_CLOSE:
		closing(c);
		break;
	case XIW_LIMIT_LAST:
		xiw_conn_end(c, ETIMEDOUT);
		break;
	case XIW_LIMIT_LOOK:
		if (look(c, &octets))
			xiw_conn_look(c);
		else
			lost(c);
		break;
	}
}

/* ---- ends that are asked for --------------------------------------------------------------------- */

/*
 * From wherever that is found out, the middle of a delivery as well. The turn ends the connection when what has
 * arrived before was delivered: in the socket, in buffers that wait for room in the completion queue, and in
 * frames. The application's xiw_conn_abort() does not wait for that.
 */
void xiw_conn_ask_end(struct xiw_conn *c, int error, bool at_once)
{
	if (c->state == XIW_DEAD)
		return;
	c->at_once |= at_once;
	if (c->ending)
		return;
	c->ending = true;
	c->end_error = error;
	c->next_ending = c->engine->ending;
	c->engine->ending = c;
	/* The receive that is under way gives what there is, and then the end. */
	if (!c->eof && c->fd >= 0)
		shutdown(c->fd, SHUT_RD);
}

/* The connection was reset, or lost by a time-out (RFC 5044 section 8). */
void xiw_conn_broken(struct xiw_conn *c, int error)
{
	if (!c->mpa_error && !c->ddp_error)
		c->mpa_error = XIW_MPA_ERR_CLOSED;
	xiw_conn_ask_end(c, error, false);
}

/* Likewise; what is queued is sent, and the peer's messages are delivered until he closes. */
void xiw_conn_ask_close(struct xiw_conn *c)
{
	if (c->state == XIW_DEAD)
		return;
	xiw_dirty(c);
	if (c->closing)
		return;
	c->closing = true;
	if (c->limit != XIW_LIMIT_CLOSE && c->limit != XIW_LIMIT_LAST)
		xiw_conn_limit_close(c);
}

/* What came by the direct path before the socket ended is in the rings by now. */
static bool frames_taken(struct xiw_conn *c)
{
	struct xiw_engine *e = c->engine;
	struct xiw_port *p = c->port;

	if (!c->flow || xiw_owner_path(xiw_flow_owner(c->flow)) != XIW_PATH_DIRECT)
		return true;
	for (uint32_t i = 0; i < p->nqueues; i++) {
		struct xiw_rxq *q = &p->queues[i];

		/* No more than there can be now: others' frames may never end. */
		for (uint32_t n = 0; n <= e->opts.frames; n += q->batch) {
			if (xiw_cq_room(e) <= XIW_CQ_RESERVE)
				return false;
			if (!xiw_poll_queue(e, q))
				break;
		}
	}
	return true;
}

static bool delivered(struct xiw_conn *c)
{
	return c->at_once || c->rx_dead || (c->eof && !c->held_n && frames_taken(c));
}

void xiw_ends(struct xiw_engine *e)
{
	struct xiw_conn *c, *waiting = NULL;

	while ((c = e->ending)) {
		e->ending = c->next_ending;
		if (c->state != XIW_DEAD && !delivered(c)) {
			c->next_ending = waiting;
			waiting = c;
			continue;
		}
		xiw_conn_end(c, c->end_error);
	}
	e->ending = waiting;
}

void xiw_ends_forget(struct xiw_conn *c)
{
	struct xiw_conn **at = &c->engine->ending;

	while (*at && *at != c)
		at = &(*at)->next_ending;
	if (*at)
		*at = c->next_ending;
}
