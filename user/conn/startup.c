// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Exchanges MPA Request and Reply (RFC 5044 section 7.1, RFC 6581). The peer's frame is read to its end and not
 * further: a rejected connection goes on behind it as plain TCP, and no buffer is held while an application
 * decides.
 */
#include "conn/startup.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "conn/conn.h"
#include "conn/dial.h"
#include "conn/frames.h"
#include "conn/limits.h"
#include "conn/listener.h"
#include "conn/register.h"
#include "conn/rtr.h"
#include "conn/unstarted.h"
#include "core/agenda.h"
#include "core/cq.h"
#include "core/ring.h"
#include "core/timer.h"
#include "path/arm.h"
#include "path/kernel.h"

/* ---- sending ------------------------------------------------------------------------------------- */

void xiw_startup_sent(struct xiw_conn *c, int res)
{
	c->send.busy = false;
	if (c->state == XIW_DEAD)
		return;
	if (res < 0) {
		if (c->state == XIW_OPEN) {
			xiw_conn_broken(c, -res);
			return;
		}
		if (res == -ECONNRESET || res == -EPIPE || res == -ETIMEDOUT)
			c->end.mpa_error = XIW_MPA_ERR_CLOSED;
		xiw_conn_ask_end(c, -res, true);
		return;
	}
	c->startup.out_off += (uint32_t)res;
	if (c->startup.streaming && c->startup.out_off == c->startup.streaming_len) {
		free(c->startup.streaming);
		c->startup.streaming = NULL;
		c->startup.out_off = 0;
	}
	xiw_startup_send(c);
	if (c->send.busy)
		return;
	if (c->startup.refusing)
		xiw_conn_ask_end(c, c->startup.refusing, true);
	else if (c->startup.rejected)
		xiw_conn_ask_end(c, ECONNREFUSED, true);
	else if (!c->startup.rtr_wait && c->state == XIW_OPEN)
		xiw_conn_limit_started(c);
	if (c->send.count || c->end.closing)
		xiw_dirty(c);
	xiw_startup_forget(c);
}

static void send_frame(struct xiw_conn *c, const struct xiw_mpa_frame *frame)
{
	uint32_t n;

	/* It fits: the length was checked with the options, or by check_answer(). */
	c->startup.out_len =
		(uint32_t)xiw_mpa_frame_encode(frame, c->startup.frames->out, XIW_MPA_FRAME_MAX);
	/* Once the application has rejected, it may end before the next turn. */
	n = frame->reject ? xiw_startup_give(c) : 0;
	if (n)
		xiw_startup_sent(c, (int)n);
	else
		xiw_startup_send(c);
}

static void send_request(struct xiw_conn *c)
{
	struct xiw_mpa_frame frame = {
		.markers = c->opts.markers,
		.crc = !c->opts.no_crc,
		.pd = c->startup.frames->private_out,
		.pd_len = (uint16_t)c->opts.private_data_len,
	};

	if (c->ulp)
		xiw_rtr_offer(c);
	/* Rev 2 only where it is needed (RFC 6581 section 10). */
	if (!c->opts.revision)
		c->opts.revision = c->opts.enhanced ? 2 : 1;
	frame.rev = c->opts.revision;
	frame.has_enhanced = c->opts.enhanced;
	if (frame.has_enhanced)
		xiw_mpa_offer(&c->startup.terms, &frame.enhanced);
	send_frame(c, &frame);
}

/* ---- the peer's frame ---------------------------------------------------------------------------- */

/* The peer's frame is not valid: the connection ends. */
static void invalid(struct xiw_conn *c, int error)
{
	c->end.mpa_error = XIW_MPA_ERR_STARTUP;
	xiw_conn_ask_end(c, error, true);
}

/* Returns how many octets have come behind the peer's frame. */
static unsigned int unread(const struct xiw_conn *c)
{
	int n = 0;

	return !ioctl(c->fd, SIOCINQ, &n) && n > 0 ? (unsigned int)n : 0;
}

/*
 * Says whether octets have come behind a Request. An Initiator cannot know how to frame an FPDU until it has the Reply
 * (section 7.1.2 rule 2, first note). So they can only be Private Data beyond PD_Length, and the frame is improperly
 * formatted (rule 9). Nothing that came before the application has agreed to MPA is ever taken for an FPDU.
 */
static bool has_surplus(const struct xiw_conn *c)
{
	return c->startup.surplus || unread(c);
}

