// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "tcp/keep.h"
#include "tcp/recv.h"

#define SEG_MAX 65535u			    /* no IP packet carries more */
#define WSCALE_MAX 14			    /* RFC 7323 section 2.3 */

static const char *const drop_names[XIW_TCP_DROP_MAX] = {
	[XIW_TCP_DROP_LENGTH] = "length",
	[XIW_TCP_DROP_RST] = "rst",
	[XIW_TCP_DROP_SYN] = "syn",
	[XIW_TCP_DROP_NO_TS] = "no_timestamp",
	[XIW_TCP_DROP_PAWS] = "paws",
	[XIW_TCP_DROP_WINDOW] = "out_of_window",
	[XIW_TCP_DROP_DUP] = "duplicate",
	[XIW_TCP_DROP_NO_ACK] = "no_ack_bit",
	[XIW_TCP_DROP_ACK_NEW] = "ack_of_unsent",
	[XIW_TCP_DROP_ACK_OLD] = "ack_too_old",
	[XIW_TCP_DROP_EMPTY] = "empty",
	[XIW_TCP_DROP_FULL] = "no_room_to_keep",
};

const char *xiw_tcp_drop_name(enum xiw_tcp_drop reason)
{
	return (unsigned int)reason < XIW_TCP_DROP_MAX ? drop_names[reason] : "unknown";
}

void xiw_tcp_rx_init(struct xiw_tcp_rx *rx, const struct xiw_tcp_rx_conf *conf)
{
	uint8_t shift = conf->snd_wscale > WSCALE_MAX ? WSCALE_MAX : conf->snd_wscale;

	memset(rx, 0, sizeof(*rx));
	rx->rcv_nxt = conf->rcv_nxt;
	rx->right_edge = conf->rcv_nxt;
	rx->last_ack_sent = conf->last_ack_sent;
	rx->rcv_wscale = conf->rcv_wscale > WSCALE_MAX ? WSCALE_MAX : conf->rcv_wscale;
	xiw_tcp_rx_promised(rx, conf->right_edge);
	rx->buffer = conf->buffer;
	xiw_tcp_rx_set_window(rx, conf->window);

	/*
	 * Pure ACKs do not pass through here, so the largest window that the peer ever offered is not known. This is
	 * the hard-coded maximum of RFC 5961 section 5.2.
	 */
	rx->max_snd_wnd = 0xffffu << shift;
	rx->snd_una = conf->snd_una;
	xiw_tcp_rx_set_snd(rx, conf->snd_nxt);
	rx->snd_wnd = conf->peer_wnd;
	rx->snd_wl1 = conf->rcv_nxt;
	rx->snd_wl2 = rx->snd_una;

	rx->flags = (conf->ts_ok ? XIW_TCP_RX_TS : 0) | (conf->sack_ok ? XIW_TCP_RX_SACK : 0) |
		    (conf->ecn_ok ? XIW_TCP_RX_ECN : 0) |
		    (conf->ecn_ok && conf->ece ? XIW_TCP_RX_ECE | XIW_TCP_RX_ECN_SEEN : 0);
	rx->ts_recent = conf->ts_recent;
	rx->ts_oldest = conf->ts_recent - conf->ts_slack;
	rx->ts_recent_ms = conf->ts_recent_ms ? conf->ts_recent_ms : conf->now_ms;
	rx->now_ms = rx->challenges.since_ms = conf->now_ms;
	rx->mss = conf->mss;
	rx->max_keep = conf->max_keep;
	rx->delack_ms = conf->delack_ms ? conf->delack_ms : XIW_TCP_DELACK_MS;
	if (rx->delack_ms > 500)
		rx->delack_ms = 500;
	rx->challenges.max = conf->challenges ? conf->challenges : XIW_TCP_CHALLENGES;
	rx->challenges.left = rx->challenges.max;
	rx->sport = conf->sport;
	rx->dport = conf->dport;
}

void xiw_tcp_rx_set_snd(struct xiw_tcp_rx *rx, uint32_t snd_nxt)
{
	rx->snd_nxt = snd_nxt;
	/*
	 * SND.UNA is known here from data segments alone. As the octets in flight never exceed the peer's window,
	 * SND.UNA can be moved along even if no data segment has come for 2^31 octets.
	 */
	if (snd_nxt - rx->snd_una > rx->max_snd_wnd)
		rx->snd_una = snd_nxt - rx->max_snd_wnd;
}

static enum xiw_tcp_action drop(struct xiw_tcp_rx *rx, enum xiw_tcp_drop reason)
{
	rx->drops[reason]++;
	rx->last_drop = (uint8_t)reason;
	return XIW_TCP_DROP;
}

