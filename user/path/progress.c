// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Notices that a stream does not move. On the direct path a segment can come again and again and never be taken: its
 * checksum is wrong, it acknowledges what xiw_egress has not seen leave, or the peer does not receive our
 * acknowledgements. Whatever the cause, the stream then falls back to the kernel path. If the cause is likely to last,
 * the connection is barred from the direct path. Frames that are lost before the engine sees them are noticed by
 * xiw_ingress (xiw_stuck()), and this file learns of it.
 */
#include "path/progress.h"

#include <stdio.h>
#include <string.h>

#include "core/agenda.h"
#include "core/timer.h"
#include "netif/below.h"
#include "netif/bridge.h"
#include "path/fallback.h"
#include "path/front.h"
#include "path/inject.h"
#include "path/packet.h"
#include "path/probe.h"
#include "path/remember.h"

/* A repetition after this time shows that the stream stands still. Retransmission time-outs are longer. */
#define AGAIN_MS 120
#define STUCK_MS 300	 /* so does silence for this time, after a repetition */
#define FORGET_MS 150000 /* no peer waits longer before it repeats; older attempts say nothing */
/* The same limit for a one-octet segment, which may be a keepalive probe. */
#define KEEPALIVE_MS 2000
#define LASTING_MS 60000 /* causes and lost frames are counted for this time */
#define ENDS 3		 /* this many stretches that end for one cause show that the cause lasts */
#define UNHEARD_MS 180 /* an ACK that was sent so long ago was there before the shortest time-out */
#define FOUND_BEFORE " (found before)"
#define MANY_SEGS 64

/* Returns the text for people. A %s in it stands for the name of the interface. */
static const char *cause(enum xiw_reason reason)
{
	static const char *const causes[XIW_REASON__COUNT] = {
		[XIW_REASON_UNSEEN] = "frames of %s for AF_XDP are lost on their way",
		[XIW_REASON_REFUSED] = "the peer's segments are refused again and again",
		[XIW_REASON_CHECKSUM] = "TCP checksums on %s are wrong, or unfinished: 'ethtool -K "
					"IF tx off' there",
		[XIW_REASON_EGRESS] = "its packets do not leave by %s: xiw_egress does not see "
				      "them",
		[XIW_REASON_UNHEARD] = "the peer does not hear acknowledgements that %s sends by "
				       "AF_XDP",
		[XIW_REASON_INJECT] = "what is injected over lo is lost: lo down? NAT? nft: 'iif "
				      "lo accept' after 'ct state invalid'?",
		[XIW_REASON_HEADROOM] = "the driver of %s leaves no room in front of packets",
		[XIW_REASON_ELSEWHERE] = "its segments do not come by %s, or not all: routes? "
					 "arp_ignore, arp_announce?",
		[XIW_REASON_TAGS] = "%s strips VLAN tags: 'ethtool -K IF rxvlan off'",
		[XIW_REASON_BYPASS] = "packets of %s pass XDP by: 'ethtool -K IF lro off', tc "
				      "redirect?",
		[XIW_REASON_OUTPUT] = "nothing of its socket leaves by %s (no route? OUTPUT: ct "
				      "zone, 'conntrack -F'?)",
		[XIW_REASON_BRIDGE] = "netfilter preceded XDP on %s for a while",
		[XIW_REASON_APART] = "conntrack has another zone for lo than for %s: nft: 'ct "
				     "zone set' for lo, too",
	};

	return causes[reason] ? causes[reason] : "it does not go on";
}

void xiw_progress_text(const struct xiw_conn *c, enum xiw_reason reason, char *to, size_t len)
{
	const struct xiw_netif *p = c->netif;

	if (reason == XIW_REASON_LONG)
		xiw_below_joins(p->ifindex, p->ifname, to, len);
	else if ((reason != XIW_REASON_BRIDGE ||
		  !xiw_bridge_filters(p->ifindex, p->ifname, to, len)) &&
		 (reason != XIW_REASON_INJECT || xiw_lo_takes(p->ifname, to, len)))
		snprintf(to, len, cause(reason), p->ifname);
}

