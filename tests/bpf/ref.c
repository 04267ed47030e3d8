// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/bpf.h>
#include <string.h>

#include "ref_parse.h"

enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16, TCP_URG = 32, TCP_CWR = 128 };

static bool after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

struct ref_segment {
	struct ref_case *c;
	struct xiw_flow *f;
	uint8_t *th;
	uint32_t hdr, seq, len, end;
	bool syn, rst, fin, urg, ce;
};

static void pass(struct ref_segment *s, uint32_t stat, uint32_t seq)
{
	uint32_t sum, i;

	s->c->action = XDP_PASS;
	s->c->stat = stat;
	if (seq == s->seq)
		return;
	/* In one's complement, the checksum and the octets that it covers add up to 0 modulo 0xffff. */
	sum = (uint16_t)~be16(s->th + 16);
	sum += 2 * 0xffff - be16(s->th + 4) - be16(s->th + 6);
	for (i = 0; i < 4; i++)
		s->th[4 + i] = seq >> (24 - 8 * i);
	sum += be16(s->th + 4) + be16(s->th + 6);
	while (sum > 0xffff)
		sum -= 0xffff;
	sum = ~sum;
	s->th[16] = sum >> 8;
	s->th[17] = sum;
}

static void drop(struct ref_case *c, uint32_t stat, enum ref_exit exit)
{
	c->action = XDP_DROP;
	c->stat = stat;
	c->exit = exit;
	if (c->flow)
		c->flow->state->dropped++;
}

static uint32_t path_of(const struct xiw_flow *f)
{
	return f->owner & 0xff;
}

static uint32_t next_epoch(const struct xiw_flow *f)
{
	return ((f->owner >> 8) + 1) & 0xffffff;
}

/* K is the upper half, the epoch of its stretch the lower half. */
static uint32_t k_of(const struct xiw_flow *f)
{
	return f->kernel_nxt >> 32;
}

static bool k_is_for(const struct xiw_flow *f, uint32_t epoch)
{
	return (f->kernel_nxt & 0xffffffff) == epoch;
}

static uint32_t skew_of(const struct xiw_flow *f)
{
	uint32_t value = f->owner >> 32;

	return path_of(f) == XIW_PATH_DIRECT ? value - k_of(f) : value;
}

static void set_owner(struct xiw_flow *f, uint32_t value, uint32_t path)
{
	f->owner = (uint64_t)value << 32 | next_epoch(f) << 8 | path;
}

static bool beyond_windows(const struct ref_segment *s)
{
	return after(s->seq, s->f->kernel_edge) && after(s->seq, s->f->direct_edge);
}

/* The option with at most two octets of padding in front of it, as TCPs send it. */
static bool timestamp(const struct ref_segment *s, uint32_t *tsval)
{
	const uint8_t *o = s->th + 20;
	int nops = 0;

	while (s->hdr >= 20 + 12 && nops < 2 && *o == 1)
		nops++, o++;
	if (s->hdr < 20 + 12 || o[0] != 8 || o[1] != 10)
		return false;
	*tsval = be32(o + 2);
	return true;
}

/* RFC 5961 section 5.2: what was sent, up to two windows back. */
static bool acknowledges(const struct ref_segment *s)
{
	uint64_t most = 2 * (65535ull << s->f->snd_wscale);

	return s->th[13] & TCP_ACK && (uint32_t)(s->f->snd_nxt - be32(s->th + 8)) <= most;
}

/* Does the peer send such a segment in this stretch? */
static bool of_peer(const struct ref_segment *s)
{
	uint32_t rcv_nxt = s->f->owner >> 32, tsval;

	if (beyond_windows(s) || !acknowledges(s) ||
	    (int32_t)(rcv_nxt - s->seq - (65535u << s->f->rcv_wscale)) > 0)
		return false;
	if (s->seq == rcv_nxt || !(s->f->flags & XIW_FLOW_TIMESTAMPS) || !s->f->ts_recent)
		return true;
	return timestamp(s, &tsval) && tsval - s->f->ts_recent < 1 << 26;
}

