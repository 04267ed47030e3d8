// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checks whether a connection's packets pass our BPF programs. An address is not bound to the interface that
 * has it: a peer's segments may come by another interface (two interfaces in one subnet, asymmetric routes),
 * ours may leave by another one, and both may change at any time. XDP does not see all packets of an interface:
 * some drivers pass by it what they join (LRO), and tc filters may redirect packets to the interface.
 *
 * Plain TCP copes with that, and so does a connection whose sequence numbers are the wire's. XDP begins no
 * stretch before xiw_egress has seen a packet of it, xiw_socket accepts what came by another interface, and the
 * connection is barred from the direct path.
 *
 * A connection whose numbers differ from the wire's needs the programs. Packets that go around them are lost.
 * If that lasts, the connection ends with a reset, so that both ends know.
 */
#include "path/route.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "handoff/queues.h"
#include "path/arm.h"
#include "path/front.h"
#include "path/output.h"
#include "path/progress.h"
#include "path/receiver.h"
#include "path/remember.h"

#define ASTRAY_MS 3000
#define ASTRAY_SEGS 2
/*
 * These limits are longer. Packets that a firewall drops, or that wait for a neighbour's address, are not seen
 * by xiw_egress either, and plain TCP waits until they can leave.
 */
#define UNSEEN_MS 10000
#define UNSEEN_SEGS 3

/* What the socket says: segments that it has sent, and octets that it has received, by any interface. */
struct answer {
	bool known;
	uint32_t sent, received; /* modulo 2^32 */
};

static uint32_t get(const __u64 *count)
{
	return (uint32_t)__atomic_load_n(count, __ATOMIC_RELAXED);
}

/* Counts the peer's segments that came by our interface and passed XDP. */
static uint32_t came(const struct xiw_flow *f)
{
	return get(&f->control_segs) + get(&f->kernel_segs) + get(&f->direct_segs);
}

static struct answer ask_socket(const struct xiw_conn *c)
{
	struct tcp_info info = {};
	socklen_t len = sizeof(info);
	bool known = !getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len);

	return (struct answer){ known, info.tcpi_segs_out, (uint32_t)info.tcpi_bytes_received };
}

void xiw_route_begin(struct xiw_conn *c)
{
	struct xiw_flow *f = c->flow;
	struct answer answer = ask_socket(c);

	__atomic_store_n(&f->elsewhere_segs, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&f->bypass_segs, 0, __ATOMIC_RELAXED);
	xiw_flow_unseen(f);
	c->route = (struct xiw_route){
		.came = came(f),
		.left = get(&f->egress_segs),
		.sent_known = answer.known,
		.sent = answer.sent,
		.received = answer.received,
	};
}

/* Has the socket received octets without XDP having seen a segment since the last check? */
static bool unnoticed(const struct xiw_conn *c, const struct answer *answer)
{
	const struct xiw_route *p = &c->route;

	return answer->known && answer->received != p->received && came(c->flow) == p->came &&
	       !get(&c->flow->elsewhere_segs) && c->stretch.state == XIW_STRETCH_OFF;
}

/*
 * Returns for how long (in ms, plus 1) the peer's segments have come by our interface and passed XDP by; 0 if none
 * has since the last check. Where XDP sees nothing either, the peer may be waiting for its time-out.
 */
static uint64_t bypasses(struct xiw_conn *c, const struct answer *answer)
{
	uint32_t bypassed = get(&c->flow->bypass_segs);
	struct xiw_route *p = &c->route;
	bool more = unnoticed(c, answer) || bypassed != p->bypassed;

	p->bypassed = bypassed;
	if (answer->known)
		p->received = answer->received;
	if (more && !p->bypass_ms)
		p->bypass_ms = c->engine->now_ms;
	else if (!more && came(c->flow) != p->came)
		p->bypass_ms = 0;
	return more ? 1 + c->engine->now_ms - p->bypass_ms : 0;
}

/*
 * Returns for how long (in ms, plus 1) the peer's segments have come by another interface and none by ours; 0
 * if that is not so.
 */