void xiw_progress_tell(struct xiw_conn *c, enum xiw_reason reason)
{
	xiw_progress_text(c, reason, c->no_direct, sizeof(c->no_direct));
}

bool xiw_conn_barred(const struct xiw_conn *c)
{
	return __atomic_load_n(&c->flow->barred, __ATOMIC_RELAXED);
}

void xiw_conn_bar(struct xiw_conn *c, enum xiw_reason reason)
{
	if (!c->flow || xiw_conn_barred(c))
		return;
	__atomic_store_n(&c->flow->barred, reason, __ATOMIC_RELAXED);
	xiw_progress_tell(c, reason);
	/* Other causes are found before a stretch begins. */
	c->progress.memory.counted = true;
	xiw_remember(c, reason, xiw_stretch_live(c) || reason == XIW_REASON_UNSEEN);
	if (c->stretch.state == XIW_STRETCH_OFF &&
	    xiw_owner_path(xiw_flow_owner(c->flow)) == XIW_PATH_ARMED)
		xiw_flow_to_kernel(c->flow);
}

/* ---- segments that are refused -------------------------------------------------------------------- */

/* Has xiw_egress not seen all that the socket has sent? The peer may acknowledge it nevertheless. */
static bool egress_is_blind(const struct xiw_conn *c)
{
	uint32_t sent;

	return !xiw_sock_sent(c->fd, &c->reg.sock, &sent) &&
	       xiw_seq_after(sent, xiw_flow_get(&c->flow->snd_nxt));
}

bool xiw_progress_untranslated(struct xiw_conn *c)
{
	uint64_t kernel_nxt, owner;

	if (!c->flow)
		return false;
	owner = xiw_flow_owner(c->flow);
	kernel_nxt = __atomic_load_n(&c->flow->kernel_nxt, __ATOMIC_ACQUIRE);
	if (!xiw_owner_skew(owner, kernel_nxt) || !egress_is_blind(c) || xiw_front_regain(c))
		return false;
	xiw_progress_tell(c, XIW_REASON_EGRESS);
	return true;
}

/*
 * Says whether the cause is likely to last. Damage and lost acknowledgements can end a stretch on a bad wire or
 * a busy machine, so a cause lasts only if it comes back soon, and more than once.
 */
static bool lasts(struct xiw_conn *c, enum xiw_reason reason)
{
	struct xiw_progress *s = &c->progress;
	const uint32_t now_ms = (uint32_t)c->engine->now_ms;
	bool soon = s->ended_reason == reason && now_ms - s->ended_ms < LASTING_MS;

	s->ended = soon ? s->ended + 1 : 1;
	s->ended_reason = reason;
	s->ended_ms = now_ms;
	switch (reason) {
	case XIW_REASON_EGRESS:
		return true;
	case XIW_REASON_CRC:
		return false; /* the kernel path must judge the same octets */
	default:
		return s->ended >= ENDS;
	}
}

static void give_up(struct xiw_conn *c, enum xiw_reason reason, const struct xiw_segment *in_hand)
{
	bool blind = (reason == XIW_REASON_REFUSED || reason == XIW_REASON_UNHEARD) &&
		     egress_is_blind(c);

	if (blind)
		reason = XIW_REASON_EGRESS;
	/* The socket takes what the peer acknowledges, and xiw_egress sees what it sends from now on. */
	if (blind && (xiw_front_regain(c) || c->netif->front.waits)) {
		xiw_fall_back(c, reason, in_hand);
		return;
	}
	/*
	 * It may be an accident where the connection's path has carried before. So may be a wrong checksum, which a bad
	 * wire makes by chance; one that is unfinished is found at first sight, as damaged() in path/direct.c says.
	 */
	if (lasts(c, reason))
		xiw_conn_bar(c, reason);
	else
		xiw_remember(c, reason,
			     !c->progress.memory.carried && reason != XIW_REASON_CHECKSUM);
	xiw_fall_back(c, reason, in_hand);
	/* Nobody translates the numbers, so neither path can go on. The program may be gone altogether. */
	if (blind && c->stretch.state != XIW_STRETCH_OFF &&
	    c->stretch.committed != xiw_flow_kernel_nxt(c->flow)) {
		c->progress.cut_off = true;
		xiw_watch_soon(c->engine);
	}
}