static void kernel_data(struct ref_segment *s, uint32_t stat, enum ref_exit exit)
{
	bool beyond = beyond_windows(s);
	uint32_t tsval;

	if (!beyond && !after(s->f->acked, s->end) &&
	    (s->f->flags & (XIW_FLOW_TIMESTAMPS | XIW_FLOW_ANOTHER)) == XIW_FLOW_TIMESTAMPS &&
	    timestamp(s, &tsval) && s->f->ts_recent && after(s->f->ts_recent, tsval)) {
		drop(s->c, XIW_STAT_DROP_PAWS, REF_PAWS);
		return;
	}
	if (!beyond && after(s->seq, s->f->kernel_high))
		s->f->gap = s->seq;
	if (!beyond && after(s->end, s->f->kernel_high))
		s->f->kernel_high = s->end;
	if (!beyond && s->f->flags & XIW_FLOW_ECN && !after(s->f->acked, s->end) &&
	    acknowledges(s)) {
		if (s->ce)
			s->f->ece = (s->f->owner & 0xffffff00) | XIW_ECE_ON;
		else if (s->th[13] & TCP_CWR)
			s->f->ece = (s->f->owner & 0xffffff00) | XIW_ECE_OFF;
	}
	pass(s, stat, s->seq - skew_of(s->f));
	s->c->exit = beyond && exit == REF_KERNEL ? REF_KERNEL_BEYOND : exit;
	s->f->kernel_segs++;
	s->f->kernel_octets += s->len;
}

/* How long the packet is: bytes behind its end by its own header count only if they are in the first buffer. */
static uint32_t frame(const struct ref_case *c)
{
	return c->ip_end <= c->linear ? c->linear : c->len;
}

/* Why a frame cannot go to the queue's ring, or XIW_REASON_NONE. */
static uint32_t ring(struct ref_case *c)
{
	struct xiw_flow *f = c->flow->state;
	struct xiw_queue *q = c->queue;

	if (!c->xsk || !q || q->engine != f->served_by) {
		f->other_segs++;
		f->other_queue = c->queue_index;
		return c->xsk && q ? XIW_REASON_STEERED : XIW_REASON_NO_XSK;
	}
	if (frame(c) > q->takes)
		return XIW_REASON_LONG;
	if (q->last_ns > q->emptied_ns) {
		if (c->now > q->wait_ns + c->limit && c->now > q->beat_ns + c->limit)
			return XIW_REASON_WATCHDOG;
	} else {
		q->wait_ns = c->now;
	}
	q->last_ns = c->now;
	return XIW_REASON_NONE;
}

static void redirect(struct ref_segment *s, const struct ref_parse *p)
{
	struct ref_case *c = s->c;

	c->action = XDP_REDIRECT;
	c->stat = XIW_STAT_DIRECT;
	c->has_meta = true;
	c->meta = (struct xiw_meta){
		.epoch = s->f->owner >> 8 & 0xffffff,
		.flow = (uint16_t)c->flow->index,
		.version = XIW_ABI_VERSION,
		.l3_off = p->l3,
		.l4_off = p->l4,
		.payload_off = p->l4 + s->hdr,
		.payload_len = s->len,
	};
	s->f->direct_segs++;
	s->f->direct_octets += s->len;
}

static void leave_direct(struct ref_segment *s, uint32_t why)
{
	uint32_t rcv_nxt = s->f->owner >> 32;

	s->f->reasons[why]++;
	/* The socket continues at rcv_nxt, so kernel_high must be there. */
	if (after(rcv_nxt, s->f->kernel_high))
		s->f->kernel_high = rcv_nxt;
	set_owner(s->f, skew_of(s->f), XIW_PATH_KERNEL);
}

static void try_anew(struct ref_segment *s, uint32_t rcv_nxt)
{
	s->f->try_nxt = rcv_nxt;
	s->f->try_ns = s->c->now;
	s->f->try_seen = s->f->seen;
}

/* A segment from rcv_nxt or before it came again, and for a while the engine looked at no frame. */
static bool unseen(struct ref_segment *s, uint32_t rcv_nxt)
{
	if (after(s->seq, rcv_nxt))
		return false;
	if (s->f->try_nxt == rcv_nxt && s->f->try_seen == s->f->seen)
		return s->c->now > s->f->try_ns && s->c->now - s->f->try_ns > s->c->stuck;
	try_anew(s, rcv_nxt);
	return false;
}