/* Posts the receive of the rest of the peer's frame. */
static void arm(struct xiw_conn *c)
{
	struct io_uring_sqe *sqe = xiw_sqe(c->engine, c, XIW_OP_STARTUP_RECV);

	/* While the application decides, nothing is read, but a peer that closes is noticed. */
	if (c->state == XIW_DECIDING)
		io_uring_prep_poll_add(sqe, c->fd, POLLRDHUP);
	else
		io_uring_prep_recv(sqe, c->fd, c->startup.frames->in + c->startup.in_len,
				   c->startup.in_need - c->startup.in_len, 0);
	c->startup.receiving = true;
	c->ops++;
}

static void disarm(struct xiw_conn *c)
{
	if (c->startup.receiving)
		io_uring_prep_cancel64(xiw_sqe(c->engine, NULL, XIW_OP_NONE),
				       (uintptr_t)c | XIW_OP_STARTUP_RECV, 0);
}

/*
 * RFC 6581 section 9.3: a peer that knows RFC 6581 is told of an error of ours by a Terminate message before
 * the connection ends. An Initiator can do so at once. A Responder must have received an FPDU first (RFC 5044
 * section 7.1.2 rule 4), and a peer that waits for the Reply could not read the message. So the Responder
 * accepts, and answers the first FPDU with the Terminate message.
 */
static void fail_locally(struct xiw_conn *c, int error)
{
	if (!c->startup.peer.has_enhanced)
		xiw_conn_ask_end(c, error, true);
	else if (c->initiator)
		xiw_terminate(c, XIW_MPA_ERR_LOCAL, error);
	else
		c->startup.local_error = error;
}

/*
 * Takes a slot of the flow table only now, because the stream begins here: a peer that does not speak MPA must
 * not get one. False: the caller demanded the direct path and it is not available, so the connection is ending.
 */
static bool take_slot(struct xiw_conn *c)
{
	if (!xiw_conn_register(c) || c->opts.path != XIW_USE_DIRECT)
		return true;
	fail_locally(c, ENOTSUP);
	return false;
}

/* Both frames are known, and from here on the stream consists of FPDUs. */
static void open_stream(struct xiw_conn *c)
{
	struct xiw_mpa_rx rx = { .markers = c->opts.markers };

	/* CRCs are used unless both sides do without them (section 7.1.1: either C bit). */
	c->crc = c->startup.peer.crc || !c->opts.no_crc;
	rx.crc = c->crc;
	xiw_mpa_stream_init(&c->mpa, &rx);
	c->mpa.resize = xiw_stream_resize;
	c->mpa.ctx = c;
	c->send.mpa = (struct xiw_mpa_tx){ .markers = c->startup.peer.markers, .crc = c->crc };
	xiw_slot_describe(c);
	c->send.allowed = c->initiator; /* rule 4; see xiw_conn_limit_started() */
	c->startup.rtr_wait = !c->initiator &&
			      (c->startup.terms.peer_to_peer || c->startup.local_error);
	c->startup.gate = c->startup.rtr_wait ? xiw_rtr_take : NULL;
	/* A connection kept only to report an error still counts as unstarted. */
	if (!c->startup.local_error)
		xiw_unstarted_remove(c);
	c->state = XIW_OPEN;
	disarm(c);
	/* The flow is armed before the Reply is sent, so that the first FPDU can already go direct. */
	xiw_try_arm(c, 1);
	xiw_recv_post(c);
	if (c->initiator)
		xiw_rtr_send(c);
	/*
	 * The peer may not take our frame, or not say that it is ready, and the application may have taken long to
	 * decide, so the clock starts anew.
	 */
	if (c->startup.rtr_wait || c->send.busy)
		xiw_conn_deadline(c, XIW_LIMIT_STARTUP, c->opts.startup_timeout_ms);
	else
		xiw_conn_limit_started(c);
	if (!c->startup.rtr_wait)
		xiw_conn_event(c, XIW_EV_CONNECTED, 0);
	xiw_startup_forget(c);
}

/* Asks the application to accept or reject. */
static void decide(struct xiw_conn *c)
{
	c->state = XIW_DECIDING;
	xiw_conn_deadline(c, XIW_LIMIT_NONE, 0);
	arm(c);
	xiw_conn_event(c, c->initiator ? XIW_EV_REPLY : XIW_EV_REQUEST, 0);
}