void xiw_progress_blocked(struct xiw_conn *c, enum xiw_reason reason)
{
	give_up(c, reason, NULL);
	/* A socket that lacks a route, say, has none for the next stretch either. */
	if (reason == XIW_REASON_OUTPUT)
		xiw_flow_unseen(c->flow);
}

void xiw_progress_lasting(struct xiw_conn *c, enum xiw_reason reason)
{
	if (!xiw_stretch_live(c))
		return;
	xiw_conn_bar(c, reason);
	xiw_fall_back(c, reason, NULL);
}

/*
 * After what time an earlier attempt says nothing any more. It is long, as a stream that does not move stands still
 * however rarely the peer repeats, but short for one octet, perhaps a keepalive's (RFC 9293 section 3.8.4).
 */
static uint64_t forget_ms(const struct xiw_segment *in_hand)
{
	return in_hand && in_hand->meta->payload_len == 1 ? KEEPALIVE_MS : FORGET_MS;
}

/*
 * Counts an attempt after which the stream stands where it stood before. Attempts with different causes count
 * together, because anybody can send segments that are refused for another cause. Returns true if the attempts
 * have gone on for too long.
 */
static bool too_often(struct xiw_conn *c, struct xiw_tries *t, uint64_t forget)
{
	uint64_t now = c->engine->now_ms;

	if (t->at != xiw_stream_at(c) || now - t->last_ms > forget)
		t->n = 0;
	if (!t->n++) {
		t->at = xiw_stream_at(c);
		t->since_ms = now;
	}
	t->last_ms = now;
	if (now - t->since_ms < AGAIN_MS)
		return false;
	t->n = 0;
	return true;
}

bool xiw_progress_refused(struct xiw_conn *c, enum xiw_reason reason,
			  const struct xiw_segment *in_hand)
{
	struct xiw_progress *s = &c->progress;

	if (!xiw_stretch_live(c))
		return false;
	s->refused_reason = reason;
	if (too_often(c, &s->refused, forget_ms(in_hand))) {
		give_up(c, reason, in_hand);
		return true;
	}
	if (s->refused.n == 1) {
		s->due_ms = c->engine->now_ms + STUCK_MS;
		xiw_timer(c);
	}
	return false;
}

/*
 * Has the socket sent anything since the stretch's first ACK? xiw_egress puts the stretch's acknowledgement into those
 * segments, too. What the peer has heard of neither is the wire's loss, and says nothing of AF_XDP.
 */
static bool socket_told(const struct xiw_conn *c)
{
	return c->progress.memory.told ||
	       (uint32_t)__atomic_load_n(&c->flow->egress_segs, __ATOMIC_RELAXED) !=
		       c->progress.memory.acked_egress;
}

/*
 * Says whether the peer repeats the stretch's first octets, as its time-out makes it do that has heard no
 * acknowledgement of the stretch. Several are hardly lost by accident, but they may be as late as the engine was.
 */
static bool nothing_was_heard(const struct xiw_conn *c, uint32_t seq, uint32_t end)
{
	const struct xiw_remembers *m = &c->progress.memory;

	return !m->carried && !m->heard && (uint32_t)c->counts.acks_sent - m->acks >= 2 &&
	       (uint32_t)c->engine->now_ms - m->acked_ms >= UNHEARD_MS && !socket_told(c) &&
	       !xiw_pace_late(&c->engine->ready.pace, c->engine->now_ns) &&
	       !xiw_seq_after(seq, m->began_at) && xiw_seq_after(end, m->began_at);
}

/*
 * The socket answers an octet that it has with an acknowledgement, and its frames go where the peer is now. xiw_egress
 * then notes another address on the link, of the peer or its gateway. Returns false if the cause must be another: the
 * stretch has never carried, or the socket was asked not long ago.
 */