/* Only the kernel's IP can judge the packet, whoever owns the stream. */
static void for_ip(struct ref_segment *s, enum ref_exit dropped, enum ref_exit passed)
{
	if (path_of(s->f) == XIW_PATH_DIRECT) {
		if (!of_peer(s)) {
			drop(s->c, XIW_STAT_DROP_FRAGMENT, dropped);
			return;
		}
		leave_direct(s, XIW_REASON_FRAGMENT);
	}
	kernel_data(s, XIW_STAT_PASS_DATA, passed);
}

static void direct(struct ref_segment *s, const struct ref_parse *p)
{
	static const enum ref_exit exits[XIW_REASON_MAX] = {
		[XIW_REASON_WATCHDOG] = REF_WATCHDOG,	 [XIW_REASON_UNSEEN] = REF_UNSEEN,
		[XIW_REASON_HEADROOM] = REF_NO_HEADROOM, [XIW_REASON_LONG] = REF_LONG,
		[XIW_REASON_STEERED] = REF_STEERED,	 [XIW_REASON_NO_XSK] = REF_NO_XSK
	};
	uint32_t rcv_nxt = s->f->owner >> 32, why, stat = XIW_STAT_PASS_DATA;

	if ((int32_t)(rcv_nxt - s->f->kernel_high) > 1 << 28) {
		s->f->kernel_high = rcv_nxt;
		if (after(rcv_nxt, s->f->kernel_edge))
			s->f->kernel_edge = rcv_nxt;
	}
	why = ring(s->c);
	if (!why && unseen(s, rcv_nxt))
		why = XIW_REASON_UNSEEN;
	if (!why && s->c->headroom) {
		redirect(s, p);
		s->c->exit = REF_DIRECT;
		return;
	}
	if (!why)
		why = XIW_REASON_HEADROOM;
	if (why == XIW_REASON_LONG && !of_peer(s)) {
		drop(s->c, XIW_STAT_DROP_FRAGMENT, REF_LONG_BEYOND);
		return;
	}
	if (why == XIW_REASON_HEADROOM || why == XIW_REASON_LONG)
		s->f->barred = why;
	leave_direct(s, why);
	if (why == XIW_REASON_WATCHDOG || why == XIW_REASON_UNSEEN)
		stat = XIW_STAT_WATCHDOG;
	kernel_data(s, stat, exits[why]);
}

/* A packet of ours passed xiw_egress since the floor was set, and none of the peer's has come around xiw_ingress. */
static bool passes(const struct xiw_flow *f)
{
	return f->egress_segs >= f->egress_floor && f->elsewhere_segs == 0 && f->bypass_segs == 0 &&
	       memcmp(f->out_mac, (uint8_t[6]){ 0 }, 6) != 0;
}

static enum ref_exit go_direct(struct ref_segment *s, const struct ref_parse *p)
{
	struct xiw_flow *f = s->f;
	uint32_t epoch = next_epoch(f);

	try_anew(s, s->seq);
	f->gap = s->seq;
	if (k_is_for(f, epoch)) {
		drop(s->c, XIW_STAT_DROP_EPOCH, REF_ARMED_CLAIMED);
		return REF_ARMED_CLAIMED;
	}
	f->kernel_nxt = (uint64_t)(s->seq - skew_of(f)) << 32 | epoch;
	set_owner(f, s->seq, XIW_PATH_DIRECT);
	f->went_direct++;
	f->run_len = 0;
	redirect(s, p);
	return REF_WENT_DIRECT;
}

static void bar(struct xiw_flow *f, uint32_t why)
{
	f->reasons[why]++;
	f->barred = why;
	set_owner(f, skew_of(f), XIW_PATH_KERNEL);
}

/* A segment at S, the end of all that the socket was given: does the direct path begin here? */
static enum ref_exit at_s(struct ref_segment *s, const struct ref_parse *p)
{
	struct xiw_flow *f = s->f;
	uint32_t run, tsval;
	enum ref_exit exit = REF_ARMED_NO_RING;