/*
 * A challenge ACK, or an ACK for a segment without data, which may itself be such an ACK. Their rate is limited, or two
 * ends could answer each other for ever (RFC 5961 sections 7 and 10).
 */
static void challenge(struct xiw_tcp_rx *rx)
{
	if (rx->now_ms - rx->challenges.since_ms >= XIW_TCP_CHALLENGE_MS) {
		rx->challenges.since_ms = rx->now_ms;
		rx->challenges.left = rx->challenges.max;
	}
	if (!rx->challenges.left) {
		rx->challenges.withheld++;
		return;
	}
	rx->challenges.left--;
	rx->ack_flags |= XIW_TCP_ACK_SOON;
}

/* RFC 9293 section 3.10.7.4, first check: an unacceptable segment is answered by an ACK. */
static enum xiw_tcp_action unacceptable(struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg,
					enum xiw_tcp_drop reason)
{
	if (seg->len || (seg->flags & XIW_TCP_FIN))
		rx->ack_flags |= XIW_TCP_ACK_SOON;
	else
		challenge(rx);
	return drop(rx, reason);
}

/* RFC 2883 section 4 (1), (2): a duplicate is reported once, so this ACK cannot be merged with the next one. */
static void report_dup(struct xiw_tcp_rx *rx, uint32_t start, uint32_t end)
{
	rx->dsack.start = start;
	rx->dsack.end = end;
	rx->ack_flags |= rx->flags & XIW_TCP_RX_SACK ? XIW_TCP_ACK_NOW : XIW_TCP_ACK_SOON;
}

/* RFC 9293 section 3.10.7.4, fifth check, with RFC 5961 section 5.2. */
static bool ack_acceptable(struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg)
{
	if (!(seg->flags & XIW_TCP_ACK)) {
		drop(rx, XIW_TCP_DROP_NO_ACK);
		return false;
	}
	/* Both sides of the comparison are at most 2^31 - 2^15, so that unsigned distances below SND.NXT are exact. */
	if (rx->snd_nxt - seg->ack <= rx->snd_nxt - rx->snd_una + rx->max_snd_wnd)
		return true;
	challenge(rx);
	drop(rx,
	     xiw_seq_after(seg->ack, rx->snd_nxt) ? XIW_TCP_DROP_ACK_NEW : XIW_TCP_DROP_ACK_OLD);
	return false;
}

/*
 * Takes what an acceptable segment tells our sending half, which is the kernel socket. D-SACK blocks lie below SEG.ACK,
 * so only the blocks of the newest ACK are kept: older ones would look like reports of duplicates.
 */
static void take_feedback(struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg)
{
	uint8_t what = seg->flags & XIW_TCP_ECE && rx->flags & XIW_TCP_RX_ECN ? XIW_TCP_FEEDBACK_ECE
									      : 0;
	struct xiw_tcp_feedback *news = &rx->feedback;

	if (xiw_seq_before(seg->ack, rx->snd_una))
		return;
	if (seg->ack != rx->snd_una) {
		rx->snd_una = seg->ack;
		news->nsack = 0;
		what |= XIW_TCP_FEEDBACK_ACK;
	}
	if (xiw_seq_before(rx->snd_wl1, seg->seq) ||
	    (rx->snd_wl1 == seg->seq && !xiw_seq_after(rx->snd_wl2, seg->ack))) {
		if (rx->snd_wnd != seg->wnd || rx->flags & XIW_TCP_RX_WND_FEEDBACK)
			what |= XIW_TCP_FEEDBACK_WND;
		rx->flags &= (uint8_t)~XIW_TCP_RX_WND_FEEDBACK;
		rx->snd_wnd = seg->wnd;
		rx->snd_wl1 = seg->seq;
		rx->snd_wl2 = seg->ack;
	}
	if (seg->nsack && rx->flags & XIW_TCP_RX_SACK) {
		news->nsack = seg->nsack;
		memcpy(news->sack, seg->sack, sizeof(news->sack));
		what |= XIW_TCP_FEEDBACK_SACK;
	}
	if (!what)
		return;
	news->ack = seg->ack;
	news->wnd = rx->snd_wnd;
	news->has_ts = rx->flags & XIW_TCP_RX_TS;
	news->tsval = seg->tsval;
	news->tsecr = seg->tsecr;
	rx->feedback_due |= what;
}