static bool ask_socket(struct xiw_conn *c, const struct xiw_segment *s, uint32_t seq)
{
	const uint32_t now_ms = (uint32_t)c->engine->now_ms | 1;
	uint32_t *asked_ms = &c->progress.asked_ms;

	if (!c->progress.memory.carried || c->stretch.state != XIW_STRETCH_RUNS ||
	    !xiw_seq_before(seq, c->stretch.committed) ||
	    (*asked_ms && now_ms - *asked_ms < LASTING_MS))
		return false;
	*asked_ms = now_ms;
	xiw_inject_segment(c, s->packet, s->meta, 1,
			   c->stretch.committed - xiw_flow_kernel_nxt(c->flow));
	return true;
}

/*
 * A peer that receives our acknowledgements may still send old segments, by mistake or because they come late.
 * A peer that does not receive them begins with its last segment (RFC 8985 section 7) or arrives at its oldest
 * one, and repeats that, in whatever size. Silence says nothing here, because the peer may have no more to
 * send.
 */
void xiw_progress_unheard(struct xiw_conn *c, const struct xiw_segment *s, uint32_t seq,
			  uint32_t end)
{
	struct xiw_progress *t = &c->progress;

	if (!xiw_stretch_live(c))
		return;
	if (t->dup_end != t->unheard.at && t->dup_seq != seq)
		t->unheard.n = 0;
	if (nothing_was_heard(c, seq, end) ||
	    (too_often(c, &t->unheard, forget_ms(s)) && !ask_socket(c, s, seq)))
		give_up(c, XIW_REASON_UNHEARD, s);
	if (t->unheard.n == 1) {
		t->dup_seq = seq;
		t->dup_end = end;
	}
}

/*
 * The socket's acknowledgements were not translated, so the peer repeats octets from before the stretch, and nothing
 * else. Anybody can send such segments, so they alone end nothing, and the socket is asked only when the stream has
 * stood still. What it has sent may also wait on its way to xiw_egress, for a neighbour's address: only a peer that has
 * it knows how far that goes.
 */
void xiw_progress_ahead(struct xiw_conn *c, const struct xiw_segment *s, uint32_t ack)
{
	uint32_t sent;

	if (xiw_stretch_live(c) && too_often(c, &c->progress.ahead, forget_ms(s)) &&
	    !xiw_sock_sent(c->fd, &c->reg.sock, &sent) && !xiw_seq_after(ack, sent) &&
	    xiw_seq_after(ack, xiw_flow_get(&c->flow->snd_nxt)))
		give_up(c, XIW_REASON_UNHEARD, s);
}

/*
 * Segments that wait for the socket are not acknowledged. If the socket lacks octets from before them, and the
 * peer has repeated those in vain, it learns that only from the SACK blocks of later ones (RFC 8985), or by its
 * timeout, which may be long. So they wait for a while only, and then go to the socket.
 */
void xiw_progress_waiting(struct xiw_conn *c)
{
	struct xiw_progress *s = &c->progress;

	if (s->due_ms != XIW_NEVER)
		return;
	s->waiting_at = c->recv.nxt;
	s->due_ms = c->engine->now_ms + STUCK_MS;
	xiw_timer(c);
}

void xiw_progress_due(struct xiw_conn *c)
{
	struct xiw_progress *s = &c->progress;

	s->due_ms = XIW_NEVER;
	if (!c->flow || !xiw_stretch_live(c))
		return;
	if (s->refused.n >= 2 && s->refused.at == xiw_stream_at(c)) {
		s->refused.n = 0;
		give_up(c, s->refused_reason, NULL);
	} else if (c->stretch.state == XIW_STRETCH_WAITS) {
		if (s->waiting_at == c->recv.nxt)
			xiw_fall_back(c, XIW_REASON_WATCHDOG, NULL);
		else
			xiw_progress_waiting(c);
	}
}

/* ---- how it ends ------------------------------------------------------------------------------------ */

/*
 * A new connection needs one aligned segment to go direct. If XDP has judged the last of all segments, which were many,
 * and a stretch has not begun for any, none was. A count of reasons says that there was another cause.
 */