	if (s->c->queue && s->c->queue->engine == f->served_by &&
	    frame(s->c) > s->c->queue->takes) {
		bar(f, XIW_REASON_LONG);
		return REF_ARMED_LONG;
	}
	s->c->verdict = ref_classify(s->th + s->hdr, s->len, s->seq, f->flags & XIW_FLOW_MARKERS,
				     f->marker_origin);
	run = f->run_end == s->seq ? f->run_len + 1 : 1;
	/* More options than a timestamp may be authentication (RFC 2385, RFC 5925). RFC 7323 section 3.2 wants one. */
	if (s->c->verdict != REF_V_ALIGNED || s->hdr > 20 + 12 ||
	    (f->flags & XIW_FLOW_TIMESTAMPS && !timestamp(s, &tsval)))
		run = 0;
	if (run && run >= f->run_needed && !passes(f)) {
		exit = REF_ARMED_ASTRAY;
	} else if (run && run >= f->run_needed && f->gap != f->acked &&
		   f->gap - f->acked <= f->kernel_edge - f->acked) {
		exit = REF_ARMED_GAP; /* the socket has not acknowledged what is in front of it */
	} else if (run && run >= f->run_needed) {
		uint32_t why = ring(s->c);

		if (!why && s->c->headroom)
			return go_direct(s, p);
		if (why == XIW_REASON_STEERED)
			exit = REF_ARMED_STEERED;
		if (!why) {
			/* The driver will never leave room: no stretch, and no further attempt. */
			bar(f, XIW_REASON_HEADROOM);
			exit = REF_ARMED_NO_HEADROOM;
		}
		f->run_end = s->end;
		f->run_len = 0;
		return exit;
	}
	f->run_end = s->end;
	f->run_len = run;
	return !run ? REF_ARMED_BROKEN : run < f->run_needed ? REF_ARMED_SHORT : exit;
}

static void armed(struct ref_segment *s, const struct ref_parse *p)
{
	enum ref_exit exit = REF_ARMED_ELSEWHERE;

	if (s->seq == s->f->kernel_high)
		exit = s->fin || s->urg ? REF_ARMED_FLAGS : at_s(s, p);
	s->c->exit = exit;
	if (exit != REF_WENT_DIRECT && exit != REF_ARMED_CLAIMED)
		kernel_data(s, XIW_STAT_PASS_DATA, exit);
}

static void control(struct ref_segment *s)
{
	const bool direct = path_of(s->f) == XIW_PATH_DIRECT;
	const bool moves = !s->syn && !s->rst && (direct || !(s->f->flags & XIW_FLOW_ANOTHER));
	uint32_t seq = s->seq - skew_of(s->f);

	s->c->exit = REF_CONTROL;
	if (moves && direct && !after(s->f->owner >> 32, s->seq)) {
		s->c->exit = beyond_windows(s) ? REF_CONTROL_BEYOND : REF_CONTROL_AT_K;
		/* If data from K on is on its way to the socket: the segment's own place, or the end of that data. */
		if (!beyond_windows(s) && !after(s->f->kernel_high, s->f->owner >> 32))
			seq = k_of(s->f) + 1;
		else if (!beyond_windows(s) && after(s->seq, s->f->kernel_high))
			seq = s->f->beyond = s->f->kernel_high + 1 - skew_of(s->f);
	} else if (moves && !direct && (seq == k_of(s->f) || seq + 1 == s->f->beyond)) {
		/* An earlier one was put just beyond: the socket must not take this one for older. */
		s->c->exit = REF_CONTROL_STOOD;
		seq++;
	}
	/* The socket has taken its window back. */
	if (moves && !beyond_windows(s) && after(seq, s->f->socket_edge)) {
		seq = s->f->socket_edge;
		s->c->exit = REF_CONTROL_EDGE;
	}
	pass(s, XIW_STAT_PASS_CONTROL, seq);
	s->f->control_segs++;
}