/* RFC 7323 section 4.3 (2); an invalid TS.Recent is replaced as in its appendix D. */
static void take_ts(struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg, bool invalid)
{
	if (!(rx->flags & XIW_TCP_RX_TS))
		return;
	if (!invalid && (xiw_seq_before(seg->tsval, rx->ts_recent) ||
			 xiw_seq_after(seg->seq, rx->last_ack_sent)))
		return;
	if (seg->tsval != rx->ts_recent)
		rx->ts_oldest = seg->tsval;
	rx->ts_recent = seg->tsval;
	rx->ts_recent_ms = rx->now_ms;
}

/* RFC 3168 section 6.1.3. CWR is handled first, because CE of the same packet is newer. */
static void take_ecn(struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg)
{
	if (!(rx->flags & XIW_TCP_RX_ECN))
		return;
	if (seg->flags & XIW_TCP_CWR)
		rx->flags = (uint8_t)((rx->flags & ~XIW_TCP_RX_ECE) | XIW_TCP_RX_ECN_SEEN);
	if (seg->ecn == XIW_ECN_CE)
		rx->flags |= XIW_TCP_RX_ECE | XIW_TCP_RX_ECN_SEEN;
}

/* No data and no FIN. Rare here, since such segments go to the kernel socket. */
static enum xiw_tcp_action segment_empty(struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg,
					 bool ts_invalid, struct xiw_tcp_take *take)
{
	bool in_window = seg->seq - rx->rcv_nxt < rx->right_edge - rx->rcv_nxt;

	if (!in_window && seg->seq != rx->rcv_nxt)
		return unacceptable(rx, seg, XIW_TCP_DROP_WINDOW);
	if (!ack_acceptable(rx, seg))
		return XIW_TCP_DROP;
	take_ts(rx, seg, ts_invalid);
	take_feedback(rx, seg);
	if (!(seg->flags & XIW_TCP_URG) || seg->seq != rx->rcv_nxt)
		return drop(rx, XIW_TCP_DROP_EMPTY);
	*take = (struct xiw_tcp_take){ .seq = seg->seq, .flags = seg->flags };
	return XIW_TCP_CONTROL;
}

/* Out of order and inside the window: the part that xiw_tcp_rx_keep() will be asked to link. */
static enum xiw_tcp_action segment_above(struct xiw_tcp_rx *rx)
{
	if (rx->kept >= rx->max_keep)
		return xiw_tcp_rx_keep(rx, NULL);
	return XIW_TCP_KEEP;
}

/* Data or FIN with something new inside the window. @take says which part is new. */
static enum xiw_tcp_action segment_new(struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg,
				       struct xiw_tcp_take *take)
{
	struct xiw_tcp_keep *head = rx->keep_head;
	uint32_t end;

	if (take->seq != rx->rcv_nxt)
		return segment_above(rx);
	/*
	 * Only the first duplicate part is reported (RFC 2883 section 4.2): the part in front of rcv_nxt, or else the
	 * part that overlaps the first kept run.
	 */
	if (take->off) {
		report_dup(rx, seg->seq, rx->rcv_nxt);
	} else if (head) {
		end = take->seq + take->len;
		xiw_keep_runs(rx);
		if (xiw_seq_before(head->seq, end))
			report_dup(rx, head->seq, xiw_seq_min(end, head->run_end));
	}
	if (take->flags & (XIW_TCP_FIN | XIW_TCP_URG))
		return XIW_TCP_CONTROL;
	return XIW_TCP_TAKE;
}

/* Checks that come before the sequence number. Returns true if the segment goes on. */
static bool segment_sane(struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg, bool *ts_invalid)
{
	if (seg->len > SEG_MAX) {
		drop(rx, XIW_TCP_DROP_LENGTH);
		return false;
	}
	if (seg->flags & XIW_TCP_RST) {
		drop(rx, XIW_TCP_DROP_RST);
		return false;
	}
	if (seg->flags & XIW_TCP_SYN) {
		/* RFC 5961 section 4.2: a challenge ACK whatever the sequence number. */
		challenge(rx);
		drop(rx, XIW_TCP_DROP_SYN);
		return false;
	}
	if (!(rx->flags & XIW_TCP_RX_TS))
		return true;
	if (!seg->has_ts) {
		drop(rx, XIW_TCP_DROP_NO_TS);
		return false;
	}
	/* RFC 7323 section 5.3: PAWS comes before the acceptability test. */
	if (xiw_seq_before(seg->tsval, rx->ts_oldest)) {
		if (rx->now_ms - rx->ts_recent_ms <= XIW_TCP_PAWS_IDLE_MS) {
			if (seg->len && xiw_seq_before(seg->seq, rx->rcv_nxt))
				report_dup(rx, seg->seq,
					   xiw_seq_min(seg->seq + seg->len, rx->rcv_nxt));
			unacceptable(rx, seg, XIW_TCP_DROP_PAWS);
			return false;
		}
		*ts_invalid = true;
	}
	return true;
}