static void got_reply(struct xiw_conn *c)
{
	enum xiw_mpa_error err = 0;

	if (c->startup.peer.reject) {
		c->startup.rejected = true;
		xiw_conn_ask_end(c, ECONNREFUSED, true);
		return;
	}
	/* RFC 6581 section 10: the Reply is enhanced if and only if the Request was. */
	if (c->startup.surplus || c->startup.peer.has_enhanced != c->opts.enhanced) {
		invalid(c, EPROTO);
		return;
	}
	/*
	 * A Responder must not send before it has an FPDU (section 7.1.2 rule 4), but some do. Both frames are known,
	 * so their octets can be framed, and DDP checks them as all others. Who can put octets there can do so later,
	 * too (RFC 5042 section 5).
	 */
	c->counts.surplus = unread(c);
	/* A Responder without the peer-to-peer model is an error only if the application has asked for that. */
	if (!c->opts.rtr && !c->startup.peer.enhanced.peer_to_peer)
		c->startup.terms.peer_to_peer = false;
	if (c->startup.peer.has_enhanced)
		err = xiw_mpa_conclude(&c->startup.terms, &c->startup.peer.enhanced);
	if (err)
		xiw_terminate(c, err, err == XIW_MPA_ERR_IRD ? ENOBUFS : EOPNOTSUPP);
	else if (c->opts.review_reply)
		decide(c);
	else if (take_slot(c))
		open_stream(c);
}

static void send_reply(struct xiw_conn *c, bool reject, const void *pd, size_t len);

/* There is no memory for the stream. The listener reports it too, because it keeps peers from connecting. */
static void no_memory(struct xiw_conn *c)
{
	if (c->unstarted.listener)
		xiw_not_accepted(c->unstarted.listener, -ENOMEM);
	fail_locally(c, ENOMEM);
	if (!c->startup.local_error)
		return;
	send_reply(c, false, NULL, 0);
	open_stream(c);
}

static void got_frame(struct xiw_conn *c)
{
	const bool kept = !xiw_startup_keep(c);

	if (c->initiator && !kept)
		fail_locally(c, ENOMEM);
	else if (c->initiator)
		got_reply(c);
	else if (c->startup.peer.rev > c->opts.revision)
		invalid(c, EPROTONOSUPPORT);
	else if (!kept || xiw_conn_equip(c))
		no_memory(c);
	else
		decide(c);
}

/* Handles `len` more octets of the peer's frame, which are in c->startup. */
static void advance(struct xiw_conn *c, uint32_t len)
{
	size_t need;

	c->startup.in_len += len;
	if (c->startup.in_len > XIW_MPA_REV_OFF)
		c->startup.peer_rev = c->startup.frames->in[XIW_MPA_REV_OFF];
	switch (xiw_mpa_frame_decode(c->startup.frames->in, c->startup.in_len, c->initiator,
				     &c->startup.peer, &need)) {
	case XIW_MPA_START_OK:
		c->startup.in_need = c->startup.in_len;
		got_frame(c);
		break;
	case XIW_MPA_START_MORE:
		c->startup.in_need = (uint32_t)need;
		break;
	case XIW_MPA_START_WRONG_ROLE: /* rule 8: two Initiators, or a Reply to nobody */
		invalid(c, EPROTOTYPE);
		break;
	case XIW_MPA_START_BAD_REV:
		invalid(c, EPROTONOSUPPORT);
		break;
	case XIW_MPA_START_BAD_KEY:
	case XIW_MPA_START_BAD_PD_LENGTH:
		invalid(c, EPROTO);
		break;
	}
}

/* Says whether the peer's frame is not complete and still wanted. */
static bool receiving(const struct xiw_conn *c)
{
	return (c->state == XIW_LISTENING || c->state == XIW_REQUESTED) && !c->startup.refusing &&
	       !c->end.asked;
}

void xiw_startup_received(struct xiw_conn *c, int res)
{
	c->startup.receiving = false;
	if (c->state == XIW_DEAD || c->state == XIW_OPEN || c->end.asked || res == -ECANCELED)
		return;
	if (c->state == XIW_REQUESTED && (!res || res == -ECONNRESET) && xiw_connect_again(c))
		return;
	if (res < 0) {
		c->end.mpa_error = XIW_MPA_ERR_CLOSED;
		xiw_conn_ask_end(c, -res, true);
	} else if (!res || c->state == XIW_DECIDING) {
		c->end.eof = true;
		xiw_dirty(c);
	} else {
		advance(c, (uint32_t)res);
		if (receiving(c))
			arm(c);
	}
}

/* Handles what the application has read of the peer's frame already. */
static void feed_prefix(struct xiw_conn *c, const uint8_t *data, size_t len)
{
	while (len && receiving(c)) {
		uint32_t want = c->startup.in_need - c->startup.in_len;

		if (want > len)
			want = (uint32_t)len;
		memcpy(c->startup.frames->in + c->startup.in_len, data, want);
		data += want;
		len -= want;
		c->startup.surplus = len && c->startup.in_len + want == c->startup.in_need;
		advance(c, want);
	}
}