static void segment(struct ref_case *c, const struct ref_parse *p)
{
	struct ref_segment s = { .c = c, .f = c->flow->state, .th = c->pkt + p->l4 };
	const bool foreign = memcmp(s.f->mac, "\0\0\0\0\0", 6) && memcmp(s.f->mac, c->pkt, 6);
	uint32_t path = path_of(s.f);

	c->l4_off = p->l4;
	c->ip_end = p->ip_end;
	if (p->vlan) {
		c->exit = REF_VLAN;
		return;
	}
	if (path == XIW_PATH_DIRECT && !k_is_for(s.f, s.f->owner >> 8 & 0xffffff)) {
		drop(c, XIW_STAT_DROP_EPOCH, REF_TORN);
		return;
	}
	if (foreign && (path == XIW_PATH_DIRECT || skew_of(s.f))) {
		drop(c, XIW_STAT_DROP_FOREIGN, REF_FOREIGN);
		return;
	}
	if (p->l4 + 20 > c->linear || s.th[12] >> 4 < 5 ||
	    p->l4 + (s.th[12] >> 4) * 4 > c->linear || p->l4 + (s.th[12] >> 4) * 4 > p->ip_end ||
	    p->ip_end > c->len) {
		drop(c, XIW_STAT_DROP_MALFORMED, REF_MALFORMED);
		return;
	}
	s.hdr = (s.th[12] >> 4) * 4;
	s.seq = be32(s.th + 4);
	s.len = p->ip_end - p->l4 - s.hdr;
	s.fin = s.th[13] & TCP_FIN;
	s.syn = s.th[13] & TCP_SYN;
	s.rst = s.th[13] & TCP_RST;
	s.urg = s.th[13] & TCP_URG;
	s.end = s.seq + s.len + s.fin;
	s.ce = ((c->pkt[p->l3] >> 4 == 4 ? c->pkt[p->l3 + 1] : c->pkt[p->l3 + 1] >> 4) & 3) == 3;
	if (p->fragment) {
		s.end = s.seq + 65535; /* the whole segment may be as long as an IP packet can be */
		for_ip(&s, REF_FRAGMENT, REF_FRAGMENT_PASSED);
	} else if (s.syn || s.rst || (!s.len && !s.fin)) {
		control(&s);
	} else if (p->extended) {
		for_ip(&s, REF_EXTENDED, REF_EXTENDED_PASSED);
	} else if (foreign) {
		kernel_data(&s, XIW_STAT_PASS_DATA, REF_FOREIGN_PASSED);
	} else if (path == XIW_PATH_KERNEL) {
		kernel_data(&s, XIW_STAT_PASS_DATA, REF_KERNEL);
	} else if (path == XIW_PATH_ARMED) {
		armed(&s, p);
	} else {
		direct(&s, p);
	}
}

static struct ref_flow *flow_of(struct ref_case *c, const struct ref_parse *p)
{
	for (int i = 0; i < c->nflows; i++)
		if (!memcmp(&c->flows[i].key, &p->key, sizeof(p->key)))
			return &c->flows[i];
	return NULL;
}

/* No flow was found within the headers that are followed. */
static void hidden(struct ref_case *c)
{
	struct ref_parse p;
	enum ref_deep found = ref_parse_deep(c, &p);
	struct ref_flow *flow = found == REF_DEEP_SEGMENT && !p.vlan ? flow_of(c, &p) : NULL;
	struct ref_segment s = { .f = flow ? flow->state : NULL };
	uint32_t path = flow ? path_of(s.f) : XIW_PATH_NONE;

	if (found == REF_DEEP_HEADLESS || found == REF_DEEP_LONG)
		drop(c, XIW_STAT_DROP_HIDDEN, found == REF_DEEP_LONG ? REF_TOO_MANY : REF_HEADLESS);
	if (path == XIW_PATH_NONE)
		return;
	c->flow = flow;
	s.seq = be32(c->pkt + p.l4 + 4);
	if (path == XIW_PATH_DIRECT && !k_is_for(s.f, s.f->owner >> 8 & 0xffffff)) {
		drop(c, XIW_STAT_DROP_EPOCH, REF_TORN);
	} else if (path == XIW_PATH_DIRECT || skew_of(s.f)) {
		drop(c, XIW_STAT_DROP_HIDDEN, REF_HIDDEN);
	} else {
		c->exit = REF_HIDDEN_PASSED;
		if (!beyond_windows(&s) && after(s.seq + 0xffff, s.f->kernel_high))
			s.f->kernel_high = s.seq + 0xffff;
	}
	c->flow = NULL; /* its checksum is not looked at */
}

void ref_ingress(struct ref_case *c)
{
	struct ref_parse p;

	c->action = XDP_PASS;
	c->stat = XIW_STAT_OTHER;
	c->exit = REF_OTHER;
	c->has_meta = false;
	c->flow = NULL;
	if (c->pulls && c->linear < 142)
		c->linear = c->len < 142 ? c->len : 142;
	c->flow = ref_parse(c, &p) ? flow_of(c, &p) : NULL;
	if (!c->flow)
		hidden(c);
	if (!c->flow || path_of(c->flow->state) == XIW_PATH_NONE) {
		c->flow = NULL;
		return;
	}
	segment(c, &p);
}
