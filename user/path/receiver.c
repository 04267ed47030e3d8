// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The TCP receiver of a stretch: what it begins with, and how it judges segments that it does not process. */
#include "path/receiver.h"

#include "core/agenda.h"

/*
 * The newest TSval that has been verified, and since when it has been the newest. Returns false if there is none, or
 * if it is too old to compare with (RFC 7323 section 5.5).
 *
 * It is the socket's TS.Recent, as xiw_egress has seen it in the socket's segments, or that of the last stretch. It is
 * not taken from the last segment that XDP saw: nobody verified its checksum, and one damaged TSval would make PAWS
 * drop all that follows.
 */
static bool newest(const struct xiw_conn *c, uint32_t *tsval, uint64_t *since_ms)
{
	uint64_t echoed = __atomic_load_n(&c->flow->echoed, __ATOMIC_RELAXED);
	uint64_t now = c->engine->now_ms, at = echoed ? ((echoed >> 32) - 1) * 1000 : 0;
	bool known = echoed && (int64_t)(now - at) <= (int64_t)XIW_TCP_PAWS_IDLE_MS;

	if (known) {
		*tsval = (uint32_t)echoed;
		*since_ms = at;
	}
	if (!(c->tcp.flags & XIW_TCP_RX_TS) || now - c->tcp.ts_recent_ms > XIW_TCP_PAWS_IDLE_MS ||
	    (known && xiw_seq_before(c->tcp.ts_recent, *tsval)))
		return known;
	*tsval = c->tcp.ts_recent;
	*since_ms = c->tcp.ts_recent_ms;
	return true;
}

/*
 * The same at the time when the stretch began, if `recent` is newer: by how much it is. Segments of the stretch that
 * wait for one in front of it are older than that, which is sent again later, and TCP would have judged them before.
 */
static uint32_t slack(const struct xiw_conn *c, uint32_t recent)
{
	uint32_t began = xiw_flow_get(&c->flow->began_ts);
	bool last = c->tcp.flags & XIW_TCP_RX_TS;

	if (!began)
		return 0;
	if (last && xiw_seq_before(began, c->tcp.ts_recent))
		began = c->tcp.ts_recent;
	return xiw_seq_before(began, recent) ? recent - began : 0;
}

/* PAWS (RFC 7323 section 5.3) counts for the first segment, too; if nothing is known, its TSval is the newest. */
static void begin_ts(struct xiw_conn *c, struct xiw_tcp_rx_conf *conf,
		     const struct xiw_tcp_seg *first)
{
	if (newest(c, &conf->ts_recent, &conf->ts_recent_ms)) {
		conf->ts_slack = slack(c, conf->ts_recent);
		return;
	}
	conf->ts_recent = first ? first->tsval : 0;
	conf->ts_recent_ms = conf->now_ms - (first ? 0 : XIW_TCP_PAWS_IDLE_MS + 1);
}

void xiw_receiver_begin(struct xiw_conn *c, uint32_t right_edge, const struct xiw_tcp_seg *first)
{
	struct xiw_flow *f = c->flow;
	uint32_t snd_nxt = xiw_flow_get(&f->snd_nxt);
	struct xiw_tcp_rx_conf conf = {
		.rcv_nxt = c->stretch.committed,
		.right_edge = right_edge,
		.last_ack_sent = c->stretch.committed,
		.window = c->reg.window,
		.buffer = c->reg.window,
		/*
		 * The kernel has followed acknowledgements until now. This is as low as SND.UNA can be, so that
		 * whatever the first segment acknowledges counts as new, however much is in flight. Linux does not
		 * look at the acknowledgement of a segment in order.
		 */
		.snd_una = snd_nxt - (0xffffu << c->reg.sock.snd_wscale),
		.snd_nxt = snd_nxt,
		.peer_wnd = 0xffff,
		.mss = c->reg.sock.rcv_mss,
		.rcv_wscale = c->reg.sock.rcv_wscale,
		.snd_wscale = c->reg.sock.snd_wscale,
		.ts_ok = c->reg.sock.timestamps,
		.sack_ok = c->reg.sock.sack,
		.ecn_ok = c->reg.sock.ecn,
		.ece = xiw_ece_of(__atomic_load_n(&f->ece, __ATOMIC_RELAXED)) == XIW_ECE_ON,
		.now_ms = c->engine->now_ms,
		.max_keep = c->engine->opts.frames / 4,
	};

	if (conf.ts_ok)
		begin_ts(c, &conf, first);
	for (unsigned int i = 0; i < XIW_TCP_DROP_MAX; i++)
		c->counts.drops[i] += c->tcp.drops[i];
	c->counts.challenges_withheld += c->tcp.challenges.withheld;
	xiw_tcp_rx_init(&c->tcp, &conf);
	c->tcp.prompt = XIW_TCP_PROMPT_FIRST;
}

void xiw_receiver_skip(struct xiw_conn *c)
{
	if (c->stretch.state == XIW_STRETCH_WAITS)
		xiw_receiver_begin(c, c->stretch.committed, NULL);
}

static bool parse(const struct xiw_packet *p, const struct xiw_meta *meta, struct xiw_tcp_seg *seg)
{
	return xiw_tcp_parse(p->frag[0].base + meta->l4_off, p->frag[0].len - meta->l4_off,
			     (size_t)meta->payload_off - meta->l4_off + meta->payload_len,
			     seg) >= 0;
}

bool xiw_receiver_passes(struct xiw_conn *c, const struct xiw_packet *p,
			 const struct xiw_meta *meta)
{
	struct xiw_tcp_seg seg = {};
	bool passes = parse(p, meta, &seg) && (seg.has_ts || !c->reg.sock.timestamps);

	/* Of the first stretch of all, the engine may not have seen a frame before XDP took it back. */
	if (passes && c->tcp.max_snd_wnd) {
		xiw_tcp_rx_set_snd(&c->tcp, xiw_flow_get(&c->flow->snd_nxt));
		passes = xiw_tcp_rx_passes(&c->tcp, &seg, c->engine->now_ms);
	}
	if (!passes)
		xiw_segment_dropped(c);
	return passes;
}

bool xiw_receiver_passes_old(struct xiw_conn *c, const struct xiw_packet *p,
			     const struct xiw_meta *meta)
{
	struct xiw_tcp_seg seg = {};
	uint64_t since_ms;
	uint32_t tsval;

	if (!c->reg.sock.timestamps)
		return true;
	if (parse(p, meta, &seg) && seg.has_ts &&
	    !(newest(c, &tsval, &since_ms) && xiw_seq_before(seg.tsval, tsval - slack(c, tsval))))
		return true;
	xiw_segment_dropped(c);
	return false;
}