static enum xiw_tcp_action segment_checked(struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg,
					   struct xiw_tcp_take *take)
{
	bool ts_invalid = false, fin = seg->flags & XIW_TCP_FIN;
	uint32_t end = seg->seq + seg->len + fin, stop;

	if (!segment_sane(rx, seg, &ts_invalid))
		return XIW_TCP_DROP;
	if (end == seg->seq)
		return segment_empty(rx, seg, ts_invalid, take);

	if (!xiw_seq_before(seg->seq, rx->right_edge)) {
		/* ACKs count even if the window is zero (RFC 9293 section 3.10.7.4). */
		if (seg->seq == rx->rcv_nxt) {
			if (!ack_acceptable(rx, seg))
				return XIW_TCP_DROP;
			take_ts(rx, seg, ts_invalid);
			take_feedback(rx, seg);
		}
		return unacceptable(rx, seg, XIW_TCP_DROP_WINDOW);
	}
	if (!ack_acceptable(rx, seg))
		return XIW_TCP_DROP;
	/*
	 * A segment that ends below the window is outside it, and its timestamp does not count (RFC 7323 section 5.3,
	 * R2 before R3); otherwise half of all forged segments could set TS.Recent. The exception is a segment that
	 * ends where the last ACK stands, because that ACK may have been lost (appendix H (f) (1)).
	 */
	if (!xiw_seq_before(end, rx->last_ack_sent))
		take_ts(rx, seg, ts_invalid);
	if (!xiw_seq_after(end, rx->rcv_nxt)) {
		report_dup(rx, seg->seq, end);
		return drop(rx, XIW_TCP_DROP_DUP);
	}

	/*
	 * Trims both ends. A segment that covers the whole window and more passes neither half of the acceptability
	 * test to the letter, but it contains data in the window, which is what RFC 9293 section 3.4 asks for. If it
	 * were refused, a narrow window could stall for ever.
	 */
	take->seq = xiw_seq_max(seg->seq, rx->rcv_nxt);
	take->off = take->seq - seg->seq;
	stop = xiw_seq_min(end, rx->right_edge);
	take_feedback(rx, seg);
	if (stop == take->seq)
		return unacceptable(rx, seg, XIW_TCP_DROP_WINDOW);
	take->flags = seg->flags;
	if (stop != end)
		take->flags &= (uint8_t)~XIW_TCP_FIN;
	take->len = stop - take->seq - !!(take->flags & XIW_TCP_FIN);

	/* Packets outside the window do not get here: their CE is ignored (RFC 3168 section 6.1.5). */
	take_ecn(rx, seg);
	return segment_new(rx, seg, take);
}

/*
 * Header prediction: the next segment in order, with data that fit the window, no gap, and nothing new for our sending
 * half. `all` has a bit for whatever differs, so that there is one branch.
 */
static inline bool expected(const struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg)
{
	const bool ts = rx->flags & XIW_TCP_RX_TS;
	uint32_t all = (seg->seq ^ rx->rcv_nxt) | (seg->ack ^ rx->snd_una);

	all |= ((seg->flags & ~XIW_TCP_PSH) ^ XIW_TCP_ACK) | (seg->wnd ^ rx->snd_wnd);
	all |= rx->flags & XIW_TCP_RX_WND_FEEDBACK;
	all |= seg->nsack | (seg->ecn == XIW_ECN_CE) | !!rx->keep_head;
	all |= ts & (!seg->has_ts | xiw_seq_before(seg->tsval, rx->ts_recent));
	all |= (seg->len - 1 >= SEG_MAX) | (seg->len > rx->right_edge - rx->rcv_nxt);
	all |= xiw_seq_before(seg->seq, rx->snd_wl1);
	return !all;
}

bool xiw_tcp_rx_expects(const struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg)
{
	return expected(rx, seg);
}

/* Does with an expected segment what the checks would do that it passes. */
static enum xiw_tcp_action take_expected(struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg,
					 struct xiw_tcp_take *take)
{
	take_ts(rx, seg, false);
	rx->snd_wl1 = seg->seq;
	rx->snd_wl2 = seg->ack;
	*take = (struct xiw_tcp_take){ .seq = seg->seq, .len = seg->len, .flags = seg->flags };
	return XIW_TCP_TAKE;
}