void xiw_startup_begin(struct xiw_conn *c, const struct xiw_upgrade *upgrade)
{
	socklen_t len = sizeof(c->addr.local);
	struct xiw_netif *netif;

	c->startup.connected = true;
	getsockname(c->fd, (struct sockaddr *)&c->addr.local, &len);
	c->addr.remote_len = sizeof(c->addr.remote);
	getpeername(c->fd, (struct sockaddr *)&c->addr.remote, &c->addr.remote_len);
	if (c->opts.path == XIW_USE_AUTO)
		c->opts.path = c->engine->opts.path;
	/*
	 * The direct path is demanded and not available. An Initiator fails here, before the peer thinks that it is
	 * connected; a Responder answers in the form the peer used.
	 */
	if (c->initiator && c->opts.path == XIW_USE_DIRECT && xiw_conn_netif(c, &netif)) {
		xiw_conn_ask_end(c, ENOTSUP, true);
		return;
	}
	xiw_conn_limit_peer(c);
	c->startup.in_need = XIW_MPA_FRAME_HDR;
	xiw_startup_send(c);
	if (c->initiator)
		send_request(c);
	if (upgrade && upgrade->prefix_len)
		feed_prefix(c, upgrade->prefix, upgrade->prefix_len);
	if (receiving(c))
		arm(c);
}

/* This is also how two Responders notice that neither is an Initiator. */
void xiw_startup_timeout(struct xiw_conn *c)
{
	if (c->state == XIW_REQUESTED || c->state == XIW_LISTENING ||
	    (c->startup.rtr_wait && !c->rx_dead))
		c->end.mpa_error = c->startup.local_error ? XIW_MPA_ERR_LOCAL : XIW_MPA_ERR_STARTUP;
	xiw_conn_ask_end(c, ETIMEDOUT, true);
}

/* ---- the application's answer -------------------------------------------------------------------- */

static void send_reply(struct xiw_conn *c, bool reject, const void *pd, size_t len)
{
	struct xiw_mpa_frame frame = {
		.reply = true,
		.markers = c->opts.markers,
		.crc = c->startup.peer.crc || !c->opts.no_crc,
		.reject = reject,
		.rev = c->startup.peer.rev,
		.has_enhanced = c->startup.peer.has_enhanced,
		.pd = pd,
		.pd_len = (uint16_t)len,
	};

	if (frame.has_enhanced)
		xiw_mpa_respond(&c->startup.terms, &c->startup.peer.enhanced, reject,
				&frame.enhanced);
	send_frame(c, &frame);
}

static int check_answer(const struct xiw_conn *c, const void *pd, size_t len)
{
	size_t most = c->startup.peer.has_enhanced ? XIW_PRIVATE_DATA_MAX - XIW_MPA_ENHANCED_SIZE
						   : XIW_PRIVATE_DATA_MAX;

	if (c->state != XIW_DECIDING || c->startup.rejected || c->startup.refusing || c->end.asked)
		return -ENOTCONN;
	return (c->initiator ? len : len > most) || (len && !pd) ? -EINVAL : 0;
}

/* A connection of a group has reached its engine, and the application has prepared it. */
static int go_on(struct xiw_conn *c, const void *pd, size_t len)
{
	if (c->state != XIW_CONNECTING || c->end.asked)
		return -ENOTCONN;
	if ((len && !pd) ||
	    len > XIW_PRIVATE_DATA_MAX - (c->opts.enhanced ? XIW_MPA_ENHANCED_SIZE : 0))
		return -EINVAL;
	c->startup.arrived = false;
	if (len) {
		memcpy(c->startup.frames->private_out, pd, len);
		c->opts.private_data_len = len;
	}
	xiw_conn_deadline(c, XIW_LIMIT_STARTUP, c->opts.startup_timeout_ms);
	c->state = XIW_REQUESTED;
	xiw_startup_begin(c, NULL);
	return 0;
}

int xiw_conn_accept(struct xiw_conn *c, const void *private_data, size_t len)
{
	int err;

	if (c->startup.arrived)
		return go_on(c, private_data, len);
	err = check_answer(c, private_data, len);
	if (err)
		return err;
	if (!c->initiator && has_surplus(c)) {
		invalid(c, EPROTO);
		return 0;
	}
	if (!take_slot(c) && !c->startup.local_error)
		return 0;
	if (!c->initiator)
		send_reply(c, false, private_data, len);
	open_stream(c);
	return 0;
}

int xiw_conn_reject(struct xiw_conn *c, const void *private_data, size_t len)
{
	int err = check_answer(c, private_data, len);

	if (err)
		return err;
	c->startup.rejected = true;
	if (c->initiator) {
		xiw_conn_ask_end(c, ECONNREFUSED, true);
		return 0;
	}
	disarm(c);
	send_reply(c, true, private_data, len);
	xiw_conn_deadline(c, XIW_LIMIT_STARTUP, c->opts.startup_timeout_ms);
	return 0;
}