static uint64_t astray(struct xiw_conn *c)
{
	uint32_t elsewhere = get(&c->flow->elsewhere_segs), now = came(c->flow);
	struct xiw_route *p = &c->route;

	if (now != p->came) {
		/* It has come back. A stretch has stood still meanwhile, and may do so again at any time. */
		if (elsewhere - p->elsewhere >= ASTRAY_SEGS)
			xiw_progress_lasting(c, XIW_REASON_ELSEWHERE);
		p->came = now;
		p->elsewhere = elsewhere;
		p->astray_ms = 0;
	} else if (elsewhere - p->elsewhere >= ASTRAY_SEGS && !p->astray_ms) {
		p->astray_ms = c->engine->now_ms;
	}
	return !p->astray_ms ? 0 : 1 + c->engine->now_ms - p->astray_ms;
}

/*
 * Returns for how long (in ms, plus 1) the socket has sent and xiw_egress has not seen a packet; 0 if that is
 * not so.
 */
static uint64_t unseen(struct xiw_conn *c, const struct answer *answer)
{
	uint32_t left = get(&c->flow->egress_segs);
	struct xiw_route *p = &c->route;

	/* The socket was asked before the count was read, because packets reach xiw_egress later. */
	if (left != p->left) {
		p->left = left;
		p->sent_known = false;
		p->unseen_ms = 0;
		if (p->hidden && !xiw_conn_barred(c))
			c->no_direct[0] = '\0';
		p->hidden = false;
	} else if (answer->known && !p->sent_known) {
		p->sent = answer->sent;
		p->sent_known = true;
	} else if (answer->known && !p->unseen_ms && answer->sent != p->sent) {
		p->unseen_ms = c->engine->now_ms;
		p->came_then = came(c->flow);
	}
	return !p->unseen_ms ? 0 : 1 + c->engine->now_ms - p->unseen_ms;
}

/* As the end of a sentence. Its own queue takes nothing while it is opened, or while an unload holds it. */
static const char *taker(const struct xiw_netif *p, uint32_t queue)
{
	const uint32_t engine = queue < XIW_MAX_QUEUES ? xiw_queue_engine(&p->table, queue) : 0;

	if (!engine)
		return "no engine serves";
	return engine == p->table.me ? "takes nothing for a while" : "another engine serves";
}

/* Who has the queue on which segments of the connection have come last, if not the engine? */
static void say_queue(const struct xiw_conn *c, char *to, size_t len)
{
	const uint32_t queue = xiw_flow_get(&c->flow->other_queue);
	const struct xiw_netif *p = c->netif;

	if (p->channels > XIW_MAX_QUEUES && queue >= XIW_MAX_QUEUES)
		snprintf(to, len, "%s has %u queues, and only %u are served: 'ethtool -L'",
			 p->ifname, p->channels, XIW_MAX_QUEUES);
	else
		snprintf(to, len, "its segments come on queue %u of %s, which %s", queue, p->ifname,
			 taker(p, queue));
}

/*
 * How packets of the connection go around the programs, or XIW_REASON_NONE. xiw_socket counts what comes elsewhere.
 * What passes XDP by is known only where xiw_egress sees the socket's packets.
 */
static enum xiw_reason around(const struct xiw_conn *c)
{
	const struct xiw_flow *f = c->flow;
	const struct answer answer = ask_socket(c);
	const bool left = get(&f->egress_segs) >= f->egress_floor;

	if (!f->went_direct && get(&f->elsewhere_segs))
		return XIW_REASON_ELSEWHERE;
	if (!f->went_direct && !left && answer.known && c->route.sent_known &&
	    answer.sent - c->route.sent >= UNSEEN_SEGS)
		return XIW_REASON_EGRESS;
	if (left &&
	    (get(&f->bypass_segs) || (!came(f) && (unnoticed(c, &answer) || c->route.bypass_ms))))
		return XIW_REASON_BYPASS;
	return XIW_REASON_NONE;
}

void xiw_route_why(const struct xiw_conn *c, char *to, size_t len)
{
	const struct xiw_flow *f = c->flow;
	const enum xiw_reason reason = around(c);

	if (reason)
		xiw_progress_text(c, reason, to, len);
	else if (get(&f->egress_segs) >= f->egress_floor && !f->went_direct &&
		 xiw_flow_get(&f->other_segs))
		say_queue(c, to, len);
}

void xiw_route_end(struct xiw_conn *c)
{
	enum xiw_reason reason;

	if (c->no_direct[0])
		return;
	reason = around(c);
	if (reason == XIW_REASON_EGRESS)
		xiw_remember(c, reason, false);
	else if (reason)
		xiw_conn_bar(c, reason);
	if (!c->no_direct[0])
		xiw_route_why(c, c->no_direct, sizeof(c->no_direct));
}