static bool never_aligned(const struct xiw_flow *f)
{
	for (unsigned int i = 0; i < XIW_REASON_MAX; i++)
		if (__atomic_load_n(&f->reasons[i], __ATOMIC_RELAXED))
			return false;
	return __atomic_load_n(&f->kernel_segs, __ATOMIC_RELAXED) >= MANY_SEGS && !f->run_len &&
	       !f->other_segs && f->run_end == xiw_flow_get(&f->kernel_high);
}

void xiw_progress_end(struct xiw_conn *c)
{
	const struct xiw_flow *f = c->flow;

	/* No segment may have come since for which the engine would have looked. */
	if (!xiw_conn_barred(c) && xiw_probe_late(c))
		c->no_direct[0] = '\0';
	xiw_progress_say(c);
	if (c->no_direct[0] || f->went_direct || !c->counts.armed)
		return;
	if (__atomic_load_n(&f->egress_segs, __ATOMIC_RELAXED) < f->egress_floor)
		xiw_progress_tell(c, XIW_REASON_EGRESS);
	else if (never_aligned(f))
		snprintf(c->no_direct, sizeof(c->no_direct),
			 "its segments are not made of whole FPDUs: the peer's TCP cuts the "
			 "stream");
}

/* ---- what has become of stretches ------------------------------------------------------------------ */

void xiw_progress_begin(struct xiw_conn *c)
{
	c->progress.refused.n = c->progress.unheard.n = c->progress.ahead.n = 0;
	c->progress.waits_ms = 0;
	c->progress.filled = false;
	xiw_remember_begin(c);
}

/*
 * If the segment comes again, the peer has had an acknowledgement neither from us nor from the socket, and the
 * application may not make room for the socket's octets for a long time. Plain TCP would acknowledge the
 * segment, or close the window.
 */
bool xiw_progress_waits(struct xiw_conn *c, const struct xiw_segment *s)
{
	uint64_t now = c->engine->now_ms;

	if (!c->progress.waits_ms)
		c->progress.waits_ms = now;
	if (now - c->progress.waits_ms < AGAIN_MS)
		return false;
	xiw_fall_back(c, XIW_REASON_WATCHDOG, s);
	return true;
}

void xiw_progress_say(struct xiw_conn *c)
{
	enum xiw_reason reason = __atomic_load_n(&c->flow->barred, __ATOMIC_RELAXED);

	if (reason && !c->no_direct[0])
		xiw_progress_tell(c, reason);
	/* XDP bars a connection for what no stream waits for: it passes such segments to the socket. */
	if (reason && !c->progress.memory.counted)
		xiw_remember(c, reason, false);
	c->progress.memory.counted = reason;
}

/* Says whether connections before this one have stood still for a cause that is still to be expected. */
static bool kept_off(struct xiw_conn *c)
{
	bool was = c->progress.memory.kept_off;
	enum xiw_reason reason = xiw_remembered(c);
	size_t len;

	/* Nothing follows a FIN that could go direct. */
	if (reason && c->handoff.reason != XIW_REASON_FIN) {
		xiw_progress_tell(c, reason);
		len = strlen(c->no_direct);
		if (len + sizeof(FOUND_BEFORE) <= sizeof(c->no_direct))
			memcpy(c->no_direct + len, FOUND_BEFORE, sizeof(FOUND_BEFORE));
	} else if (was) {
		c->no_direct[0] = '\0';
	}
	return reason;
}

static bool injection_works(struct xiw_conn *c)
{
	const bool worked = c->progress.inject_works;
	const enum xiw_probe found = xiw_probe_stretch(c);

	if (found == XIW_PROBE_LOST)
		xiw_conn_bar(c, XIW_REASON_INJECT);
	else if (found == XIW_PROBE_UNDER_WAY && !worked)
		xiw_progress_tell(c, XIW_REASON_INJECT);
	else if (found == XIW_PROBE_ARRIVES && !worked)
		c->no_direct[0] = '\0';
	return found == XIW_PROBE_ARRIVES;
}

bool xiw_progress_may_arm(struct xiw_conn *c)
{
	struct xiw_progress *s = &c->progress;

	if (xiw_progress_loses(c))
		xiw_conn_bar(c, XIW_REASON_UNSEEN);
	s->armed = !xiw_conn_barred(c) && !kept_off(c) && injection_works(c);
	return s->armed;
}