enum xiw_tcp_action xiw_tcp_rx_segment(struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg,
				       uint64_t now_ms, struct xiw_tcp_take *take)
{
	rx->now_ms = now_ms;
	return expected(rx, seg) ? take_expected(rx, seg, take) : segment_checked(rx, seg, take);
}

bool xiw_tcp_rx_passes(struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg, uint64_t now_ms)
{
	bool ts_invalid;

	rx->now_ms = now_ms;
	return segment_sane(rx, seg, &ts_invalid) && ack_acceptable(rx, seg);
}

void xiw_tcp_rx_advance(struct xiw_tcp_rx *rx, uint32_t octets)
{
	assert(octets <= rx->right_edge - rx->rcv_nxt);
	if (!octets)
		return;
	if (!rx->pending)
		rx->ack_since_ms = rx->now_ms;
	rx->rcv_nxt += octets;
	rx->pending += octets;
	if (rx->pending_segs < UINT16_MAX)
		rx->pending_segs++;
	rx->dup_acks = 0;
	/* RFC 5681 section 4.2: acknowledge at once what fills all or part of a gap. */
	if (rx->keep_head)
		rx->ack_flags |= XIW_TCP_ACK_SOON;
}

void xiw_tcp_rx_take_in_turn(struct xiw_tcp_rx *rx, uint32_t len, uint32_t n)
{
	const uint32_t segs = rx->pending_segs + n;

	rx->snd_wl1 = rx->rcv_nxt + (n - 1) * len;
	rx->snd_wl2 = rx->snd_una;
	xiw_tcp_rx_advance(rx, n * len);
	rx->pending_segs = segs < UINT16_MAX ? (uint16_t)segs : UINT16_MAX;
}

/* An out-of-order segment is answered by a duplicate ACK (RFC 5681 section 4.2). */
static void dup_ack(struct xiw_tcp_rx *rx)
{
	if (rx->dup_acks < UINT8_MAX)
		rx->dup_acks++;
	/*
	 * A peer without SACK counts duplicate ACKs. A peer with SACK reads the blocks, and needs several ACKs only
	 * until it has begun its recovery.
	 */
	if (!(rx->flags & XIW_TCP_RX_SACK) || rx->dup_acks <= XIW_TCP_DUPACKS)
		rx->ack_flags |= XIW_TCP_ACK_NOW;
	else
		rx->ack_flags |= XIW_TCP_ACK_SOON;
}

enum xiw_tcp_action xiw_tcp_rx_keep(struct xiw_tcp_rx *rx, struct xiw_tcp_keep *node)
{
	struct xiw_tcp_sack dup;

	if (node && xiw_keep_insert(rx, node, &dup)) {
		dup_ack(rx);
		if (dup.start != dup.end)
			report_dup(rx, dup.start, dup.end);
		return XIW_TCP_KEEP;
	}
	if (node && dup.start != dup.end) {
		report_dup(rx, dup.start, dup.end);
		return drop(rx, XIW_TCP_DROP_DUP);
	}
	dup_ack(rx);
	return drop(rx, XIW_TCP_DROP_FULL);
}

struct xiw_tcp_keep *xiw_tcp_rx_next(struct xiw_tcp_rx *rx)
{
	struct xiw_tcp_keep *n = rx->keep_head;

	if (!n || xiw_seq_after(n->seq, rx->rcv_nxt))
		return NULL;
	xiw_keep_pop(rx);
	if (!xiw_seq_after(xiw_keep_end(n), rx->rcv_nxt))
		n->state |= XIW_TCP_KEEP_DUP;
	return n;
}

enum xiw_tcp_action xiw_tcp_rx_turn(struct xiw_tcp_rx *rx, const struct xiw_tcp_keep *node,
				    struct xiw_tcp_take *take)
{
	if (node->state & XIW_TCP_KEEP_DUP)
		return XIW_TCP_DROP;
	take->seq = rx->rcv_nxt;
	take->off = rx->rcv_nxt - node->seq;
	take->len = node->len - take->off;
	take->flags = node->flags;
	return node->flags & (XIW_TCP_FIN | XIW_TCP_URG) ? XIW_TCP_CONTROL : XIW_TCP_TAKE;
}

struct xiw_tcp_keep *xiw_tcp_rx_flush(struct xiw_tcp_rx *rx)
{
	struct xiw_tcp_keep *all = rx->keep_head;

	rx->keep_head = rx->run_root = NULL;
	rx->kept = 0;
	rx->nrecent = 0;
	rx->runs_stale = false;
	return all;
}