/* A NIC puts all packets of a connection on one queue. They are not direct as long as it is not one of the engine's. */
static void look_at_queues(struct xiw_conn *c)
{
	const struct xiw_flow *f = c->flow;
	uint32_t other = xiw_flow_get(&f->other_segs);
	bool direct = xiw_owner_path(xiw_flow_owner(f)) == XIW_PATH_DIRECT;

	xiw_progress_steady(c);
	if (direct && c->route.steered) {
		c->route.steered = false;
		c->no_direct[0] = '\0';
	} else if (!direct && other != c->route.other_segs &&
		   (c->route.steered || !c->no_direct[0])) {
		c->route.steered = true;
		say_queue(c, c->no_direct, sizeof(c->no_direct));
	}
	c->route.other_segs = other;
}

/* A route may come back, so no stretch begins until xiw_egress sees a packet again. */
static void hide(struct xiw_conn *c)
{
	if (c->route.hidden || xiw_conn_barred(c))
		return;
	c->route.hidden = true;
	xiw_flow_unseen(c->flow);
	xiw_progress_tell(c, XIW_REASON_EGRESS);
	xiw_remember(c, XIW_REASON_EGRESS, false);
}

/*
 * One check is not enough for what the socket has just sent or received, which may be on its way. If nothing comes
 * either, the link is down, and that says nothing of the path.
 */
static void bar(struct xiw_conn *c, uint64_t out, uint64_t by)
{
	const bool off = c->stretch.state == XIW_STRETCH_OFF;

	/* Where xiw_egress sees nothing, XDP does not know the windows, and what passes it is no evidence. */
	if (!out && (by > 1 || get(&c->flow->bypass_segs))) {
		xiw_progress_lasting(c, XIW_REASON_BYPASS);
		xiw_conn_bar(c, XIW_REASON_BYPASS);
	}
	if (off && get(&c->flow->elsewhere_segs))
		xiw_conn_bar(c, XIW_REASON_ELSEWHERE);
	if (off && out > 1 && came(c->flow) != c->route.came_then)
		hide(c);
}

static void say_hidden(struct xiw_conn *c)
{
	const char *at = c->netif->ifname;

	if (c->netif->front.behind)
		snprintf(c->no_direct, sizeof(c->no_direct),
			 "a program before xiw_egress in tcx hides what leaves by %s (xiwarp "
			 "load)",
			 at);
	else
		snprintf(c->no_direct, sizeof(c->no_direct),
			 "its packets do not leave by %s any more: xiw_egress does not see them",
			 at);
}

bool xiw_route_check(struct xiw_conn *c)
{
	const struct answer answer = ask_socket(c);
	uint64_t by = bypasses(c, &answer), in = astray(c), out = unseen(c, &answer);
	uint64_t owner = xiw_flow_owner(c->flow);
	uint64_t kernel_nxt = __atomic_load_n(&c->flow->kernel_nxt, __ATOMIC_ACQUIRE);

	/* Nothing can leave, and nothing that comes is taken. */
	if (c->route.homeless)
		return true;
	look_at_queues(c);
	xiw_receiver_age(c);
	/* It may be this connection's turn to try again, or the cause may be gone. */
	if (c->progress.memory.kept_off)
		xiw_try_arm(c, XIW_RUN);
	/* What was hidden is sent again, and seen then. */
	if (out && xiw_front_regain(c))
		out = 0;
	bar(c, out, by);
	if (out)
		xiw_output_unseen(c);
	if (c->stretch.state == XIW_STRETCH_OFF && !xiw_owner_skew(owner, kernel_nxt))
		return true;
	if (by > ASTRAY_MS) {
		xiw_progress_tell(c, XIW_REASON_BYPASS);
		return false;
	}
	if (in > ASTRAY_MS) {
		xiw_remember(c, XIW_REASON_ELSEWHERE, true);
		snprintf(c->no_direct, sizeof(c->no_direct),
			 "its segments do not come by %s any more", c->netif->ifname);
		return false;
	}
	if (c->progress.cut_off || (out > (c->netif->front.behind ? ASTRAY_MS : UNSEEN_MS) &&
				    came(c->flow) - c->route.came_then >= UNSEEN_SEGS)) {
		say_hidden(c);
		return false;
	}
	return true;
}
